"""The runs of a store without their bulk: a report of thousands of runs needs one thin curve of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postel.errors import InputError
from postel.experiments.running.execute import Row
from postel.experiments.store import Store
from postel.experiments.store.folder import open_results

# A curve is some 300 pixels wide: more points than this cannot be told apart.
_CURVE_POINTS = 60
_LARGEST_MATRIX = 20
_AT_ONCE = 100


def open_store(path: str | Path) -> Store:
    """The store at ``path``, a file or an archive; it must be there: a report of nothing is a slip of the name.

    >>> open_store("no-such.sqlite")
    Traceback (most recent call last):
        ...
    postel.errors.InputError: there is no store no-such.sqlite; name one with --store, or fill it with ...
    """
    if not Path(path).exists():
        raise InputError(
            f"there is no store {path}; name one with --store, or fill it with postel compare, tune or reproduce"
        )
    return open_results(path)


def thin_rows(store: Store) -> list[Row]:
    """Every row with test scores, its rounds replaced by ``curves`` and ``matrices`` of the best one."""
    keys = store.keys()
    rows: list[Row] = []
    for start in range(0, len(keys), _AT_ONCE):
        rows += [thin(row) for row in store.rows(keys[start : start + _AT_ONCE]) if row["result"]["test"]]
    return rows


def thin(row: Row) -> Row:
    """``row`` with ``curves`` and ``matrices`` in the place of ``rounds``; empty ones if those were not kept."""
    kept = {name: value for name, value in row.items() if name != "rounds"}
    if "rounds" not in row:
        return {**kept, "curves": {"epochs": [], "best": row["result"]["best_epoch"], "loss": {}}, "matrices": []}
    return {**kept, "curves": curves_of(row), "matrices": matrices_of(row)}


def curves_of(row: Row) -> dict[str, Any]:
    """Hard-label losses of the best round, thinned, with the epochs that they belong to.

    >>> best = {"best_epoch": 3, "round": 0, "curves": {"loss": {"val": [1.0, 0.75, 0.5]}}}
    >>> curves_of({"result": {"best_round": 0}, "rounds": [best]})
    {'epochs': [1, 2, 3], 'best': 3, 'loss': {'val': [1.0, 0.75, 0.5]}}
    """
    best = row["rounds"][row["result"]["best_round"]]
    losses = {name: curve for name, curve in best["curves"]["loss"].items() if curve}
    length = min(map(len, losses.values()), default=0)
    places = thinned(length, _CURVE_POINTS, keep=best["best_epoch"] - 1)
    return {
        "epochs": [place + 1 for place in places],
        "best": best["best_epoch"],
        "loss": {name: [float(f"{curve[place]:.4g}") for place in places] for name, curve in losses.items()},
    }


def thinned(length: int, points: int, keep: int) -> list[int]:
    """At most ``points`` + 1 places of a curve, evenly, with its ends and the place ``keep``.

    >>> thinned(9, 3, keep=5)
    [0, 4, 5, 8]
    """
    if length <= points:
        return list(range(length))
    even = {round(step * (length - 1) / (points - 1)) for step in range(points)}
    return sorted(even | ({keep} if 0 <= keep < length else set()))


def matrices_of(row: Row) -> list[dict[str, Any]]:
    """P(neighbor's class | class) from training labels and, where they helped, with pseudo-labels."""
    first, best = row["rounds"][0], row["rounds"][row["result"]["best_round"]]
    if first["conditional"] is None or len(first["conditional"]) > _LARGEST_MATRIX:
        return []
    matrices = [("from training labels", first["conditional"])]
    if best["round"] > 0 and best["conditional"] is not None:
        matrices.append((f"with pseudo-labels of round {best['round']}", best["conditional"]))
    return [
        {"title": title, "values": [[round(value, 3) for value in line] for line in matrix]}
        for title, matrix in matrices
    ]
