"""Makes every table, figure and the report again from the rows in ``results/rows``: nothing is trained.

The commands are those of the code blocks in ``results/README.md``, run one after another in one process. Then the
tables that other pages show of them are put in their places there: the headline of a folder between
``<!-- table: FOLDER -->`` and ``<!-- end -->``, the accuracies of one table after ``<!-- table: FOLDER/NAME -->``.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from postel.cli.app import app
from postel.paper.accuracy import short_budget
from postel.paper.names import backbone_label, dataset_label

HERE = Path(__file__).resolve().parent
PAGES = ("README.md", "docs/reproduction.md")
METHODS = {"one_hot": "one-hot", "uniform": "LS", "postel": "PosteL"}
GAINS = (("PosteL", "one-hot"), ("PosteL", "LS"))


def commands(text: str) -> list[list[str]]:
    """The arguments of every command of postel's that stands in a code block and only reads rows."""
    blocks = text.split("```")[1::2]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    reading = "--store results/rows"
    found = [shlex.split(line)[1:] for line in lines if line.startswith("postel ") and reading in line]
    return [arguments if "--overwrite" in arguments else [*arguments, "--overwrite"] for arguments in found]


def headline(folder: Path) -> str:
    """One-hot, LS and PosteL of a folder's main table, ours (and the paper's), and gains on the same splits."""
    cells = {(row["backbone"], row["dataset"], row["variant"]): row for row in _rows(folder / "table-main.csv")}
    gains = {
        (row["backbone"], row["dataset"], row["method"], row["over"]): row
        for row in _rows(folder / "table-gains.csv")
    }
    heads = [
        "graph",
        *METHODS.values(),
        *(f"{ours} − {theirs}" for ours, theirs in GAINS),
        "n",
        "majority",
        "budget",
    ]
    networks = list(dict.fromkeys(backbone for backbone, _, _ in cells))
    if len(networks) > 1:
        heads.insert(0, "network")
    lines = [heads, ["---"] * len(heads)]
    for backbone, dataset in dict.fromkeys((backbone, dataset) for backbone, dataset, _ in cells):
        row = [_cell(cells[backbone, dataset, method]) for method in METHODS]
        row += [_gain(gains[backbone, dataset, ours, theirs]) for ours, theirs in GAINS]
        plain = cells[backbone, dataset, "postel"]
        row += [plain["splits"], _number(plain["majority"]), short_budget(plain["budget"]) or "–"]
        name = dataset_label(dataset)
        lines.append([backbone_label(backbone), name, *row] if len(networks) > 1 else [name, *row])
    return _markdown(lines)


def matrix(path: Path) -> str:
    """The accuracies of one table, a line a method and a column a graph: ours, and the paper's in brackets."""
    cells = {(row["variant"], row["dataset"]): row for row in _rows(path)}
    datasets = list(dict.fromkeys(dataset for _, dataset in cells))
    lines = [["labels", *map(dataset_label, datasets)], ["---"] * (1 + len(datasets))]
    for variant in dict.fromkeys(variant for variant, _ in cells):
        name = METHODS.get(variant, _words(variant))
        lines.append([name, *(_cell(cells[variant, dataset]) for dataset in datasets)])
    return _markdown(lines)


def _words(slug: str) -> str:
    return (
        slug.replace("postel", "PosteL")
        .replace("noise-ipl", "noise and IPL")
        .replace("ipl", "IPL")
        .replace("-", " ")
    )


def _markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: dict[str, str]) -> str:
    if not row["ours"]:
        return "not run" + (f" ({_number(row['paper'])})" if row["paper"] else "")
    mark = "†" if row["state"] == "one class" else ""
    side = f" ± {_number(row['ours_side'])}"
    return f"{_number(row['ours'])}{side}{mark}" + (f" ({_number(row['paper'])})" if row["paper"] else "")


def _gain(row: dict[str, str]) -> str:
    paper = f" ({float(row['paper']):+z.1f})" if row["paper"] else ""
    if not row["gain"]:
        return f"not run{paper}"
    value, low, high = (f"{float(row[name]):+z.1f}" for name in ("gain", "low", "high"))
    shown = f"**{value}**" if row["reads"] in ("more", "less") else value
    return f"{shown} [{low}, {high}]{paper}"


def _number(text: str) -> str:
    return f"{float(text):.1f}" if text else "–"


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def filled(text: str) -> str:
    """A page with every table in its place."""

    def table(found: re.Match[str]) -> str:
        path = HERE / found[1]
        made = headline(path) if path.is_dir() else matrix(path.with_suffix(".csv"))
        return f"<!-- table: {found[1]} -->\n\n{made}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (\S+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def main() -> None:
    os.chdir(HERE.parent)
    for arguments in commands((HERE / "README.md").read_text(encoding="utf-8")):
        print("postel", *arguments, flush=True)
        sys.argv = ["postel", *arguments]
        app(arguments, standalone_mode=False)
    for name in PAGES:
        page = Path(name)
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
