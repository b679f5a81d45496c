"""Makes every table, figure and the report again from the rows in ``results/rows*``: nothing is trained.

The commands are those of the code blocks in ``results/README.md``, run one after another in one process. Then the
tables that other pages show of them are put in their places there: the headline of a folder between
``<!-- table: FOLDER -->`` and ``<!-- end -->``, the accuracies of one table after ``<!-- table: FOLDER/NAME -->``,
and a whole table as it is after ``<!-- table: FOLDER/NAME.md -->``. README shows the picture of gains, with a few
sentences, between ``<!-- gains: picture -->`` and ``<!-- end -->`` once the rows of the study hold GCN's searched
cells of four graphs, and after ``<!-- claims: counts -->`` how many of the paper's claims hold.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TypeVar, get_args

import typer.main

from postel.cli.app import app
from postel.cli.reproduce import chosen_options
from postel.experiments.store.folder import open_results
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.accuracy import AccuracyTable
from postel.paper.claims.verdicts import Verdict
from postel.paper.compared import ComparedCell
from postel.paper.figures.gains import FigureGains, budgets_by_graph, fair_pairs
from postel.paper.names import DATASETS, backbone_label, dataset_label
from postel.paper.table import NOT_RUN
from postel.paper.tables.gains import TableGains
from postel.paper.target import Target, find_target
from postel.paper.variants import LS, ONE_HOT, POSTEL

HERE = Path(__file__).resolve().parent
PAGES = ("README.md", "docs/reproduction.md", "docs/calibrated.md")
METHODS = {variant.slug: variant.label for variant in (ONE_HOT, LS, POSTEL)}
GAINS = (("PosteL", "one-hot"), ("PosteL", "LS"))
#: Graphs on which LS and PosteL must have been searched before README shows gains.
ENOUGH_GRAPHS = 4
#: Points by which an accuracy has to be above that of a constant answer to say more than that.
CLOSE = 2.0


def commands(text: str) -> list[list[str]]:
    """The arguments of every command of postel's that stands in a code block and only reads rows."""
    blocks = text.split("```")[1::2]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    reading = "--store results/rows"
    found = [shlex.split(line)[1:] for line in lines if line.startswith("postel ") and reading in line]
    return [arguments if "--overwrite" in arguments else [*arguments, "--overwrite"] for arguments in found]


def targets(every: Sequence[list[str]]) -> dict[str, tuple[Target, Path]]:
    """The tables and figures that commands make, with their rows, by the path of their files below this folder."""
    reproduce = typer.main.get_command(app).commands["reproduce"]  # type: ignore[attr-defined]
    found = {}
    for arguments in every:
        if arguments[0] == "reproduce":
            values = reproduce.make_context("reproduce", arguments[1:]).params
            target = find_target(values["name"])(chosen_options(values))
            found[f"{Path(values['out']).name}/{target.name}"] = target, values["store"]
    return found


def headline(main: AccuracyTable, gains: TableGains, reader: Reader) -> str:
    """One-hot, LS and PosteL of a main table, ours (and the paper's), and gains on the same splits."""
    entries = {(*entry.place, entry.variant.slug): entry for entry in main.entries(reader)}
    pairs = {
        (*pair.place, pair.variant.label, pair.baseline.variant.label): pair
        for pair in gains.pairs(reader)
        if pair.baseline
    }
    heads = ["graph", *METHODS.values(), *(f"{ours} − {theirs}" for ours, theirs in GAINS)]
    heads += ["n", "majority", "budget"]
    several = len({backbone for backbone, _, _ in entries}) > 1
    if several:
        heads.insert(0, "network")
    lines = [heads, ["---"] * len(heads)]
    missing = []
    for backbone, dataset in dict.fromkeys((backbone, dataset) for backbone, dataset, _ in entries):
        if not any(entries[backbone, dataset, method].answer for method in METHODS):
            network = f"{backbone_label(backbone)} on " if several else ""
            missing.append(f"{network}{dataset_label(dataset)}")
            continue
        row = [_cell(entries[backbone, dataset, method]) for method in METHODS]
        row += [_gain(pairs[backbone, dataset, ours, theirs]) for ours, theirs in GAINS]
        here = [entries[backbone, dataset, method] for method in METHODS]
        cell = next(entry.cell for entry in reversed(here) if entry.answer)
        row += [str(len(cell.rows)), f"{cell.majority:.1f}", cell.allowance_in_words]
        lines.append([backbone_label(backbone)] * several + [dataset_label(dataset), *row])
    left_out = f"Not run: {', '.join(missing)}."
    return "\n\n".join([_markdown(lines)] * (len(lines) > 2) + [left_out] * bool(missing))


