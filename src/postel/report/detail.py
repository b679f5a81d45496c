"""What a page shows when a cell is clicked: plain values that its script draws, small enough for hundreds."""

from __future__ import annotations

from typing import Any

from postel.experiments.results import Cell, Row
from postel.experiments.spec import RunSpec
from postel.paper.compared import ComparedCell
from postel.paper.names import backbone_label, dataset_label
from postel.paper.published import remark
from postel.paper.variants import pseudo_labels_in_words
from postel.settings import METRIC_NAMES

# A curve is some 300 pixels wide: more points than this cannot be told apart.
_CURVE_POINTS = 60
_LARGEST_MATRIX = 20

#: How well a model ranks nodes, which rows of version 0.1 do not have.
RANKING = ("roc_auc", "average_precision")


def detail_of(line: ComparedCell, store: str) -> dict[str, Any]:
    """Return the detail of one cell as plain values.

    Args:
        line: The cell with its baseline and the paper's figure.
        store: The store that the command shown is to use.

    Returns:
        The values by the names that the page's script reads.
    """
    cell, question, span = line.cell, line.question, line.cell.accuracy.interval
    return {
        "title": f"{dataset_label(question.dataset)} · {backbone_label(question.backbone)} · {line.variant.label}",
        "about": f"{question.protocol} splits, {question.recipe} recipe; {cell.spent.text}",
        "warnings": _warnings(line),
        "numbers": _numbers(line),
        "chosen": _chosen(cell),
        "points": _points(line),
        "majority": _rounded(cell.majority),
        "mean": [_rounded(value) for value in (span.mean, span.low, span.high)],
        "difference": _difference(line),
        "curves": {"split": cell.rows[0].split, **curves_of(cell.rows[0])},
        "matrices": matrices_of(cell.rows[0]),
        "command": command_of(cell, store),
        "runs": list(cell.run_keys),
    }


def command_of(cell: Cell, store: str) -> str:
    """Return a command that runs the cell, or reads it from the store if it is there.

    Args:
        cell: The cell.
        store: The store to use.

    Returns:
        The command line.
    """
    question, chosen = cell.question, cell.chosen
    if cell.target.startswith(("table-", "figure-")):
        parts = [f"postel reproduce {cell.target} --dataset {question.dataset} --backbone {question.backbone}"]
    elif cell.target:
        parts = [f"postel tune {question.dataset} --backbone {question.backbone} --method {question.method.name}"]
    else:
        given = chosen.method.as_stored().params
        params = ",".join(f"{name}={_shown(value)}" for name, value in given.items())
        method = f"{chosen.method.name}:{params}" if params else chosen.method.name
        sets = "".join(f" --set {name}={_shown(value)}" for name, value in chosen.backbone_args.items())
        parts = [
            f"postel compare {question.dataset} -m one_hot -m {method} --backbone {question.backbone}{sets}",
            f"--lr {_shown(chosen.lr)} --weight-decay {_shown(chosen.weight_decay)}",
        ]
    parts.append(f"--splits {len(cell.rows)}")
    if cell.target and question.budget is not None:
        amount = f"{question.budget.amount:g}{'m' if question.budget.kind == 'minutes' else ''}"
        parts.append(f"--budget {amount if question.budget.amount else question.budget.kind}")
    if question.protocol != "paper":
        parts.append(f"--protocol {question.protocol}")
    if chosen.max_epochs != RunSpec.model_fields["max_epochs"].default:
        parts.append(f"--max-epochs {chosen.max_epochs}")
    return " ".join([*parts, f"--store {store}"])


def curves_of(row: Row) -> dict[str, Any]:
    """Return the losses of the best round against the true labels, thinned out.

    Args:
        row: A run; its curves are empty if its rounds were not stored.

    Returns:
        The epochs shown, the best epoch, and the losses by set of nodes.
    """
    best = row.best_round
    if best is None:
        return {"epochs": [], "best": row.result.best_epoch, "loss": {}}
    losses = {name: best.loss(name) for name in best.curves["loss"] if best.loss(name)}
    length = min(map(len, losses.values()), default=0)
    places = thinned(length, _CURVE_POINTS, keep=best.best_epoch - 1)
    return {
        "epochs": [place + 1 for place in places],
        "best": best.best_epoch,
        "loss": {name: [float(f"{curve[place]:.4g}") for place in places] for name, curve in losses.items()},
    }


def thinned(length: int, points: int, keep: int) -> list[int]:
    """Choose evenly spaced points of a curve, with both ends and one point that has to stay.

    Args:
        length: How many points the curve has.
        points: How many of them are wanted.
        keep: The point that has to stay.

    Returns:
        At most ``points`` + 1 positions, in order.

    Example:
        >>> thinned(9, 3, keep=5)
        [0, 4, 5, 8]
    """
    if length <= points:
        return list(range(length))
    even = {round(step * (length - 1) / (points - 1)) for step in range(points)}
    return sorted(even | ({keep} if 0 <= keep < length else set()))


