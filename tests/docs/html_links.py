"""A check of every link, anchor and file that the pages of a built site name."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The anchors of a page, and what it names: links to follow, and files to load with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.files: list[str] = []
        self.equations = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self.equations += "math" in values.get("class", "").split()
        address = values.get(_ADDRESSES.get(tag, ""))
        if address is not None:
            (self.links if tag == "a" else self.files).append(address)


def broken_addresses(folder: Path) -> list[str]:
    """What leads nowhere in the site in ``folder``: files, anchors, images, scripts; other sites must be https."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    return [
        f"{path.relative_to(folder.resolve())}: {address}"
        for path, page in pages.items()
        for address in (*page.links, *page.files)
        if not _leads_somewhere(path, address, pages)
    ]


def fetched_from_elsewhere(folder: Path) -> list[str]:
    """Files that a page of the site would load over a network."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    return [f"{path.name}: {name}" for path, page in pages.items() for name in page.files if urlsplit(name).netloc]


def _leads_somewhere(path: Path, address: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return True
    if parts.scheme or parts.netloc:
        return parts.scheme == "https" and "." in parts.netloc
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
