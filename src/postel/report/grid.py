"""The tables of a page: backbones and methods by datasets, and how each method fares against one-hot labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postel.experiments.results import Cell
from postel.paper.lines import Line
from postel.paper.names import BACKBONES, DATASETS, backbone_label
from postel.paper.published import Published, published_main
from postel.paper.registry import find_target, target_names
from postel.paper.variants import BASELINE, METHOD_TITLES

_MAIN = "table-main"
#: What the studies of a store are called; others by their name.
_TITLES = {"": "Comparisons at given settings", _MAIN: "Main table", "tune": "Searches"}


@dataclass(frozen=True)
class Spot:
    """One place of a grid.

    Args:
        line: Our line; None if it was not run.
        paper: The paper's figure; None if it has none.
        best: Whether ours is the highest mean of its backbone and dataset.
        others: How many further cells of the same method there are.
        paper_is_majority: Whether the paper's figure is that of a constant answer.
    """

    line: Line | None
    paper: Published | None
    best: bool = False
    others: int = 0
    paper_is_majority: bool = False


@dataclass(frozen=True)
class GridRow:
    """A backbone and method over all datasets of a grid.

    Args:
        backbone: The network's name.
        method: The method's name.
        title: The method's title with its variant.
        order: Its place in the grid.
        spots: One place per dataset.
    """

    backbone: str
    method: str
    title: str
    order: int
    spots: list[Spot]

    @property
    def backbone_title(self) -> str:
        """The network as the paper spells it."""
        return backbone_label(self.backbone)


@dataclass(frozen=True)
class Column:
    """A dataset of a grid.

    Args:
        dataset: Its name.
        majority: The share of its majority class in percent; None if nothing was run on it.
        splits: How many splits that share is over.
    """

    dataset: str
    majority: float | None = None
    splits: int = 0

    @property
    def run(self) -> bool:
        """Whether anything was run on it."""
        return self.majority is not None


@dataclass(frozen=True)
class Grid:
    """The cells of one study as a table.

    Args:
        title: What the study is called.
        protocol: How nodes are split.
        recipe: How graphs are prepared.
        has_paper: Whether any cell can be held against the paper.
        whole: Whether the grid has all places of the paper's main table.
        columns: Its datasets.
        rows: Its backbones and methods.
        lines: All lines of the study, also those that share a place.
    """

    title: str
    protocol: str
    recipe: str
    has_paper: bool
    whole: bool
    columns: list[Column]
    rows: list[GridRow]
    lines: list[Line]

    @property
    def budgets(self) -> list[str]:
        """The budgets of its numbers, in order of appearance; a letter stands for each where there are several."""
        return list(dict.fromkeys(allowed(line.cell) for line in self.lines))

    @property
    def splits(self) -> str:
        """How many splits its means are over, in words."""
        counts = [line.score.splits for line in self.lines]
        few, many = min(counts), max(counts)
        return f"{many} split{'s' if many > 1 else ''}" if few == many else f"{few} to {many} splits"

    @property
    def training(self) -> str:
        """How its networks were trained, in words; what differs between cells is in their details."""
        names = {"max_epochs": "at most {} epochs", "stopping": "stop rule {}", "window": "window {}"}
        if not any(line.cell.was_searched for line in self.lines):
            names = {"lr": "learning rate {}", "weight_decay": "weight decay {}", **names}
        return ", ".join(
            words.format(" or ".join(dict.fromkeys(f"{getattr(line.cell.chosen, name)}" for line in self.lines)))
            for name, words in names.items()
        )

    @property
    def backbones_run(self) -> set[str]:
        """The backbones with a cell that was run."""
        return {line.cell.question.backbone for line in self.lines}

    @property
    def places(self) -> int:
        """How many places the grid has, run or not."""
        return len(self.columns) * len(self.rows)

    @property
    def filled(self) -> int:
        """How many of them were run."""
        return sum(spot.line is not None for row in self.rows for spot in row.spots)


@dataclass(frozen=True)
class Standing:
    """How one method fares against one-hot labels over the cells of a study.

    Args:
        method: The method's name.
        title: Its title with its variant.
        lines: Its lines that are compared with one-hot labels.
    """

    method: str
    title: str
    lines: list[Line]

    @property
    def gain(self) -> float:
        """The mean gain over its cells, in points."""
        return _mean([line.gain.mean for line in self.lines if line.gain is not None])

    @property
    def paper_gains(self) -> list[float]:
        """What the paper's method gains over the paper's one-hot row, where it has both."""
        found = []
        for line in self.lines:
            base = published_main().get((line.cell.question.backbone, BASELINE, line.cell.question.dataset))
            if line.paper is not None and base is not None:
                found.append(line.paper.value - base.value)
        return found

    @property
    def paper_gain(self) -> float | None:
        """The mean of the paper's gains."""
        return _mean(self.paper_gains) if self.paper_gains else None

    def count(self, verdict: str) -> int:
        """Returns how many of its cells are clearly better or worse than one-hot labels.

        Args:
            verdict: ``"better"`` or ``"worse"``.
        """
        return sum(line.verdict == verdict for line in self.lines)

    @property
    def collapsed(self) -> int:
        """How many of its cells predict one class for every test node."""
        return sum(line.cell.has_collapsed for line in self.lines)


