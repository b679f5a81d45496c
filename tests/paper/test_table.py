from __future__ import annotations

import csv
import io

import pytest

from postel.paper.table import Column, Table, csv_text, decimals, latex, latex_text, markdown, plain_text

TABLE = Table(
    "50 % of a_b & c",
    (Column("method", left=True), Column("ours", decimals(2)), Column("paper", decimals(2))),
    [("LS | x", 81.065, None), ("α #1 {β}", -1.5, 1234.5)],
    ("± is $5 ~ ^ \\ †",),
)


def balanced(text: str) -> bool:
    """Whether LaTeX's braces, dollars and environments all close, as a compiler would first complain about."""
    bare = text.replace(r"\{", "").replace(r"\}", "").replace(r"\$", "").replace(r"\\", "")
    depth = 0
    for letter in bare:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    begun = [part.partition("}")[0] for part in bare.split(r"\begin{")[1:]]
    ended = [part.partition("}")[0] for part in bare.split(r"\end{")[1:]]
    return depth == 0 and bare.count("$") % 2 == 0 and begun == ended[::-1]


def test_csv_parses_back_to_the_values() -> None:
    header, first, second = csv.reader(io.StringIO(csv_text(TABLE)))
    assert header == ["method", "ours", "paper"]
    assert first == ["LS | x", "81.065", ""] and second == ["α #1 {β}", "-1.5", "1234.5"]


def test_latex_is_balanced_and_has_as_many_cells_as_columns() -> None:
    text = latex(TABLE, "tab:x")
    assert balanced(text)
    assert r"50 \% of a\_b \& c" in text and r"\begin{tabular}{lrr}" in text
    lines = [line.replace(r"\&", "") for line in text.splitlines() if line.endswith(r"\\")]
    assert len(lines) == 3 and all(line.count("&") == 2 for line in lines)


def test_a_table_longer_than_a_page_goes_over_pages() -> None:
    text = latex(Table("Long", (Column("a"),) * 9, [tuple(range(9))] * 60, ("note",)), "tab:x")
    assert balanced(text) and text.count("0 & 1 & 2") == 60
    assert r"\begin{longtable}{rrrrrrrrr}" in text and r"\endhead" in text and r"\scriptsize" in text
    assert "longtable" not in latex(TABLE, "tab:x") and "scriptsize" not in latex(TABLE, "tab:x")


@pytest.mark.parametrize("letter", list("\\&%$#_{}~^±†–−αβΔ✓×"))
def test_no_special_letter_reaches_latex_as_it_is(letter: str) -> None:
    assert latex_text(letter) != letter and balanced(latex_text(letter))


def test_markdown_has_one_cell_a_column() -> None:
    lines = markdown(TABLE).splitlines()
    assert lines[0] == "### 50 % of a_b & c"
    assert [line.replace("\\|", "").count("|") for line in lines[2:6]] == [4, 4, 4, 4]
    assert lines[3] == "|---|---:|---:|" and lines[-1].startswith("- ±")


def test_text_columns_are_aligned() -> None:
    lines = plain_text(TABLE).splitlines()[2:5]
    assert len({len(line) for line in lines}) == 1
    assert lines[1].endswith("–") and "1,234.50" in lines[2]
