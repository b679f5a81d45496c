"""The cells that may decide a claim: those whose method was searched, looked up by method, graph and network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from postel.experiments.results import Cell, Row
from postel.experiments.scores import Gain, corrected_gains
from postel.experiments.spec import MethodSpec
from postel.experiments.store.reader import Reader
from postel.paper.requests import SWEEPS, Options, at_one_setting, request_cells, sweep
from postel.paper.timing import timed_cell
from postel.paper.variants import ONE_HOT, POSTEL, POSTEL_AS_RELEASED, Variant

#: Splits that a point of a sweep must have to count.
POINT_SPLITS = 6


class Evidence:
    """What a store has to say on claims.

    Args:
        reader: The store's reader.
    """

    def __init__(self, reader: Reader) -> None:
        self._every, self._searched = reader, reader.evidence
        self._found: dict[tuple[object, ...], Cell | None] = {}

    def timed(self, variant: Variant, dataset: str) -> Cell | None:
        """Return GCN's cell at given settings with the seconds of ``table-time``; None if it was not timed.

        Args:
            variant: The method.
            dataset: The dataset.
        """
        asked = request_cells(Options(budget="fixed"), [dataset], ["gcn"], [variant])[0]
        return timed_cell(self._every, asked)

    def find(
        self,
        variant: Variant,
        dataset: str,
        backbone: str = "gcn",
        protocol: str = "paper",
        *,
        curves: bool = False,
    ) -> Cell | None:
        """Return a cell whose method was searched; None if there is none.

        Args:
            variant: The method.
            dataset: The dataset.
            backbone: The network.
            protocol: How nodes are split.
            curves: Whether to return its first split alone, with its curves.
        """
        key = (variant.slug, dataset, backbone, protocol, curves)
        if key not in self._found:
            options = Options(splits=1) if curves else Options()
            asked = request_cells(options, [dataset], [backbone], [variant], protocol=protocol)[0]
            self._found[key] = asked.answer(self._searched, rounds=curves)
        return self._found[key]

    def postel(self, dataset: str, backbone: str = "gcn", protocol: str = "paper") -> Cell | None:
        """Return PosteL's cell, of the text's form and the released one that which validation nodes prefer.

        Args:
            dataset: The dataset.
            backbone: The network.
            protocol: How nodes are split.
        """
        forms = [self.find(form, dataset, backbone, protocol) for form in (POSTEL, POSTEL_AS_RELEASED)]
        return max((cell for cell in forms if cell), key=lambda cell: cell.validation["accuracy"], default=None)

    def at_one_setting(self, dataset: str) -> tuple[Row | None, Row | None]:
        """Return GCN's first runs with one-hot labels and with PosteL's, both at PosteL's setting, with curves.

        Args:
            dataset: The dataset.
        """
        asked = at_one_setting(request_cells(Options(splits=1), [dataset], ["gcn"], [ONE_HOT, POSTEL]))
        plain, ours = (request.answer(self._searched, rounds=True) for request in asked)
        return plain.rows[0] if plain else None, ours.rows[0] if ours else None

    def first_row(self, variant: Variant, dataset: str, protocol: str = "paper") -> Row | None:
        """Return the run of GCN's first split with its curves; None if there is none.

        Args:
            variant: The method.
            dataset: The dataset.
            protocol: How nodes are split.
        """
        cell = self.find(variant, dataset, "gcn", protocol, curves=True)
        return cell.rows[0] if cell else None

    def sweep(self, dataset: str) -> tuple[Cell | None, list[tuple[str, float, Cell]]]:
        """Return GCN's one-hot cell, and parameter, value and cell of each point of a sweep over alpha and beta.

        Points with an alpha or beta that is not among the paper's are left out: our search goes further.

        Args:
            dataset: The dataset.
        """
        asked = request_cells(Options(), [dataset], ["gcn"], [POSTEL])[0]
        best: list[tuple[str, float, Cell]] = []
        for base in (cell for cell in self._searched.cells if cell.answers(asked.question)):
            own = replace(
                asked.question, budget=base.question.budget, search_splits=base.question.search_splits or None
            )
            found = []
            for point in sweep(replace(asked, question=own)):
                cell = point.answer(self._searched)
                if cell is not None and len(cell.rows) >= POINT_SPLITS and _is_papers(cell.chosen.method):
                    found += [(name, value, cell) for name, value in point.variant.params.items()]
            best = max(best, found, key=len)
        return self.find(ONE_HOT, dataset), best

    def measured(self, target: str, key: str) -> Any:
        """Return what a target measured beside cells; None if it was not.

        Args:
            target: The target's name.
            key: What it was measured of.
        """
        return self._every.measurements.get(target, key)


def _is_papers(method: MethodSpec) -> bool:
    given = method.as_stored().params
    return all(given[name] in values for name, values in SWEEPS.items())


def fair_gain(one: Cell | None, other: Cell | None) -> Gain | None:
    """Return what a cell gains over another; None if one is missing or their budgets differ.

    Args:
        one: The cell.
        other: The one that it is held against.
    """
    if one is None or other is None or one.allowance != other.allowance:
        return None
    return one.accuracy.gain_over(other.accuracy)


def fair_gains(pairs: Iterable[tuple[Cell | None, Cell | None]]) -> list[Gain | None]:
    """Return the gains of several pairs, with p-values corrected for their number.

    Args:
        pairs: Each cell with the one that it is held against.
    """
    return corrected_gains([fair_gain(*pair) for pair in pairs])


def means(gains: Sequence[Gain | None]) -> list[float | None]:
    """Return the mean of each gain.

    Args:
        gains: Gains; None where something was not run.
    """
    return [None if gain is None else gain.mean for gain in gains]


def above(gains: Sequence[Gain | None]) -> list[bool | None]:
    """Return whether each gain is above 0.

    Args:
        gains: Gains; None where something was not run.
    """
    return [None if gain is None else gain.mean > 0 for gain in gains]
