"""The committed tables, figures and report are what the committed rows make of them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postel.experiments.store.folder import read_archive

RESULTS = Path(__file__).resolve().parents[1] / "results"
PAGES = ("README.md", "docs/reproduction.md", "docs/calibrated.md")
TEXTS = (".txt", ".md", ".csv", ".tex")


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what ``make results`` makes of the rows, without any of the files it made before."""
    home = tmp_path_factory.mktemp("again") / "results"
    for name in ("results/README.md", "results/remake.py", *PAGES):
        copy = home.parent / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = _page(name)
        if name in PAGES:  # without their tables, which have to come from the rows
            text = re.sub(
                r"(<!-- (?:table: \S+|gains: picture) -->).*?<!-- end -->",
                r"\1<!-- end -->",
                text,
                flags=re.DOTALL,
            )
        copy.write_text(text)
    for rows in RESULTS.glob("rows*"):
        shutil.copytree(rows, home / rows.name)
    environment = {key: value for key, value in os.environ.items() if key != "POSTEL_DATA"}
    made = subprocess.run(
        [sys.executable, "-W", "ignore", str(home / "remake.py")],
        env={**environment, "COLUMNS": "100", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return home


def _page(name: str) -> str:
    return (RESULTS.parent / name).read_text()


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (*TEXTS, ".png", ".svg")}


def test_rows_alone_make_every_table_and_figure_again(again: Path) -> None:
    assert _files(again) == _files(RESULTS)
    for name in sorted(_files(RESULTS)):
        if Path(name).suffix in TEXTS:
            assert (again / name).read_text() == (RESULTS / name).read_text(), name


@pytest.mark.parametrize("name", PAGES)
def test_pages_show_the_tables_of_the_rows(again: Path, name: str) -> None:
    if name == "docs/calibrated.md":
        assert "<!-- table: calibrated/table-calibrated.md -->\n\n| dataset |" in _page(name)
    elif name == "docs/reproduction.md":
        assert "<!-- table: study/table-claims.md -->\n\n| claim |" in _page(name)
    else:
        assert "<!-- gains: picture -->\n\n![" in _page(
            name
        ) and "<!-- claims: counts -->\n\nThe paper's 3" in _page(name)
    assert (again.parent / name).read_text() == _page(name)


def test_the_report_is_made_of_the_same_numbers(again: Path) -> None:
    details = [page.read_text().split('type="application/json"')[1:] for page in _pages(again)]
    assert details[0] and details[0] == details[1]


def _pages(again: Path) -> list[Path]:
    return [RESULTS / "report.html", again / "report.html"]


def test_every_cell_that_was_run_says_how_often_with_what_budget_and_how_sure() -> None:
    tables = [
        path
        for path in RESULTS.rglob("table-*.csv")
        if path.stem not in ("table-datasets", "table-time", "table-claims")
    ]
    assert len(tables) >= 10
    runs = 0
    for path in tables:
        with path.open(newline="") as stream:
            for line in csv.DictReader(stream):
                if line["state"] == "not run":
                    assert int(line["splits"]) == 0 and not line.get("ours") and not line.get("gain"), (path, line)
                    continue
                runs += 1
                assert int(line["splits"]) > 0 and line["budget"] and float(line["low"]) <= float(line["high"])
        assert re.search(r"Rows: results/rows(-calibrated|-study)?\.", path.with_suffix(".md").read_text())
    assert runs >= 60


def test_the_cells_rows_are_all_there() -> None:
    store = read_archive(RESULTS / "rows")
    keys = set(store.keys())
    cells = store.cells()
    assert cells and all(set(cell.run_keys) <= keys and not cell.failed for cell in cells)