def gains_of(figure: FigureGains, reader: Reader) -> str:
    """The picture of gains with a few sentences; nothing while there are too few cells."""
    fair = fair_pairs(figure.pairs(reader.evidence))
    by_method: dict[str, dict[str, ComparedCell]] = {}
    for pair in fair:
        by_method.setdefault(pair.variant.label, {})[pair.question.dataset] = pair
    graphs = [graph for graph in by_method.get(POSTEL.label, {}) if graph in by_method.get(LS.label, {})]
    if len(graphs) < ENOUGH_GRAPHS:
        return ""
    every_graph = set(graphs) == set(DATASETS)
    places = "all of the paper's graphs" if every_graph else _and([dataset_label(graph) for graph in graphs])

    def means(of: Sequence[str]) -> str:
        every = {label: found for label, found in by_method.items() if found.keys() >= set(graphs)}
        return _and(
            [f"{_mean(found[graph] for graph in of):+z.1f} with {label}" for label, found in every.items()]
        )

    def named(reads: str) -> str:
        clear = grouped([pair for pair in fair if pair.reads == reads], lambda pair: pair.question.dataset)
        return "; ".join(
            f"{_and([pair.variant.label for pair in here])} on {dataset_label(graph)}"
            for graph, here in clear.items()
        )

    chosen = [by_method[POSTEL.label][graph] for graph in graphs]
    their_gain = fmean(pair.paper_gain for pair in chosen if pair.paper_gain is not None)
    constant = {
        pair.question.dataset: f"{dataset_label(pair.question.dataset)} ({pair.cell.majority:.1f})"
        for pair in chosen
        if pair.cell.accuracy.mean < pair.cell.majority + CLOSE
    }
    telling = [graph for graph in graphs if graph not in constant]
    without = f"; without them the means are {means(telling)}" if telling else ""
    sentences = (
        f"With GCN on {places}, every method and one-hot labels searched alike "
        f"([{budgets_by_graph(fair)}](docs/choosing.md#search-at-the-same-budget)), "
        f"the mean gain over one-hot labels is {means(graphs)} (as released: by the paper's code; calibrated: our "
        f"form), where the paper has {their_gain:+z.1f} for PosteL, over one-hot figures that it copied.",
        f"Clearly better after correction for {len(fair)} comparisons: {named('more') or 'none'}; clearly worse: "
        f"{named('less') or 'none'}.",
        *(
            [f"A constant answer scores about as much as PosteL on {_and(list(constant.values()))}{without}."]
            if constant
            else []
        ),
    )
    what = "What soft labels gain over one-hot labels on each graph, ours and the paper's"
    picture = f"![{what}](results/study/figure-gains.png)"
    return picture + "\n\n" + "\n".join(sentences)


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), *words[-1:]] if len(words) > 1 else words)


def _mean(pairs: Iterable[ComparedCell]) -> float:
    return fmean(pair.gain.mean for pair in pairs if pair.gain)


def matrix(table: AccuracyTable, reader: Reader) -> str:
    """The accuracies of one table, a line per method and a column per graph: ours, and the paper's in brackets."""
    entries = {(entry.variant.slug, entry.question.dataset): entry for entry in table.entries(reader)}
    datasets = list(dict.fromkeys(dataset for _, dataset in entries))
    lines = [["labels", *map(dataset_label, datasets)], ["---"] * (1 + len(datasets))]
    for slug, label in {entry.variant.slug: entry.variant.label for entry in entries.values()}.items():
        lines.append([label, *(_cell(entries[slug, dataset]) for dataset in datasets)])
    return _markdown(lines)


