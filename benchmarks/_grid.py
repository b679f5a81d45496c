"""The full grid of PosteL with GCN: what to run, and its rows as a small file that searches are held against."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postel.experiments.comparison import comparison_specs
from postel.experiments.rows import Row
from postel.experiments.running.executor import run_all
from postel.experiments.search.choice import Measured
from postel.experiments.search.lattice import Place
from postel.experiments.search.spaces import PAPER_POSTEL, Space, Values, space_of, values_at
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.experiments.store.export import write_parquet

GRAPHS = ("texas", "cora", "citeseer")
SPLITS = 3
#: Learning rate, weight decay, alpha and beta as the paper lists them: 800 settings.
SPACE: Space = {**space_of("gcn", "one_hot"), **PAPER_POSTEL}
#: The rows that are kept with the code.
KEPT = Path(__file__).with_name("grid.parquet")

_SETTING = ("dataset", "split", "place")
_SCORES = ("val_accuracy", "val_loss_scaled", "val_count", "one_class_val", "test_accuracy", "seconds")


@dataclass(frozen=True)
class Grid:
    """What every setting of a grid scores on every split.

    Args:
        runs: The runs of each place, one per split.
        test: The mean test accuracy of each place, which no search sees.
    """

    runs: dict[Place, list[Measured]]
    test: dict[Place, float]

    @property
    def nodes(self) -> int:
        """Validation nodes of a split."""
        return next(iter(self.runs.values()))[0].nodes


def places() -> list[Place]:
    """Returns every place of the grid in order."""
    return list(itertools.product(*(range(len(values)) for values in SPACE.values())))


def grid_specs(dataset: str) -> dict[tuple[Place, int], RunSpec]:
    """Returns the 2400 runs of a dataset's grid by place and split: 800 settings, without pseudo-labels."""
    bases = comparison_specs(dataset, [MethodSpec(name="postel")], range(SPLITS), pseudo_labels=False)
    return {
        (place, base.split): _with_setting(base, values_at(SPACE, place)) for place in places() for base in bases
    }


def run_grid(datasets: Sequence[str], store: Store, workers: int, say: Callable[[str], Any] = print) -> None:
    """Runs what ``store`` lacks of the grids of ``datasets``.

    Args:
        datasets: Names of datasets.
        store: Where the rows are kept.
        workers: Processes at a time.
        say: Is told of progress.
    """
    for dataset in datasets:
        specs = list(grid_specs(dataset).values())
        done = itertools.count(1)

        def on_row(row: Row, dataset: str = dataset, done: Any = done, of: int = len(specs)) -> None:
            number = next(done)
            if number % 200 == 0:
                say(f"{dataset}: {number} of {of} runs")

        run_all(specs, workers=workers, store=store, on_row=on_row)


def keep(store: Store, path: Path = KEPT) -> list[str]:
    """Writes what searches need of the grids that are whole in ``store`` to a small file; others stay as they are.

    Args:
        store: Where the rows are.
        path: The file.

    Returns:
        The datasets it now has.
    """
    lines: list[dict[str, Any]] = []
    for dataset in GRAPHS:
        specs = grid_specs(dataset)
        rows = store.get([spec.key for spec in specs.values()])
        if len(rows) < len(specs):
            lines += [line for line in _kept_lines(path) if line["dataset"] == dataset]
            continue
        for (place, split), spec in specs.items():
            result = rows[spec.key].result
            assert result.test is not None
            lines.append(
                {
                    "dataset": dataset,
                    "split": split,
                    "place": list(place),
                    "val_accuracy": result.val.accuracy,
                    "val_loss_scaled": result.val_loss_scaled,
                    "val_count": result.val.count,
                    "one_class_val": bool(result.one_class_val),
                    "test_accuracy": result.test.accuracy,
                    "seconds": round(result.seconds, 3),
                }
            )
    write_parquet(path, lines, (*_SETTING, *_SCORES))
    return list(dict.fromkeys(line["dataset"] for line in lines))


def kept_grids(path: Path = KEPT) -> dict[str, Grid]:
    """Returns the grids that are kept, by dataset."""
    found: dict[str, Grid] = {}
    for line in _kept_lines(path):
        grid = found.setdefault(line["dataset"], Grid({}, {}))
        place = tuple(line["place"])
        grid.runs.setdefault(place, []).append(
            Measured(
                split=line["split"],
                score=line["val_accuracy"],
                loss=line["val_loss_scaled"],
                nodes=line["val_count"],
                one_class=line["one_class_val"],
                seconds=line["seconds"],
            )
        )
        grid.test[place] = grid.test.get(place, 0.0) + line["test_accuracy"] / SPLITS
    return found


def _kept_lines(path: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet

    return parquet.read_table(path).to_pylist() if path.exists() else []


def _with_setting(base: RunSpec, values: Values) -> RunSpec:
    params = {name.removeprefix("method."): value for name, value in values.items() if "." in name}
    plain = {name: value for name, value in values.items() if "." not in name}
    return base.model_copy(update={**plain, "method": MethodSpec(name="postel", params=params)})
