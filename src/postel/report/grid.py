"""The tables of a report: the paper's grid with ours in it, and how each method fares against one-hot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postel.experiments.comparison import BASELINE
from postel.paper.names import BACKBONES, DATASETS, backbone_label
from postel.paper.published import Carried
from postel.paper.registry import find_target, target_names
from postel.report.cells import METHOD_TITLES
from postel.report.lines import Line
from postel.report.paper_figures import figure_at, is_majority

_MAIN = "table-main"
#: What the studies of a store are called; others by their name.
_TITLES = {"": "Comparisons at given settings", _MAIN: "Main table", "tune": "Searches"}


@dataclass(frozen=True)
class Spot:
    """One place of a grid: our line if it was run, the paper's figure if it has one, and marks."""

    line: Line | None
    paper: Carried | None
    best: bool = False
    others: int = 0
    paper_is_majority: bool = False


@dataclass(frozen=True)
class GridRow:
    """A backbone and method over all datasets of a grid."""

    backbone: str
    backbone_title: str
    method: str
    title: str
    order: int
    spots: list[Spot]


@dataclass(frozen=True)
class Column:
    """A dataset of a grid, with the share of its majority class in percent where a run tells it."""

    dataset: str
    run: bool
    majority: float | None


@dataclass(frozen=True)
class Grid:
    """One study as a table of backbones and methods by datasets; ``whole`` if it has all places of the paper's."""

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
        """The budgets of its numbers, in order of appearance; a mark stands for each where there are several."""
        return list(dict.fromkeys(line.cell.budget_told for line in self.lines))

    @property
    def splits(self) -> str:
        """How many splits its means are over, in words."""
        few, many = min(line.splits for line in self.lines), max(line.splits for line in self.lines)
        return f"{many} split{'s' if many > 1 else ''}" if few == many else f"{few} to {many} splits"

    @property
    def training(self) -> str:
        """How its networks were trained, in words; what differs between cells is in their details."""
        names = {"max_epochs": "at most {} epochs", "stopping": "stop rule {}", "window": "window {}"}
        if all(line.cell.budget["kind"] == "fixed" for line in self.lines):
            names = {"lr": "learning rate {}", "weight_decay": "weight decay {}", **names}
        told = []
        for name, words in names.items():
            values = dict.fromkeys(f"{line.cell.settings[name]}" for line in self.lines)
            told.append(words.format(" or ".join(values)))
        return ", ".join(told)

    @property
    def backbones_run(self) -> set[str]:
        """The backbones with a cell that was run."""
        return {line.cell.backbone for line in self.lines}

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
    """How one method fares against one-hot over the cells of a study, in points of accuracy."""

    method: str
    title: str
    cells: int
    gain: float
    better: int
    worse: int
    collapsed: int
    paper_cells: int
    paper_gain: float | None


def grids_of(lines: Sequence[Line]) -> list[Grid]:
    """A grid for every study of the lines, the paper's main table first."""
    studies: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        studies.setdefault(line.cell.study, []).append(line)
    ordered = sorted(studies.items(), key=lambda item: (item[0][0] != _MAIN, not item[0][0], item[0]))
    return [_grid(study, found) for study, found in ordered]


def standings_of(lines: Iterable[Line]) -> list[Standing]:
    """A standing for every method (and variant) that is compared with one-hot somewhere."""
    by_title: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: _method_order(line.cell.method.name)):
        if line.difference is not None:
            by_title.setdefault(line.cell.title, []).append(line)
    return [_standing(title, found) for title, found in by_title.items()]


