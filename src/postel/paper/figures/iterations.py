"""The paper's loss curves across rounds of pseudo-labelling, on Cornell."""

from __future__ import annotations

from typing import Any

from postel.errors import require_extra
from postel.experiments.results import Round, Row
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import mark_not_run, settings_in_words
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.paper.variants import POSTEL
from postel.pictures import new_figure, write_caption

_NOTE = "The split with the most rounds that lowered the validation loss; the last round is the one that did not."


class FigureIterations(Target):
    """Validation and test loss of each round."""

    title = "Loss curves across rounds of pseudo-labelling"

    datasets = ("cornell",)
    variants = (POSTEL,)
    budget = FIXED
    published_settings = True

    def make(self, reader: Reader) -> Rendering:
        """Return two panels for each cell, of its split with the most rounds, and the losses of every round.

        Args:
            reader: The store's reader.
        """
        figure = new_figure(9.6, 3.6 * len(self.requests) + 0.7)
        parts: Any = figure.subfigures(len(self.requests), 1, squeeze=False)[:, 0]
        lines: list[tuple[Any, ...]] = []
        drawn = []
        for part, request in zip(parts, self.requests, strict=True):
            panels = part.subplots(1, 2, sharey=True)
            cell, head = request.answer(reader, rounds=True), (request.dataset, request.backbone)
            title = f"{dataset_label(request.dataset)}, {backbone_label(request.backbone)}"
            if cell is None:
                for axes in panels:
                    mark_not_run(axes)
                lines.append((*head, "not run", *[None] * 6))
            else:
                row = max(cell.rows, key=lambda row: row.result.improved_rounds)
                title += f", split {row.split}"
                _draw(panels, row)
                lines += [(*head, "run", row.split, *_line(entry)) for entry in row.rounds or ()]
            part.suptitle(title, fontsize=12)
            drawn.append(cell)
        write_caption(
            parts[-1],
            f"{settings_in_words(drawn)} Drawn is one split. Darker to lighter: round after round of pseudo-"
            "labels; dashed: the last round, which did not lower the validation loss and was not kept.",
        )
        columns = (
            *texts("dataset", "backbone", "state"),
            *numbers("split", "round", "lowered the loss", "best epoch"),
            *numbers("validation loss", "test loss", places=4),
        )
        table = Table(self.title, columns, lines, (_NOTE, PUBLISHED_NOTE))
        return Rendering(self.name, table, figures={"": figure})


def _line(entry: Round) -> tuple[Any, ...]:
    test = entry.loss("test")
    at_best = test[entry.best_epoch - 1] if test else None
    return entry.round, entry.improved, entry.best_epoch, entry.val_loss, at_best


def _draw(panels: Any, row: Row) -> None:
    # A map that stays ordered in every kind of color vision; its lightest end is hard to see on white.
    shades = require_extra("matplotlib", "plots").colormaps["viridis"]
    rounds = row.rounds or ()
    for axes, name, label in zip(panels, ("val", "test"), ("validation loss", "test loss"), strict=True):
        for place, entry in enumerate(rounds):
            curve = entry.loss(name)
            if not curve:
                continue
            told = "no pseudo-labels" if entry.round == 0 else f"round {entry.round}"
            style = "-" if entry.improved else "--"
            color = shades(0.85 * place / max(len(rounds) - 1, 1))
            axes.plot(range(1, len(curve) + 1), curve, style, color=color, linewidth=1.8, label=told)
        axes.set_title(label, fontsize=11)
        axes.set_xlabel("epoch")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("loss")
    panels[1].legend(frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1.0, 1.0))
