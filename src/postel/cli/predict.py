"""``postel predict``: classes of nodes from a saved model."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options
from postel.cli.console import out as screen
from postel.cli.console import print_json, print_table
from postel.errors import InputError, require_extra

if TYPE_CHECKING:
    from torch import Tensor

_FIRST = ("node", "prediction", "probability")


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder of a model, as postel train --out writes.")
    ],
    graph: options.Graph,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File for one line per node, .parquet or .csv: its number, predicted class and probabilities.",
        ),
    ] = None,
    recipe: options.Recipe = "paper",
    device: options.Device = "cpu",
    overwrite: options.Overwrite = False,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Predict the class of every node of a graph with a saved model.

    The graph needs no labels and no splits, but the features that the model was trained on.

    Example: postel predict model citeseer --out predictions.parquet
    """
    from postel.datasets import load_dataset
    from postel.datasets.load import open_graph
    from postel.outputs import Target, writing
    from postel.training import NodeClassifier

    if out is not None and out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"--out takes a file that ends in .csv or .parquet, got {out.name}")
    if out is not None and out.suffix.lower() == ".parquet":
        require_extra("pyarrow", "tables")
    fitted = NodeClassifier.load(model, device=device)
    stored, _ = open_graph(graph, data_root=data_root)
    names = fitted.names_["class_names"] or list(stored.class_names)
    if len(names) != fitted.num_classes_:
        names = [str(number) for number in range(fitted.num_classes_)]
    with ExitStack() as stack:
        if out is not None:
            is_parquet = out.suffix.lower() == ".parquet"
            target = Target(out, "Parquet") if is_parquet else Target(out, "text", ours=_is_predictions)
            inputs: list[str | Path] = [graph, *(path for path in model.iterdir() if path.is_file())]
            work = stack.enter_context(writing(target, overwrite=overwrite, inputs=inputs))
        data = load_dataset(graph, split=None, recipe=recipe, data_root=data_root)
        probabilities = fitted.predict_proba(data).cpu()
        if out is not None:
            write_predictions(work / out.name, probabilities, names)
    counts = probabilities.argmax(1).bincount(minlength=len(names)).tolist()
    if as_json:
        summary: dict[str, Any] = {"model": str(model), "graph": graph, "nodes": sum(counts)}
        print_json({**summary, "predicted": dict(zip(names, counts, strict=True)), "out": out and str(out)})
        return
    sure = probabilities.amax(1)
    lines = [
        (name, f"{count:,}", f"{sure[probabilities.argmax(1) == number].mean():.2f}" if count else "–")
        for number, (name, count) in enumerate(zip(names, counts, strict=True))
    ]
    print_table(f"{graph}: predictions of {model}", ["class", "nodes", "mean probability"], lines)
    if out is not None:
        screen.print(f"one line per node is in {out}", soft_wrap=True)


def write_predictions(path: Path, probabilities: Tensor, names: list[str]) -> None:
    """Write one line per node: its number, the predicted class, its probability, and those of all classes.

    Args:
        path: A .csv or .parquet file.
        probabilities: One distribution per node, [N, K].
        names: Names of the classes.
    """
    sure, best = probabilities.max(1)
    columns: dict[str, Any] = {
        "node": list(range(len(best))),
        "prediction": [names[number] for number in best.tolist()],
        "probability": sure.tolist(),
    }
    columns |= {f"p_{name}": probabilities[:, number].tolist() for number, name in enumerate(names)}
    if path.suffix.lower() == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
        return
    import csv

    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _is_predictions(path: Path) -> bool:
    """Whether ``path`` holds predictions of an earlier time."""
    with path.open("rb") as stream:
        return stream.read(100).startswith(",".join(_FIRST).encode())