def grids_of(lines: Sequence[Line]) -> list[Grid]:
    """Returns a grid for every study of the lines, the paper's main table first.

    Args:
        lines: The lines of a page.
    """
    studies: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        asked = line.cell.question
        studies.setdefault((line.cell.target, asked.protocol, asked.recipe), []).append(line)
    ordered = sorted(studies.items(), key=lambda item: (item[0][0] != _MAIN, not item[0][0], item[0]))
    return [_grid(*study, found) for study, found in ordered]


def standings_of(lines: Iterable[Line]) -> list[Standing]:
    """Returns a standing for every method and variant that is compared with one-hot labels somewhere.

    Args:
        lines: The lines of a study.
    """
    by_title: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: _method_order(line.cell.question.method.name)):
        if line.gain is not None:
            by_title.setdefault(line.title, []).append(line)
    return [Standing(found[0].cell.question.method.name, title, found) for title, found in by_title.items()]


def allowed(cell: Cell) -> str:
    """Returns what every method of a study was allowed; what this cell spent of it is in its own text.

    One-hot has few settings to try and often tries them all: its allowance is the same nevertheless.

    Args:
        cell: A cell.
    """
    budget, splits = cell.question.budget, cell.question.search_splits
    if budget is None or not cell.was_searched:
        return cell.spent.text
    limit = f"up to {budget.amount:g} {budget.kind}" if budget.amount else f"the full {budget.kind}"
    return f"{limit}, {splits} search split{'s' if splits != 1 else ''}"


def _grid(target: str, protocol: str, recipe: str, lines: list[Line]) -> Grid:
    has_paper = any(line.paper for line in lines)
    whole = has_paper and target == _MAIN
    datasets = _ordered((line.cell.question.dataset for line in lines), DATASETS, whole=whole)
    columns = [_column(dataset, lines) for dataset in datasets]
    # Of several cells of one method the weightiest stands in the grid; all are in the list below.
    held: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        held.setdefault((line.cell.question.backbone, line.title, line.cell.question.dataset), []).append(line)
    rows = []
    for order, (backbone, method, title) in enumerate(_models(lines, whole=whole)):
        plain = has_paper and title == METHOD_TITLES.get(method)
        spots = []
        for column in columns:
            found = held.get((backbone, title, column.dataset), [])
            chosen = max(found, key=_weight, default=None)
            paper = published_main().get((backbone, method, column.dataset)) if plain else None
            majority = paper is not None and column.run and paper.is_majority(column.majority or 0, column.splits)
            best = chosen is not None and chosen is _best(lines, backbone, column.dataset)
            spots.append(Spot(chosen, paper, best, max(0, len(found) - 1), majority))
        rows.append(GridRow(backbone, method, title, order, spots))
    return Grid(_title(target), protocol, recipe, has_paper, whole, columns, rows, lines)


def _title(target: str) -> str:
    if target in _TITLES:
        return _TITLES[target]
    return f"{target}: {find_target(target).title}" if target in target_names() else target


def _models(lines: Sequence[Line], *, whole: bool) -> list[tuple[str, str, str]]:
    """(backbone, method, title) of every row, in the paper's order; all of the paper's with ``whole``."""
    models = []
    for backbone in _ordered((line.cell.question.backbone for line in lines), BACKBONES, whole=whole):
        of_backbone = [line for line in lines if line.cell.question.backbone == backbone]
        run = {(line.cell.question.method.name, line.title) for line in of_backbone}
        found = {*METHOD_TITLES.items(), *run} if whole else run
        in_order = sorted(found, key=lambda model: (_method_order(model[0]), "(" in model[1], model[1]))
        models += [(backbone, method, title) for method, title in in_order]
    return models


def _column(dataset: str, lines: Sequence[Line]) -> Column:
    """The dataset with the majority class's share over the most splits that any line has."""
    found = [line for line in lines if line.cell.question.dataset == dataset]
    most = max(found, key=lambda line: line.score.splits, default=None)
    return Column(dataset) if most is None else Column(dataset, most.cell.majority, most.score.splits)


def _best(lines: Iterable[Line], backbone: str, dataset: str) -> Line | None:
    place = (backbone, dataset)
    rivals = [line for line in lines if (line.cell.question.backbone, line.cell.question.dataset) == place]
    return max(rivals, key=lambda line: line.score.mean) if len(rivals) > 1 else None


def _weight(line: Line) -> tuple[int, int, int]:
    """How much there is behind a line: splits, then trials; of equals the last weighs most."""
    return line.score.splits, line.cell.spent.trials, line.number


def _ordered(found: Iterable[str], known: Iterable[str], *, whole: bool) -> list[str]:
    """Names in the known order, those that are not known after them; all known ones with ``whole``."""
    names = dict.fromkeys(found)
    first = [name for name in known if whole or name in names]
    return [*first, *(name for name in names if name not in first)]


def _method_order(name: str) -> int:
    names = list(METHOD_TITLES)
    return names.index(name) if name in names else len(names)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
