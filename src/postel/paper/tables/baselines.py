"""Not a table of the paper but a check of its baseline: one-hot labels at a published setting, and searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, ClassVar

from postel.errors import InputError
from postel.experiments.results import Cell, Setting
from postel.experiments.spec import RunSpec
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.compared import ComparedCell
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import PUBLISHED, CellRequest, Options
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.tables.main import TableMain
from postel.paper.variants import ONE_HOT, POSTEL, Variant

_NOTES = (
    "Test accuracy in percent with one-hot labels, mean over the same splits. Published: at the learning rate and "
    "weight decay that He et al. (2021) give for their own network on the graph; searched: at those that "
    "validation nodes prefer; 95 %: bootstrap interval of the paired difference (10,000 resamples).",
    "The paper searched for PosteL and copied its one-hot figures, so what it gains over them contains what "
    "searching alone gains; in ours both are searched.",
)


class TableBaselines(TableMain):
    """One-hot labels as the paper has them, at published settings, and at searched ones."""

    title = "The one-hot baseline at published settings and searched"
    backbones = ("gcn",)
    variants: ClassVar[tuple[Variant, ...]] = (ONE_HOT, POSTEL)
    any_method = False

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return both questions of every network and dataset.

        Args:
            options: The user's options.

        Raises:
            InputError: If an option does not fit.
        """
        if options.methods is not None:
            raise InputError(f"{self.name} always compares one-hot labels with PosteL: leave out --methods")
        return super().make_requests(options)

    def make(self, reader: Reader) -> Rendering:
        """Return a line for each network and dataset.

        Args:
            reader: The store's reader.
        """
        places = grouped(self.entries(reader), lambda entry: entry.place).values()
        rows = [_values(plain, posterior, reader) for plain, posterior in places]
        values = Table(self.title, numbers(*_VALUES.split()), rows)
        lines = [_readable(record) for record in values.records()]
        return Rendering(self.name, values, Table(self.title, _COLUMNS, [*lines, *_mean(lines)], _NOTES))


_VALUES = (
    "dataset backbone protocol state published_lr published_weight_decay published paper difference lr "
    "weight_decay searched gain low high postel_gain paper_postel_gain splits budget"
)
_COLUMNS = (
    *texts("dataset", "backbone", "published lr, wd"),
    *numbers("published", "paper", places=2),
    *numbers("difference", places=2, signed=True),
    *texts("searched lr, wd"),
    *numbers("searched", places=2),
    *numbers("searching gains", places=2, signed=True),
    *numbers("95 %"),
    *numbers("PosteL gains, ours", "PosteL gains, paper", places=2, signed=True),
    *numbers("n"),
)


def at_setting(cell: Cell, setting: dict[str, float], reader: Reader) -> Cell | None:
    """Return the same cell at another setting that its search has run on all splits.

    Args:
        cell: A cell with rows.
        setting: What is different.
        reader: The reader of its store.

    Returns:
        The cell; None unless the store has that setting on every split.
    """
    rows = reader.rows([row.spec.model_copy(update=setting).key for row in cell.rows])
    if len(rows) < len(cell.rows):
        return None
    return replace(cell, chosen=Setting.of(rows[0].spec), run_keys=tuple(row.key for row in rows)).with_rows(rows)


def published_setting(dataset: str) -> dict[str, float]:
    """Return the learning rate and weight decay that He et al. (2021) published for a dataset.

    Args:
        dataset: Its name.

    Example:
        >>> published_setting("pubmed")
        {'lr': 0.01, 'weight_decay': 0.0}
    """
    defaults = {name: RunSpec.model_fields[name].default for name in ("lr", "weight_decay")}
    return {**defaults, **PUBLISHED.get(dataset, {})}


def _values(plain: ComparedCell, posterior: ComparedCell, reader: Reader) -> tuple[Any, ...]:
    asked, cell = plain.question, plain.answer
    setting, paper = published_setting(asked.dataset), plain.paper.value if plain.paper else None
    head = (asked.dataset, asked.backbone, asked.protocol)
    fixed = at_setting(cell, setting, reader) if cell else None
    gain = plain.against(replace(plain, answer=fixed)).gain
    if cell is None or fixed is None or gain is None:
        return (*head, NOT_RUN, *setting.values(), None, paper, *[None] * 7, None, posterior.paper_gain, 0, None)
    before, after = (one.accuracy.interval.mean for one in (fixed, cell))
    published = (*setting.values(), before, paper, before - paper if paper is not None else None)
    searched = (cell.chosen.lr, cell.chosen.weight_decay, after, gain.mean, gain.interval.low, gain.interval.high)
    fair = posterior.gain if posterior.reads in ("more", "less", "open") else None
    gains = (fair.mean if fair else None, posterior.paper_gain)
    return (*head, "run", *published, *searched, *gains, len(cell.rows), cell.spent.text)


def _readable(record: dict[str, Any]) -> tuple[Any, ...]:
    names = (dataset_label(record["dataset"]), backbone_label(record["backbone"]))
    setting = "{published_lr:g}, {published_weight_decay:g}".format(**record)
    gains = (record["postel_gain"], record["paper_postel_gain"], record["splits"])
    if record["state"] == NOT_RUN:
        return (*names, setting, None, record["paper"], None, NOT_RUN, None, None, None, *gains)
    published = (setting, record["published"], record["paper"], record["difference"])
    chosen = "{lr:g}, {weight_decay:g}".format(**record)
    span = "[{low:+z.2f}, {high:+z.2f}]".format(**record)
    return (*names, *published, chosen, record["searched"], record["gain"], span, *gains)


def _mean(lines: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The mean of every column of numbers over the lines that have all of them; nothing if these are not two."""
    full = [line[2:-1] for line in lines if None not in line]
    if len(full) < 2:
        return []
    means = [None if isinstance(column[0], str) else fmean(column) for column in zip(*full, strict=True)]
    return [(f"mean of {len(full)} graphs", None, *means, None)]