def _grid(study: tuple[str, str, str], lines: list[Line]) -> Grid:
    target, protocol, recipe = study
    has_paper = any(line.paper for line in lines)
    whole = has_paper and target == _MAIN
    datasets = _ordered((line.cell.dataset for line in lines), DATASETS, whole=whole)
    # Of several cells of one method the weightiest stands in the grid; all are in the list below.
    held: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        held.setdefault((line.cell.backbone, line.cell.title, line.cell.dataset), []).append(line)
    models = _models(lines, whole=whole)
    majorities = {dataset: _majority(lines, dataset) for dataset in datasets}
    rows = []
    for order, (backbone, method, title) in enumerate(models):
        spots = []
        for dataset in datasets:
            found = held.get((backbone, title, dataset), [])
            chosen = max(found, key=_weight) if found else None
            plain = has_paper and title == METHOD_TITLES.get(method)
            paper = figure_at(backbone, method, dataset) if plain else None
            share, splits = majorities[dataset]
            spots.append(
                Spot(
                    chosen,
                    paper,
                    best=chosen is not None and chosen is _best(lines, backbone, dataset),
                    others=max(0, len(found) - 1),
                    paper_is_majority=share is not None and is_majority(paper, share, splits),
                )
            )
        rows.append(GridRow(backbone, backbone_label(backbone), method, title, order, spots))
    run = {line.cell.dataset for line in lines}
    columns = [Column(dataset, dataset in run, majorities[dataset][0]) for dataset in datasets]
    return Grid(_title(target), protocol, recipe, has_paper, whole, columns, rows, lines)


def _title(target: str) -> str:
    """What a study is called.

    >>> _title("table-ablation")
    'table-ablation: Test accuracy with parts of PosteL left out'
    """
    if target in _TITLES:
        return _TITLES[target]
    return f"{target}: {find_target(target).title}" if target in target_names() else target


def _models(lines: Sequence[Line], *, whole: bool) -> list[tuple[str, str, str]]:
    """(backbone, method, title) of every row, in the paper's order; all of the paper's with ``whole``."""
    backbones = _ordered((line.cell.backbone for line in lines), BACKBONES, whole=whole)
    models = []
    for backbone in backbones:
        run = {(line.cell.method.name, line.cell.title) for line in lines if line.cell.backbone == backbone}
        found = {*METHOD_TITLES.items(), *run} if whole else run
        in_order = sorted(found, key=lambda model: (_method_order(model[0]), "(" in model[1], model[1]))
        models += [(backbone, method, title) for method, title in in_order]
    return models


def _best(lines: Iterable[Line], backbone: str, dataset: str) -> Line | None:
    rivals = [line for line in lines if (line.cell.backbone, line.cell.dataset) == (backbone, dataset)]
    return max(rivals, key=lambda line: line.accuracy.mean) if len(rivals) > 1 else None


def _weight(line: Line) -> tuple[int, float, int]:
    """How much there is behind a line: splits, then trials; of equals the last weighs most."""
    return line.splits, float(line.cell.budget["trials"]), line.number


def _majority(lines: Iterable[Line], dataset: str) -> tuple[float | None, int]:
    """The majority class's share over the most splits that any line has, and how many those are."""
    found = max(
        (line for line in lines if line.cell.dataset == dataset), key=lambda line: line.splits, default=None
    )
    return (None, 0) if found is None else (found.majority, found.splits)


def _standing(title: str, lines: list[Line]) -> Standing:
    gains = [line.difference.interval.mean for line in lines if line.difference is not None]
    papers = [gain for line in lines if (gain := _paper_gain(line)) is not None]
    return Standing(
        method=lines[0].cell.method.name,
        title=title,
        cells=len(lines),
        gain=sum(gains) / len(gains),
        better=sum(line.verdict == "better" for line in lines),
        worse=sum(line.verdict == "worse" for line in lines),
        collapsed=sum(line.has_collapsed for line in lines),
        paper_cells=len(papers),
        paper_gain=sum(papers) / len(papers) if papers else None,
    )


def _paper_gain(line: Line) -> float | None:
    """What the paper's method gains over the paper's one-hot row at this place."""
    base = figure_at(line.cell.backbone, BASELINE, line.cell.dataset)
    return None if line.paper is None or base is None else line.paper.value - base.value


def _ordered(found: Iterable[str], known: Iterable[str], *, whole: bool) -> list[str]:
    """Names in the known order, those that are not known after them; all known ones with ``whole``."""
    names = dict.fromkeys(found)
    first = [name for name in known if whole or name in names]
    return [*first, *(name for name in names if name not in first)]


def _method_order(name: str) -> int:
    names = list(METHOD_TITLES)
    return names.index(name) if name in names else len(names)
