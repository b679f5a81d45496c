"""The paper's table of how many rounds of pseudo-labelling lower the validation loss."""

from __future__ import annotations

from typing import Any

from postel.experiments.intervals import bootstrap_interval
from postel.experiments.store.reader import Reader
from postel.paper.accuracy import by_dataset
from postel.paper.names import BACKBONES, DATASETS, backbone_label, dataset_label
from postel.paper.published import published
from postel.paper.rendering import Rendering
from postel.paper.table import NOT_RUN, Table, decimals, numbers, texts
from postel.paper.target import Target
from postel.paper.variants import POSTEL

_VALUES = "backbone dataset state ours low high most paper difference splits budget"


class TableIterations(Target):
    """Mean number of rounds that improved, by backbone and dataset; the runs are those of the main table."""

    title = "Rounds of pseudo-labelling that lowered the validation loss, mean over splits"
    datasets = DATASETS
    backbones = BACKBONES
    variants = (POSTEL,)

    def make(self, reader: Reader) -> Rendering:
        """Return ours beside the paper's.

        Args:
            reader: The store's reader.
        """
        values: list[tuple[Any, ...]] = []
        lines: list[tuple[Any, ...]] = []
        for request in self.requests:
            head, cell = request.place, request.answer(reader)
            figure = published("iterations").get(head) if request.question.protocol == "paper" else None
            paper = figure.value if figure else None
            labels = (backbone_label(request.backbone), dataset_label(request.dataset))
            if cell is None:
                values.append((*head, NOT_RUN, None, None, None, None, paper, None, 0, None))
                lines.append((*labels, NOT_RUN, None, None, paper, None, 0, None))
                continue
            rounds = [row.result.improved_rounds for row in cell.rows]
            ours, span = cell.mean("improved_rounds"), bootstrap_interval(rounds)
            most, n = max(rounds), len(rounds)
            gap = None if paper is None else ours - paper
            values.append((*head, "run", ours, span.low, span.high, most, paper, gap, n, cell.spent.text))
            interval = None if span.single else f"[{span.low:.1f}, {span.high:.1f}]"
            lines.append((*labels, f"{ours:.1f}", interval, most, paper, gap, n, cell.allowance_in_words))
        table = Table(self.title, numbers(*_VALUES.split()), values)
        notes = _notes([row["ours"] for row in table.records() if row["ours"] is not None])
        return Rendering(self.name, table, Table(self.title, _COLUMNS, lines, notes), _matrix(table, notes))


_COLUMNS = (
    *texts("backbone", "dataset"),
    *numbers("ours", "95 %", "most"),
    *numbers("paper", places=1),
    *numbers("difference", places=1, signed=True),
    *numbers("n"),
    *texts("budget"),
)


def _matrix(values: Table, notes: tuple[str, ...]) -> Table:
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for row in values.records():
        groups.setdefault(row["backbone"], {})[row["dataset"]] = row
    shown, signed = decimals(1), decimals(1, signed=True)
    lines = []
    for backbone, of in groups.items():
        ours = {name: NOT_RUN if row["ours"] is None else shown(row["ours"]) for name, row in of.items()}
        lines += [
            (f"{backbone_label(backbone)}, PosteL", "ours", ours),
            ("", "paper", {name: shown(row["paper"]) for name, row in of.items()}),
            ("", "difference", {name: signed(row["difference"]) for name, row in of.items()}),
        ]
    return by_dataset(values.title, lines, notes)


def _notes(means: list[float]) -> tuple[str, ...]:
    paper = [figure.value for figure in published("iterations").values()]
    first = f"The paper's {len(paper)} figures have mean {sum(paper) / len(paper):.2f} (its text says 1.13)"
    ours = f"; the {len(means)} of ours that are run, {sum(means) / len(means):.2f}" if means else ""
    return (f"{first}{ours}.", "Brackets: 95 % bootstrap interval over splits; difference: ours − paper.")