def matrices_of(row: Row) -> list[dict[str, Any]]:
    """Return P(neighbor's class | class) from training labels and, where they helped, with pseudo-labels.

    Args:
        row: A run; it has no matrices if its rounds were not stored.

    Returns:
        The title and the values of each matrix.
    """
    return [
        {
            "title": f"with pseudo-labels of round {number}" if number else "from training labels",
            "values": [[round(value, 3) for value in line] for line in matrix],
        }
        for number, matrix in row.conditionals
        if len(matrix) <= _LARGEST_MATRIX
    ]


def _warnings(line: ComparedCell) -> list[str]:
    cell, question, splits = line.cell, line.question, line.cell.accuracy.splits
    warnings = []
    if cell.collapsed:
        warnings.append(f"{cell.collapsed} of {splits} models predict one class for every test node.")
    if not line.beats_majority:
        warnings.append(
            f"A constant answer, the majority class, is right in {cell.majority:.2f} %: this does not beat it."
        )
    if line.paper_is_majority:
        warnings.append("The paper's figure is, to two decimals, that of always predicting the majority class.")
    if splits == 1:
        warnings.append("One split only: there is no interval and no test.")
    warnings.append(remark(question.backbone, question.method.name, question.dataset) if line.paper else "")
    return list(filter(None, warnings))


def _numbers(line: ComparedCell) -> list[tuple[str, str]]:
    cell, span = line.cell, line.cell.accuracy.interval
    paper = [] if line.paper is None else [("the paper's accuracy", f"{line.paper} %".replace("±", "± "))]
    sure = "" if span.single else f" [{span.low:.2f}, {span.high:.2f}]"
    return [
        ("accuracy", f"{span.mean:.2f} %{sure}"),
        *paper,
        ("majority class", f"{cell.majority:.2f} %"),
        ("macro-F1", f"{cell.score('macro_f1').mean:.2f} %"),
        *((METRIC_NAMES[key], f"{cell.score(key).mean:.2f} %") for key in RANKING if cell.has(key)),
        ("balanced accuracy", f"{cell.score('balanced_accuracy').mean:.2f} %"),
        ("calibration error", f"{cell.score('ece').mean:.2f} %"),
        ("test loss", f"{cell.score('nll').mean / 100:.3f}"),
        ("rounds that helped", f"{cell.mean('improved_rounds'):.1f}"),
        ("trainings per split", f"{cell.mean('trainings'):.1f}"),
        ("seconds per split", f"{cell.mean('seconds'):.1f}"),
    ]


def _chosen(cell: Cell) -> list[tuple[str, str]]:
    """Return names and values of what was chosen or given, the budget first."""
    chosen = [("budget", cell.spent.text)]
    if cell.validation:
        metric = cell.question.metric
        score, loss = 100 * cell.validation[metric], cell.validation["loss"]
        chosen.append(("on validation", f"{METRIC_NAMES[metric]} {score:.2f} %, loss {loss:.3f}"))
    params = cell.chosen.method.make().params()
    chosen += [(name, _shown(value)) for name, value in params.items() if value is not None]
    chosen.append(("pseudo-labels", pseudo_labels_in_words(cell.question.pseudo_labels)))
    for name, value in cell.chosen.training().items():
        if isinstance(value, dict):
            chosen += [(f"{cell.question.backbone} {key}", _shown(inner)) for key, inner in value.items()]
        else:
            chosen.append((name.replace("_", " "), _shown(value)))
    return chosen


def _points(line: ComparedCell) -> list[list[Any]]:
    """Return split, accuracy, accuracy of one-hot labels or None, and whether it collapsed, for every split."""
    baseline = {} if line.baseline is None else line.baseline.cell.accuracy.by_split
    return [
        [
            row.split,
            _rounded(row.percent("accuracy")),
            _rounded(baseline[row.split]) if row.split in baseline else None,
            row.collapsed,
        ]
        for row in line.cell.rows
    ]


def _difference(line: ComparedCell) -> dict[str, Any] | None:
    gain = line.gain
    if gain is None:
        return None
    span = {name: _rounded(getattr(gain.interval, name)) for name in ("mean", "low", "high")}
    resampled = [_rounded(gain.resampled.low), _rounded(gain.resampled.high)]
    tests = {"p": gain.p_value, "smallest": gain.smallest_p, "corrected": _rounded(gain.corrected)}
    return {**span, "resampled": resampled, **tests, "splits": gain.splits}


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rounded(value: float) -> float:
    """Round to five digits, enough for any plot."""
    return float(f"{value:.5g}")
