"""The Markdown pages of the repository, and what can be wrong with them: links, code blocks, command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote, urlsplit

import typer
from markdown_it import MarkdownIt
from myst_parser.slugs import github_slugify

from postel import registry
from postel.cli.app import app
from postel.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(page for folder in ("docs", "examples", "results") for page in sorted((ROOT / folder).rglob("*.md"))),
]

_SHELL = ("", "bash", "sh", "shell", "console")
_TYPED = ("postel", "python", "pip", "make", "export", "cd", "$")
_EMPTY = re.compile(r"\n\s*\n")
_SETTING = re.compile(r"\w+=.*")
_JOINTS = ("&&", "||", "|", ";", ">")


@dataclass(frozen=True)
class Block:
    """A fenced or indented block; ``language`` is empty for an indented one, ``line`` that of its first line."""

    language: str
    text: str
    line: int


def blocks(text: str, *languages: str) -> list[Block]:
    """The code blocks of a page, those in one of ``languages`` if any are named."""
    found = [
        Block(token.info.strip(), token.content, token.map[0] + (token.type == "fence") + 1)
        for token in _parsed(text)
        if token.type in ("fence", "code_block") and token.map
    ]
    return [block for block in found if not languages or block.language in languages]


def broken_links(path: Path) -> list[str]:
    """The links and images of a Markdown page that lead nowhere; of other sites only the form is looked at."""
    return [f"{path.name}: {target}" for target in _targets(path) if not _resolves(path, target)]


def command_lines(text: str) -> list[tuple[list[str], bool]]:
    """The words after ``postel`` of every command line, and whether it is meant to run as it stands.

    Lines of shell blocks are, but for what is printed: lines after an empty one that begin with no command. A
    command that is named in running text may leave its arguments out.
    """
    lines = [
        (words, True)
        for block in blocks(text, *_SHELL)
        for line in _typed(block.text.replace("\\\n", " "))
        for words in _commands(line.removeprefix("$ "))
    ]
    for token in _inline(text):
        if token.type == "code_inline" and token.content.startswith("postel "):
            lines += [(words, False) for words in _commands(token.content)]
    return lines


@cache
def _registered_by_page() -> dict[str, str]:
    """The networks that the page on extending registers."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    return dict(re.findall(r'^\+    "(\w+)": "(\w+)",$', page, flags=re.MULTILINE))


def complaint(words: list[str], whole: bool) -> str | None:
    """What the command line would say against these words, or None; nothing is run."""
    command: Any = _root()
    if words and not words[0].startswith("-"):
        name, *words = words
        if name not in command.commands:
            return f"there is no command {name}"
        command = command.commands[name]
    try:
        with mock.patch.dict(registry.BACKBONES, _registered_by_page()):
            command.make_context(command.name or "postel", list(words))
    except typer.Exit:
        return None  # --help and --version
    except typer.BadParameter.__mro__[1] as error:  # any error of usage
        if type(error).__name__ == "MissingParameter" and not whole:
            return None
        return f"{command.name}: {error.format_message()}"
    except InputError as error:
        return f"{command.name}: {error}"
    return None


@cache
def _root() -> Any:
    return typer.main.get_command(app)


def _parsed(text: str) -> list[Any]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def _inline(text: str) -> Iterator[Any]:
    for token in _parsed(text):
        yield from token.children or ()


def _targets(path: Path) -> Iterator[str]:
    for token in _inline(path.read_text(encoding="utf-8")):
        if token.type in ("link_open", "image"):
            yield str(token.attrs.get("href") or token.attrs.get("src") or "")


def _resolves(path: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme:
        return parts.scheme == "https" and "." in parts.netloc
    named = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not named.exists() or not named.is_relative_to(ROOT if path.is_relative_to(ROOT) else path.parent):
        return False
    return not parts.fragment or named.suffix != ".md" or parts.fragment in _anchors(named)


def _anchors(path: Path) -> set[str]:
    tokens = _parsed(path.read_text(encoding="utf-8"))
    titles = [after for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {github_slugify("".join(part.content for part in title.children or ())) for title in titles}


def _typed(text: str) -> Iterator[str]:
    """The lines of a shell block that a user types: its first paragraph, and others that begin with a command."""
    for number, paragraph in enumerate(_EMPTY.split(text)):
        first = paragraph.split(maxsplit=1)[:1]
        if number == 0 or (first and (first[0] in _TYPED or _SETTING.fullmatch(first[0]))):
            yield from paragraph.splitlines()


def _commands(line: str) -> Iterator[list[str]]:
    """The words after ``postel`` of each call in a shell line; settings before it and comments are left out."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return  # a quotation mark that is none, as in running text
    calls: list[list[str]] = [[]]
    for word in words:
        if word in _JOINTS:
            calls.append([])
        elif calls[-1] or not _SETTING.fullmatch(word):
            calls[-1].append(word)
    yield from (call[1:] for call in calls if call and call[0] == "postel")
