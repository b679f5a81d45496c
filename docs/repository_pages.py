"""Pages that show files of the repository, so that a link to one works on the site as it does on GitHub.

A page links to a file outside ``docs`` by its relative path, as in ``../src/postel/posterior.py#mix``. On the site
that leads to a page with the text and an anchor at each of its classes, functions and module-level names (or
at the headings of a Markdown file). The reference's links to sources lead to the same pages.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.slugs import github_slugify
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
SCHEME = "repo:"
FOLDER = "repository"

_LINK = re.compile(r"\]\((?P<path>\.\./[^)#\s]+)(?P<name>#[^)\s]+)?\)")
_LANGUAGES = {".py": "python", ".md": "markdown", ".toml": "toml", ".cff": "yaml", ".txt": "text"}
_LANGUAGES_OF_NAMES = {"Makefile": "make", "LICENSE": "text"}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """The address of an object's source, for ``sphinx.ext.linkcode``; None where it is not code of ours."""
    if not info["module"]:  # written by hand
        return None
    try:
        found: Any = importlib.import_module(info["module"])
        for part in info["fullname"].split("."):
            found = getattr(found, part)
        found = inspect.unwrap(getattr(found, "fget", None) or getattr(found, "func", None) or found)
        path = Path(inspect.getsourcefile(found) or "").resolve()
    except (AttributeError, TypeError):  # a field or a constant
        return None
    return f"{SCHEME}{path.relative_to(ROOT)}#{found.__qualname__}" if path.is_relative_to(ROOT) else None


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Mark links to files outside ``docs``, before the Markdown is read: the reader would drop their anchors."""
    folder = (Path(app.srcdir) / docname).parent

    def marked(match: re.Match[str]) -> str:
        path = (folder / match["path"]).resolve()
        if not path.is_file() or _language(path) is None or path.is_relative_to(app.srcdir):
            return match[0]
        return f"]({SCHEME}{path.relative_to(ROOT).as_posix()}{match['name'] or ''})"

    source[0] = _LINK.sub(marked, source[0])


def settle_links(app: Sphinx, doctree: nodes.document) -> None:
    """Turn marked links into addresses relative to their page, and remember which files they name."""
    docname = app.env.docname
    files = set()
    for node in doctree.findall(nodes.reference):
        if node.get("refuri", "").startswith(SCHEME):
            path, hash_sign, name = node["refuri"].removeprefix(SCHEME).partition("#")
            node["refuri"] = f"{'../' * docname.count('/')}{FOLDER}/{path}.html{hash_sign}{name}"
            files.add(path)
    app.env.metadata[docname][FOLDER] = " ".join(sorted(files))


def make_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every file that is linked to."""
    linked = {path for entry in app.env.metadata.values() for path in entry.get(FOLDER, "").split()}
    for path in sorted(linked):
        body = f"<h1>{path}</h1>\n{_shown(app, ROOT / path)}"
        yield f"{FOLDER}/{path}", {"title": path, "body": body}, "page.html"


def _language(path: Path) -> str | None:
    return _LANGUAGES_OF_NAMES.get(path.name) or _LANGUAGES.get(path.suffix)


def _shown(app: Sphinx, path: Path) -> str:
    text, language = path.read_text(encoding="utf-8"), _language(path)
    builder: Any = app.builder
    lines = builder.highlighter.highlight_block(text, language, location=str(path)).split("\n")
    places = {"python": _definitions, "markdown": _headings}.get(str(language))
    for name, number in places(text) if places else ():
        lines[number - 1] = f'<span id="{name}"></span>{lines[number - 1]}'
    return "\n".join(lines)


def _headings(text: str) -> Iterator[tuple[str, int]]:
    """The anchors of a Markdown file's headings, as GitHub has them, and their lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            yield github_slugify(line.lstrip("#").strip()), number


def _definitions(text: str) -> Iterator[tuple[str, int]]:
    """Names and the lines where they are defined; a method is called ``Class.method``."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node.lineno) for target in targets if isinstance(target, ast.Name))
        if isinstance(node, definitions):
            yield node.name, node.lineno
        if isinstance(node, ast.ClassDef):
            inner = (part for part in node.body if isinstance(part, definitions))
            yield from ((f"{node.name}.{part.name}", part.lineno) for part in inner)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the steps; links to sources have been added by the time they are settled."""
    app.connect("source-read", lead_to_pages)
    app.connect("doctree-read", settle_links, priority=900)
    app.connect("html-collect-pages", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
