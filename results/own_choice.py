"""Says what comes out if every split chooses its own setting, instead of one being chosen for all splits together.

Run: python results/own_choice.py [--store results/rows-study]. A setting that is chosen for all splits was
compared on validation nodes of which many are test nodes of other splits; a setting that a split chooses by its
own has seen none of its test nodes. Only cells count of which every setting of the search was run on every split:
searches that drop settings on their way leave no such choice. Both choices are by accuracy alone, ties by loss;
that of tables weighs near ties by loss, so the first may differ from it.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from postel.experiments.results import Cell, Row
from postel.experiments.search.choice import Measured, ranked
from postel.experiments.search.spaces import values_at
from postel.experiments.search.template import Template
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.experiments.store.folder import open_results
from postel.grouping import grouped
from postel.paper.names import backbone_label, dataset_label
from postel.paper.variants import variant_of


@dataclass(frozen=True)
class Choices:
    """The test accuracy of a cell in percent, mean over splits, with its setting chosen in two ways.

    Args:
        cell: The cell.
        settings: How many settings there are to choose from.
        together: The accuracy if one setting is chosen for all splits.
        apart: The accuracy if every split chooses its own.
    """

    cell: Cell
    settings: int
    together: float
    apart: float

    @property
    def difference(self) -> float:
        """What choosing together has more than choosing apart, in points."""
        return self.together - self.apart


def grid_of(cell: Cell) -> list[list[RunSpec]]:
    """Return the runs of every setting of a cell's search: one list per setting, one run per split.

    Args:
        cell: The cell.
    """
    asked = cell.question
    template = Template(
        dataset=asked.dataset,
        fingerprint=asked.fingerprint or "",
        protocol=asked.protocol,
        recipe=asked.recipe,
        backbone=asked.backbone,
        method=asked.method,
        pseudo_labels=asked.pseudo_labels,
        fixed=asked.fixed,
        splits=asked.splits,
    )
    places = itertools.product(*(range(len(values)) for values in template.space.values()))
    return [
        [
            template.spec(values_at(template.space, place), split, split, asked.pseudo_labels)
            for split in asked.splits
        ]
        for place in places
    ]


def choices_of(cells: Sequence[Cell], store: Store) -> list[Choices]:
    """Return both choices of every searched cell whose settings were all run on all of its splits.

    Args:
        cells: The cells; of those that ask the same, only the first counts.
        store: Where the runs are.
    """
    stored, found = set(store.keys()), []
    searched = (cell for cell in cells if cell.is_evidence)
    for cell, *_ in grouped(searched, lambda cell: cell.question.topic).values():
        grid = grid_of(cell)
        if all(spec.key in stored for runs in grid for spec in runs):
            rows = store.get([spec.key for runs in grid for spec in runs], rounds=False)
            found.append(_chosen(cell, [[rows[spec.key] for spec in runs] for runs in grid]))
    return found


def _chosen(cell: Cell, runs: Sequence[Sequence[Row]]) -> Choices:
    """Choose by validation nodes, and look at the test nodes of what was chosen."""
    seen = {(number,): [Measured.of(row) for row in rows] for number, rows in enumerate(runs)}
    [together] = ranked(seen)[0]
    apart = [
        ranked({place: rows[at : at + 1] for place, rows in seen.items()})[0][0] for at in range(len(runs[0]))
    ]
    return Choices(
        cell,
        settings=len(runs),
        together=fmean(row.percent("accuracy") for row in runs[together]),
        apart=fmean(runs[number][at].percent("accuracy") for at, number in enumerate(apart)),
    )


def main() -> None:
    """Print both accuracies of every cell that has them, and the mean difference of every method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="results/rows-study")
    store = open_results(parser.parse_args().store)
    found = choices_of(store.cells(), store)
    if not found:
        print("of no cell all settings were run on all splits: nothing to say")
        return
    print("test accuracy with one setting for all splits, with each split's own, and the difference")
    lines = []
    for each in found:
        asked = each.cell.question
        place = f"{asked.protocol}, {backbone_label(asked.backbone)} on {dataset_label(asked.dataset)}"
        figures = f"{each.together:5.1f} {each.apart:5.1f} {each.difference:+5.1f}"
        lines.append(f"  {place:41} {variant_of(asked).label:35} {each.settings:2} settings {figures}")
    print(*sorted(lines), sep="\n")
    for label, same in grouped(found, lambda each: variant_of(each.cell.question).label).items():
        differences = [each.difference for each in same]
        print(
            f"{label}: mean {fmean(differences):+.2f} over {len(same)} cell{'s'[: len(same) > 1]}, "
            f"from {min(differences):+.1f} to {max(differences):+.1f}"
        )


if __name__ == "__main__":
    main()
