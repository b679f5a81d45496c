"""The documentation site builds without a warning, nothing in it leads nowhere, and it needs no network."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from docs.html_links import Page, broken_addresses, fetched_from_elsewhere
from docs.pages import ROOT
from support import lacking

PACKAGES = (
    "postel",
    "postel.smoothers",
    "postel.training",
    "postel.backbones",
    "postel.graph",
    "postel.datasets",
    "postel.scale",
    "postel.theory",
)
TABLE_OF_CONTENTS = ("tutorial", "choosing", "method", "reproduction", "scale", "faq", "extending", "api")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, one for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "objects.inv").exists():
            command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
            built = subprocess.run(
                [*command, str(ROOT / "docs"), str(folder)], capture_output=True, text=True, check=False
            )
            if built.returncode != 0 or built.stderr:
                shutil.rmtree(folder, ignore_errors=True)
                pytest.fail(f"the site does not build:\n{built.stderr}")
    return folder


def test_every_link_anchor_and_image_of_the_site_is_there(site: Path) -> None:
    assert broken_addresses(site) == []


def test_the_contents_list_every_page(site: Path) -> None:
    links = Page(site / "index.html").links
    assert [name for name in TABLE_OF_CONTENTS if f"{name}.html" not in links] == []


def test_the_checker_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "two.html").write_text('<h1 id="here">Two</h1><a href="one.html#top">back</a>')
    (tmp_path / "one.html").write_text(
        """<h1 id="top">One</h1>
        <a href="two.html">fine</a> <a href="two.html#here">fine</a> <a href="#top">fine</a>
        <a href="https://example.org/x">fine</a> <img src="data:image/png;base64,AA">
        <a href="three.html">no file</a> <a href="two.html#there">no anchor</a> <a href="#nowhere">no anchor</a>
        <img src="missing.png"> <script src="missing.js"></script> <a href="http://example.org">not https</a>
        <script src="https://cdn.example.org/math.js"></script>"""
    )
    found = ["three.html", "two.html#there", "#nowhere", "http://example.org", "missing.png", "missing.js"]
    assert broken_addresses(tmp_path) == [f"one.html: {address}" for address in found]
    assert fetched_from_elsewhere(tmp_path) == ["one.html: https://cdn.example.org/math.js"]


def test_nothing_is_fetched_when_a_page_is_read(site: Path) -> None:
    assert fetched_from_elsewhere(site) == []
    page = Page(site / "method.html")
    assert page.equations > 50
    assert any("tex-svg-full.js" in name for name in page.files)


def test_equations_are_drawn(site: Path, tmp_path: Path) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        lacking("browser", "chromium is not installed")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    address = (site / "method.html").as_uri()
    shown = subprocess.run(
        [chromium, *flags, "--virtual-time-budget=20000", "--dump-dom", address],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert shown.count("<mjx-container") == Page(site / "method.html").equations
    assert 'data-mjx-error="' not in shown


def test_the_reference_has_every_public_name(site: Path) -> None:
    listed = documented(site / "objects.inv")
    missing = []
    for package in PACKAGES:
        module: Any = importlib.import_module(package)
        for name in set(module.__all__) - {"__version__"}:
            homes = [full for full in listed if full == f"{package}.{name}" or full.endswith(f".{name}")]
            if not any(resolved(full) is getattr(module, name) for full in homes):
                missing.append(f"{package}.{name}")
    assert sorted(missing) == []


def documented(inventory: Path) -> set[str]:
    """The full names of the Python objects that a site's inventory lists."""
    lines = zlib.decompress(inventory.read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    return {line.split(" ")[0] for line in lines if " py:" in line}


def resolved(full_name: str) -> Any:
    """What a documented name stands for, None where it is the field of a class."""
    module, _, name = full_name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
