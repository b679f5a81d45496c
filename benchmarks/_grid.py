"""The full grid of PosteL with GCN: what to run, and its rows as a small file that searches are held against."""

from __future__ import annotations

import itertools
from collections import Counter
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


def run_grid(
    datasets: Sequence[str], store: Store, workers: int, say: Callable[[str], Any] = print, path: Path = KEPT
) -> None:
    """Runs what neither ``store`` nor the file of kept rows has of the grids of ``datasets``.

    Args:
        datasets: Names of datasets.
        store: Where new rows are kept.
        workers: Processes at a time.
        say: Is told of progress.
        path: The file of kept rows.
    """
    kept = _kept_lines(path)
    for dataset in datasets:
        specs = [
            spec for (place, split), spec in grid_specs(dataset).items() if (dataset, split, place) not in kept
        ]
        done = itertools.count(1)

        def on_row(row: Row, dataset: str = dataset, done: Any = done, of: int = len(specs)) -> None:
            number = next(done)
            if number % 200 == 0:
                say(f"{dataset}: {number} of {of} runs")

        run_all(specs, workers=workers, store=store, on_row=on_row)


def keep(store: Store, path: Path = KEPT) -> list[str]:
    """Adds what searches need of the rows in ``store`` to the small file of kept rows.

    A grid that is not whole is kept as far as it is: the next machine goes on from there.

    Args:
        store: Where the rows are.
        path: The file.

    Returns:
        The datasets whose grid is now whole in the file.
    """
    lines = _kept_lines(path)
    for dataset in GRAPHS:
        specs = grid_specs(dataset)
        rows = store.get([spec.key for spec in specs.values()])
        for (place, split), spec in specs.items():
            if (row := rows.get(spec.key)) is None:
                continue
            result = row.result
            assert result.test is not None
            lines[dataset, split, place] = {
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
    ordered = sorted(lines, key=lambda key: (GRAPHS.index(key[0]), key[2], key[1]))
    write_parquet(path, [lines[key] for key in ordered], (*_SETTING, *_SCORES))
    return list(kept_grids(path))


def kept_grids(path: Path = KEPT) -> dict[str, Grid]:
    """Returns the whole grids that are kept, by dataset."""
    found: dict[str, Grid] = {}
    lines = _kept_lines(path)
    sizes = Counter(dataset for dataset, _, _ in lines)
    for (dataset, split, place), line in lines.items():
        if sizes[dataset] < len(places()) * SPLITS:
            continue
        grid = found.setdefault(dataset, Grid({}, {}))
        grid.runs.setdefault(place, []).append(
            Measured(
                split=split,
                score=line["val_accuracy"],
                loss=line["val_loss_scaled"],
                nodes=line["val_count"],
                one_class=line["one_class_val"],
                seconds=line["seconds"],
            )
        )
        grid.test[place] = grid.test.get(place, 0.0) + line["test_accuracy"] / SPLITS
    return found


def _kept_lines(path: Path) -> dict[tuple[str, int, Place], dict[str, Any]]:
    """The kept rows by dataset, split and place."""
    from pyarrow import parquet

    lines = parquet.read_table(path).to_pylist() if path.exists() else []
    return {(line["dataset"], line["split"], tuple(line["place"])): line for line in lines}


def _with_setting(base: RunSpec, values: Values) -> RunSpec:
    params = {name.removeprefix("method."): value for name, value in values.items() if "." in name}
    plain = {name: value for name, value in values.items() if "." not in name}
    return base.model_copy(update={**plain, "method": MethodSpec(name="postel", params=params)})
