"""``postel demo``: a comparison on two graphs, as a table and a page."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from postel.cli import options
from postel.cli.console import notes
from postel.cli.console import out as screen

TITLE = "Soft labels at work"
METHODS = ("one_hot", "uniform:epsilon=0.3", "sals:smoothing=0.5", "postel", "calibrated")
OPENING = (
    "Test accuracy of a GCN trained on five kinds of labels, one point per split. Where like links to like, SALS "
    "and the posteriors want the same thing. On the heterophilic graph they part: the neighbors' average points "
    "to classes that the node does not have, while the posterior has learned from the graph which neighbors each "
    "class keeps."
)
INTRODUCTION = (
    "One-hot is the label as it is. Uniform smoothing spreads a share of it over all classes, SALS mixes it with "
    "its neighbors' average label, and PosteL with the posterior of the node's class given its neighbors' labels. "
    "Our calibrated posterior is as sure as it has been right, and steps back where one-hot labels do better on "
    "validation nodes.",
)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("demo/report.html"),
    splits: Annotated[int, typer.Option("--splits", help="Number of splits of each graph.", min=2)] = 5,
    max_epochs: options.MaxEpochs = 1000,
    device: options.Device = "cpu",
    workers: options.Workers = 2,
    data_root: options.DataRoot = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Compare soft labels on CiteSeer and on a heterophilic graph, in a table and on an HTML page.

    Example: postel demo --splits 3
    """
    from postel.outputs import Target, writing

    options.check_usable(device, None)
    # The page of an earlier demo is made anew: it says nothing else.
    with writing(Target(out, "HTML", ours=_is_demo), overwrite=True) as work:
        _make(work / out.name, splits, max_epochs, device, workers, data_root)
    screen.print(f"the page is {out}")
    if show:
        webbrowser.open(out.resolve().as_uri())


def _make(page: Path, splits: int, max_epochs: int, device: str, workers: int, data_root: str | None) -> None:
    from postel.cli.compare import print_comparison, run_with_progress
    from postel.datasets.diagnosis import diagnose
    from postel.experiments.comparison import comparison_specs
    from postel.experiments.results import Cell, Row
    from postel.experiments.spec import MethodSpec
    from postel.experiments.store.reader import Study
    from postel.files import write_text
    from postel.report.page import Page
    from postel.report.pictures import Picture, comparison_pictures
    from postel.report.plots import accuracies_figure
    from postel.theory.plots import sals_figure

    methods = [MethodSpec.parse(text) for text in METHODS]
    rows: list[Row] = []
    graphs: dict[str, Sequence[Cell]] = {}
    pictures: list[Picture] = []
    introduction = list(INTRODUCTION)
    for dataset, note in _graphs(data_root):
        if note:
            notes.print(note)
            introduction.append(note)
        specs = comparison_specs(
            dataset,
            methods,
            range(splits),
            data_root=data_root,
            lr=0.05,
            max_epochs=max_epochs,
            device=device,
        )
        found = Study.of_rows(run_with_progress(specs, workers, data_root, store=None), "postel.sqlite")
        print_comparison(found.cells)
        screen.print()
        rows += found.rows
        all_labels = diagnose(dataset, None, data_root=data_root).all_labels.conditional
        graphs[dataset] = found.cells
        pictures += comparison_pictures(found.cells, all_labels, accuracies=False)  # the page opens on them
    caption = (
        "Why: three target nodes T. SALS gives T its neighbors' average whatever the graph; the posterior agrees "
        "with it where like links to like and turns round where it does not."
    )
    pictures.append(Picture.drawn(sals_figure(), caption))
    opening = Picture.drawn(accuracies_figure(graphs), OPENING)
    made = Page(Study.of_rows(rows, "postel.sqlite"), TITLE, introduction, pictures, "postel demo", opening)
    write_text(page, made.html())


def _is_demo(path: Path) -> bool:
    """Whether ``path`` is the page of an earlier demo."""
    with path.open("rb") as stream:
        return f"<title>{TITLE}</title>".encode() in stream.read(1000)


def _graphs(data_root: str | None) -> list[tuple[str, str]]:
    """The graphs to use, and what to say about them."""
    from postel.datasets.sources import NotAtHandError
    from postel.experiments.graphs import graph_of

    heterophilic = (
        "csbm-heterophilic",
        "csbm-heterophilic is synthetic: its classes link to other classes, in a fixed pattern.",
    )
    try:
        graph_of("citeseer", data_root)
    except NotAtHandError:
        note = "CiteSeer is not at hand and no package index answers, so a synthetic homophilic graph stands in."
        return [("csbm-homophilic", note), heterophilic]
    return [("citeseer", ""), heterophilic]
