"""Words that users type: choices with completion and a hint, names by comma, and spellings of earlier versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

#: Options of version 0.1 and what they are called now. They are still taken, but no help shows them.
OLD_SPELLINGS = {
    "--methods": "--method",
    "--backbones": "--backbone",
    "--datasets": "--dataset",
    "--fix": "--set",
    "--no-undirected": "--directed",
}


def choice(words: Collection[str], *names: str, help: str, **settings: Any) -> Any:
    """Make an option that takes one of a few words; the help lists them and shells complete them.

    Args:
        words: The words.
        *names: Spellings of the option, the long one first, as ``"--engine"``.
        help: What the option is for.
        **settings: Further arguments of ``typer.Option``.

    Returns:
        The option, for an ``Annotated`` type or as a default.

    Example:
        >>> choice(("memory", "duckdb"), "--engine", help="Where to compute.").metavar
        '[memory|duckdb]'
    """

    def check(value: Any) -> Any:
        for word in value if isinstance(value, list | tuple) else [value]:
            if word is not None:
                check_word(names[0], word, words)
        return value

    return typer.Option(
        *names,
        help=help,
        metavar=f"[{'|'.join(words)}]",
        callback=check,
        autocompletion=completion(words),
        **settings,
    )


def check_word(option: str, word: str, words: Collection[str]) -> str:
    """Check that a word is one of those that an option takes.

    Args:
        option: The option's name, for the error.
        word: What was given.
        words: What there is.

    Returns:
        The word.

    Raises:
        InputError: If it is none of them; the message names the nearest.

    Example:
        >>> check_word("--engine", "duckbd", ["memory", "duckdb"])
        Traceback (most recent call last):
            ...
        postel.errors.InputError: --engine must be one of memory, duckdb, got 'duckbd'; did you mean duckdb?
    """
    from postel.checks import did_you_mean
    from postel.errors import InputError

    if word not in words:
        hint = did_you_mean(word, words).strip()
        raise InputError(f"{option} must be one of {', '.join(words)}, got {word!r}{'; ' + hint if hint else ''}")
    return word


def completion(words: Collection[str]) -> Callable[[str], list[str]]:
    """Make a function that completes a word, after the last comma where several may stand in one value.

    Args:
        words: What there is.

    Returns:
        A function from what was typed to what it may become.

    Example:
        >>> completion(["uniform", "sals"])("postel,u")
        ['postel,uniform']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, rest = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words if word.startswith(rest)]

    return complete


def complete_graph(incomplete: str) -> list[str]:
    """Complete a dataset's name or the path of a graph file.

    Args:
        incomplete: What was typed.

    Returns:
        Names of the catalog, graph files and folders that begin so.
    """
    from postel.datasets.catalog import CATALOG

    folder = Path(incomplete).parent if incomplete else Path()
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    folders = [f"{path}/" for path in there if path.is_dir()]
    files = [str(path) for path in there if path.suffix == ".npz"]
    return [name for name in (*CATALOG, *files, *folders) if name.startswith(incomplete)]


def listed(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split the values of a repeated option at commas, but not within the settings of a method.

    Args:
        texts: The values, None if the option was not given.

    Returns:
        The names, None if there are none.

    Example:
        >>> listed(["texas,cora", "one_hot,postel:alpha=0.5,beta=0.1,ls"])
        ('texas', 'cora', 'one_hot', 'postel:alpha=0.5,beta=0.1', 'ls')
    """
    names: list[str] = []
    for text in texts or ():
        first = len(names)
        for part in text.split(","):
            # What follows a name's colon are its settings, as long as they have an equals sign.
            if len(names) > first and ":" in names[-1] and "=" in part and ":" not in part:
                names[-1] += f",{part.strip()}"
            elif part.strip():
                names.append(part.strip())
    return tuple(names) or None


class Command(TyperCommand):
    """A command that also takes the spellings of earlier versions, and whose help fits any width."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the command, with one line per paragraph of its help.

        Args:
            *args: What typer gives to a command.
            **kwargs: The same, by name.
        """
        super().__init__(*args, **kwargs)
        self.help = join_lines(self.help or "")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, old spellings turned into present ones.

        Args:
            ctx: The context of the command.
            args: What the user typed.

        Returns:
            What was not read.
        """
        there = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        return super().parse_args(ctx, present_spellings(args, there))


def join_lines(text: str) -> str:
    r"""Join the lines of each paragraph, so that a terminal breaks them where it is full; examples stay apart.

    Args:
        text: The text, with the line breaks of a docstring.

    Returns:
        The text with one line per paragraph and per example.

    Example:
        >>> join_lines("One\ntwo.\n\nExample: a\nExample: b")
        'One two.\n\nExample: a\nExample: b'
    """
    return re.sub(r"(?<!\n)\n(?!\n|Example:)", " ", text)


def present_spellings(args: Sequence[str], options: set[str]) -> list[str]:
    """Turn options of earlier versions into present ones, where the command has these and not those.

    Args:
        args: What the user typed.
        options: The options of the command.

    Returns:
        The same arguments.

    Example:
        >>> present_spellings(["--methods=ls", "-w", "2", "--", "--fix"], {"--method", "-w"})
        ['--method=ls', '-w', '2', '--', '--fix']
    """
    turned: list[str] = []
    for place, text in enumerate(args):
        if text == "--":
            return [*turned, *args[place:]]
        name, equals, value = text.partition("=")
        present = OLD_SPELLINGS.get(name)
        if present in options and name not in options:
            text = f"{present}{equals}{value}"
        turned.append(text)
    return turned
