"""``postel diagnose``: what a graph and its labels are like, and whether soft labels may help."""

from __future__ import annotations

import math
import os
import shlex
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from postel.cli import options
from postel.cli.console import notes, out, print_json, print_table
from postel.cli.options import DataRoot, Json, Overwrite, Protocol, Recipe

if TYPE_CHECKING:
    from postel.datasets.diagnosis import Diagnosis

Split = Annotated[int, typer.Option("--split", help="Number of the split.")]
SelfLoops = Annotated[
    bool, typer.Option("--self-loops", help="Count a self-loop as a neighbor, as the published code does.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Draw the diagnosis to this file (.png or .svg)."),
]


def diagnose(
    graph: options.Graph,
    split: Split = 0,
    protocol: Protocol = "paper",
    recipe: Recipe = "paper",
    self_loops: SelfLoops = False,
    data_root: DataRoot = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Describe a graph and its labels, say what to expect of posterior smoothing, and what to try first.

    Homophily and the like use all labels; prior, conditional and posterior use training labels only.

    Example: postel diagnose texas --plot texas.png
    """
    from postel.datasets.diagnosis import diagnose as diagnose_graph
    from postel.outputs import Target, writing
    from postel.pictures import picture_kind

    with ExitStack() as stack:
        if plot is not None:
            target = Target(plot, picture_kind(plot).upper())
            work = stack.enter_context(writing(target, overwrite=overwrite, inputs=[graph]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = diagnose_graph(
                graph, split, protocol, data_root=data_root, recipe=recipe, self_loops=self_loops
            )
        for warning in caught:
            notes.print(f"note: {warning.message}", soft_wrap=True)
        if plot is not None:
            from postel.datasets.diagnosis.plot import plot_diagnosis

            plot_diagnosis(found, work / plot.name)
    if plot is not None:
        notes.print(f"drawn into {plot}", soft_wrap=True)
    if json:
        print_json(found.to_dict())
        return
    _print(found)
    _print_advice(found, graph, data_root)


def _print(found: Diagnosis) -> None:
    shape, every, train, test = found.structure, found.all_labels, found.training, found.evaluation
    rows = [
        ("nodes / features / classes", f"{shape.nodes:,} / {shape.features:,} / {shape.classes}"),
        ("edge entries / linked pairs", f"{shape.edge_entries:,} / {shape.pairs:,}"),
        ("directions", "both" if shape.symmetric else "one-way entries"),
        ("self-loops / repeated entries", f"{shape.self_loops:,} / {shape.duplicate_entries:,}"),
        ("nodes with a twin (same label and neighbors)", f"{shape.twin_nodes:,}"),
        ("nodes without neighbors / labels", f"{shape.isolated_nodes:,} / {shape.unlabelled_nodes:,}"),
        (
            "degree: mean / median / largest",
            f"{shape.mean_degree:.2f} / {shape.median_degree:g} / {shape.max_degree:,}",
        ),
    ]
    print_table(f"{found.name}: the graph", ("", ""), rows)
    rows = [
        ("edge homophily", _number(every.edge_homophily)),
        ("node homophily", _number(every.node_homophily)),
        ("adjusted homophily", _number(every.adjusted_homophily)),
        ("label informativeness", _number(every.label_informativeness)),
        ("two neighbors: joint against product (total variation)", _number(every.mean_independence_gap)),
    ]
    print_table("All labels", ("", ""), rows)
    if train is not None:
        rows = [
            ("training nodes", f"{train.train:,}"),
            ("of them without labelled neighbor", f"{train.without_labelled_neighbor:.2%}"),
            ("posterior's best class is the true one", f"{train.posterior_best_is_true:.2%}"),
            ("the same, given a labelled neighbor", _share(train.posterior_best_is_true_with_neighbors)),
            ("distance between classes' conditionals", _number(train.contrast)),
        ]
        print_table(f"Training labels ({found.protocol or 'own masks'}, split {found.split})", ("", ""), rows)
    if test is not None:
        majority = f"{test.majority_share:.2%} (class {found.class_names[test.majority_class]})"
        rows = [
            ("validation / test nodes", f"{test.validation:,} / {test.test:,}"),
            ("majority class alone", majority),
        ]
        missing = (("training", test.absent_from_training), ("validation", test.absent_from_validation))
        for part, classes in (*missing, ("test", test.absent_from_test)):
            if classes:
                rows.append((f"classes absent from {part}", ", ".join(found.class_names[k] for k in classes)))
        print_table("Test", ("", ""), rows)
    _print_classes(found)
    out.print(Text.assemble(("Verdict", "bold"), f": {found.verdict}"), soft_wrap=True)
    if found.training:
        out.print(found.training.calibration, soft_wrap=True)


def _print_advice(found: Diagnosis, graph: str, data_root: str | None) -> None:
    if found.advice.warning is not None:
        out.print(Text.assemble(("Beware", "bold"), f": {found.advice.warning}"), soft_wrap=True)
    out.print(Text.assemble(("Try first", "bold"), ", since only a comparison tells whether your network gains:"))
    out.print(f"    {_command(found, graph, data_root)}", soft_wrap=True)


def _command(found: Diagnosis, graph: str, data_root: str | None) -> str:
    """Return the comparison to run first, as a line for a shell."""
    words = ["postel", "compare", graph, "-m", ",".join(found.advice.methods)]
    if found.protocol not in (None, "paper"):
        words += ["--protocol", str(found.protocol)]
    if found.recipe not in (None, "paper"):
        words += ["--recipe", str(found.recipe)]
    if found.protocol == "public":
        words += ["--splits", "1"]
    if data_root is not None and data_root != os.environ.get("POSTEL_DATA"):
        words += ["--data-root", data_root]
    return shlex.join(words)


def _print_classes(found: Diagnosis) -> None:
    source = found.training or found.all_labels
    total = sum(found.all_labels.class_counts)
    prior = found.training.prior if found.training else [n / total for n in found.all_labels.class_counts]
    rows = []
    for k, name in enumerate(found.class_names):
        cells = [f"{value:.2f}" for value in source.conditional[k]]
        every = found.all_labels
        rows.append(
            (
                name,
                f"{prior[k]:.2f}",
                *cells,
                _number(every.class_homophily[k]),
                _number(every.independence_gap[k]),
            )
        )
    columns = ("class", "prior", *(f"P({name})" for name in found.class_names), "homophily", "gap")
    print_table("Conditional: a row is a node's class, a column its neighbor's", columns, rows)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2%}"