def table_of(path: Path) -> str:
    """The lines of a Markdown table that were run, without its title and notes, and how many were not."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    # A claim that was not tested is as much of an answer as any other.
    shown = [line for line in lines if path.stem == "table-claims" or f"| {NOT_RUN} |" not in line]
    left_out = (
        f"\n\nNot run, and left out here: {len(lines) - len(shown)} lines." if len(shown) < len(lines) else ""
    )
    return "\n".join(shown) + left_out


def claims_in_words(path: Path) -> str:
    """How many of the paper's claims hold, in part or not, and how many were not run."""
    with path.open(encoding="utf-8", newline="") as lines:
        found = Counter(line["verdict"] for line in csv.DictReader(lines))
    counts = ", ".join(f"{verdict} {found[verdict]}" for verdict in get_args(Verdict))
    return f"The paper's {found.total()} [claims](docs/reproduction.md#the-papers-claims) so far: {counts}."


def _markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(entry: ComparedCell) -> str:
    paper = f" ({entry.paper.value:.1f})" if entry.paper else ""
    if entry.answer is None:
        return f"{NOT_RUN}{paper}"
    score, mark = entry.cell.accuracy, "†" if entry.cell.has_collapsed else ""
    return f"{score.interval.mean:.1f} ± {score.paper_side:.1f}{mark}{paper}"


def _gain(pair: ComparedCell) -> str:
    paper = "" if pair.paper_gain is None else f" ({pair.paper_gain:+z.1f})"
    if pair.gain is None:
        return f"{NOT_RUN}{paper}"
    span = pair.gain.interval
    shown = f"**{span.mean:+z.1f}**" if pair.reads in ("more", "less") else f"{span.mean:+z.1f}"
    return f"{shown} [{span.low:+z.1f}, {span.high:+z.1f}]{paper}"


Table = TypeVar("Table", bound=Target)


def _of(target: Target, kind: type[Table]) -> Table:
    if not isinstance(target, kind):
        raise TypeError(f"{target.name} has no accuracies to show")
    return target


def filled(text: str, made: Mapping[str, tuple[Target, Path]]) -> str:
    """A page with every table, and the picture of gains, in its place."""

    def table(found: re.Match[str]) -> str:
        place = found[1]
        if place.endswith(".md"):
            shown = table_of(HERE / place)
        elif place in made:
            target, rows = made[place]
            shown = matrix(_of(target, AccuracyTable), _reader(rows))
        else:
            (main, rows), (gains, _) = made[f"{place}/table-main"], made[f"{place}/table-gains"]
            shown = headline(_of(main, AccuracyTable), _of(gains, TableGains), _reader(rows))
        return f"<!-- table: {place} -->\n\n{shown}\n\n<!-- end -->"

    def gains(found: re.Match[str]) -> str:
        figure, rows = made["study/figure-gains"]
        shown = gains_of(_of(figure, FigureGains), _reader(rows))
        return (
            f"<!-- gains: picture -->\n\n{shown}\n\n<!-- end -->"
            if shown
            else "<!-- gains: picture --><!-- end -->"
        )

    text = re.sub(r"<!-- table: (\S+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)
    text = re.sub(r"<!-- gains: picture -->.*?<!-- end -->", gains, text, flags=re.DOTALL)
    counts = f"<!-- claims: counts -->\n\n{claims_in_words(HERE / 'study' / 'table-claims.csv')}\n\n<!-- end -->"
    return re.sub(r"<!-- claims: counts -->.*?<!-- end -->", lambda _: counts, text, flags=re.DOTALL)


@cache
def _reader(rows: Path) -> Reader:
    return Reader(open_results(rows))


def main() -> None:
    os.chdir(HERE.parent)
    every = commands((HERE / "README.md").read_text(encoding="utf-8"))
    for arguments in every:
        print("postel", *arguments, flush=True)
        sys.argv = ["postel", *arguments]
        app(arguments, standalone_mode=False)
    made = targets(every)
    for name in PAGES:
        page = Path(name)
        page.write_text(filled(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
