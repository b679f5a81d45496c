"""What opens when a cell is clicked: plain values that the page's script draws, small enough for hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.experiments.spec import RunSpec
from postel.paper.names import backbone_label, dataset_label
from postel.report.cells import StudyCell, rounds_told
from postel.report.lines import Line, paired, percents
from postel.report.paper_figures import is_majority, remark


def detail_of(line: Line, store: str = "postel.sqlite") -> dict[str, Any]:
    """The detail of one cell as plain values."""
    cell = line.cell
    return {
        "title": f"{dataset_label(cell.dataset)} · {backbone_label(cell.backbone)} · {cell.title}",
        "about": f"{cell.protocol} splits, {cell.recipe} recipe; {cell.budget['text']}",
        "warnings": warnings_of(line),
        "numbers": numbers_of(line),
        "chosen": chosen_of(cell),
        "points": _points(line),
        "majority": _rounded(line.majority),
        "mean": [_rounded(value) for value in (line.accuracy.mean, line.accuracy.low, line.accuracy.high)],
        "difference": _difference(line),
        "curves": {"split": cell.rows[0]["spec"]["split"], **cell.rows[0]["curves"]},
        "matrices": cell.rows[0]["matrices"],
        "command": command_of(cell, store),
        "runs": [row["key"] for row in cell.rows],
    }


def warnings_of(line: Line) -> list[str]:
    """What a reader of this cell's numbers must know."""
    cell, told = line.cell, []
    if line.collapsed:
        told.append(f"{line.collapsed} of {line.splits} models predict one class for every test node.")
    if not line.beats_majority:
        told.append(
            f"A constant answer, the majority class, is right in {line.majority:.2f} %: this does not beat it."
        )
    if is_majority(line.paper, line.majority, line.splits):
        told.append("The paper's figure is, to two decimals, that of always predicting the majority class.")
    if line.splits == 1:
        told.append("One split only: there is no interval and no test.")
    told.append(remark(cell.backbone, cell.method.name, cell.dataset) if line.paper else "")
    return list(filter(None, told))


def numbers_of(line: Line) -> list[tuple[str, str]]:
    """Names and values of the cell's scores, as a reader sees them."""
    rows, accuracy = line.cell.rows, line.accuracy
    numbers = [
        ("accuracy", f"{accuracy.mean:.2f} % [{accuracy.low:.2f}, {accuracy.high:.2f}]"),
        ("majority class", f"{line.majority:.2f} %"),
        ("macro-F1", f"{line.macro_f1.mean:.2f} %"),
        ("balanced accuracy", f"{_mean(percents(rows, 'balanced_accuracy')):.2f} %"),
        ("calibration error", f"{line.ece.mean:.2f} %"),
        ("test loss", f"{_mean(percents(rows, 'nll')) / 100:.3f}"),
    ]
    if line.paper is not None:
        side = "" if line.paper.side is None else f" ± {line.paper.side:.2f}"
        numbers.insert(1, ("the paper's accuracy", f"{line.paper.value:.2f}{side} %"))
    results = [row["result"] for row in rows]
    numbers += [
        ("rounds that helped", f"{_mean([result['improved_rounds'] for result in results]):.1f}"),
        ("trainings a split", f"{_mean([result['trainings'] for result in results]):.1f}"),
        ("seconds a split", f"{_mean([result['seconds'] for result in results]):.1f}"),
    ]
    return numbers


def chosen_of(cell: StudyCell) -> list[tuple[str, str]]:
    """Names and values of what was chosen or given: the budget first, since it decides how."""
    chosen = [("budget", str(cell.budget["text"]))]
    if cell.validation:
        accuracy, loss = 100 * cell.validation["accuracy"], cell.validation["loss"]
        chosen.append(("on validation", f"accuracy {accuracy:.2f} %, loss {loss:.3f}"))
    params = cell.method.make().params()
    chosen += [(name, _shown(value)) for name, value in params.items() if value is not None]
    chosen.append(("pseudo-labels", rounds_told(cell.pseudo_labels)))
    for name, value in cell.settings.items():
        if isinstance(value, dict):
            chosen += [(f"{cell.backbone} {key}", _shown(inner)) for key, inner in value.items()]
        else:
            chosen.append((name.replace("_", " "), _shown(value)))
    return chosen


def command_of(cell: StudyCell, store: str) -> str:
    """A command that runs the cell, or takes it from the store if it is there."""
    settings = cell.settings
    params = ",".join(f"{name}={_shown(value)}" for name, value in cell.method.params.items())
    method = f"{cell.method.name}:{params}" if params else cell.method.name
    if cell.target.startswith(("table-", "figure-")):
        parts = [f"postel reproduce {cell.target} --datasets {cell.dataset} --backbones {cell.backbone}"]
    elif cell.target:
        parts = [f"postel tune {cell.dataset} --backbone {cell.backbone} --method {cell.method.name}"]
    else:
        sets = "".join(f" --set {name}={_shown(value)}" for name, value in settings["backbone_args"].items())
        parts = [
            f"postel compare {cell.dataset} -m one_hot -m {method} --backbone {cell.backbone}{sets}",
            f"--lr {_shown(settings['lr'])} --weight-decay {_shown(settings['weight_decay'])}",
        ]
    parts.append(f"--splits {len(cell.rows)}")
    if cell.target and "amount" in cell.budget:
        parts.append(f"--budget {_budget_option(cell.budget)}")
    if cell.protocol != "paper":
        parts.append(f"--protocol {cell.protocol}")
    if settings["max_epochs"] != RunSpec.model_fields["max_epochs"].default:
        parts.append(f"--max-epochs {settings['max_epochs']}")
    return " ".join([*parts, f"--store {store}"])


def _budget_option(budget: dict[str, Any]) -> str:
    if budget["kind"] in ("grid", "fixed"):
        return str(budget["kind"])
    return f"{budget['amount']:g}{'m' if budget['kind'] == 'minutes' else ''}"


def _points(line: Line) -> list[list[Any]]:
    """[split, ours, one-hot's or None, whether it predicts one class] of every split."""
    baseline = {} if line.baseline is None else {pair[0]: pair[2] for pair in paired(line.cell, line.baseline)}
    points = []
    for row, accuracy in zip(line.cell.rows, percents(line.cell.rows, "accuracy"), strict=True):
        split = row["spec"]["split"]
        base = baseline.get(split)
        points.append([split, _rounded(accuracy), None if base is None else _rounded(base), row["collapsed"]])
    return points


def _difference(line: Line) -> dict[str, Any] | None:
    if line.difference is None or line.baseline is None:
        return None
    interval, pairs = line.difference.interval, len(paired(line.cell, line.baseline))
    return {
        "mean": _rounded(interval.mean),
        "low": _rounded(interval.low),
        "high": _rounded(interval.high),
        "p": line.difference.p_value,
        "smallest": 2.0 ** (1 - pairs),
        "splits": pairs,
    }


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rounded(value: float) -> float:
    """Five digits: enough for any plot."""
    return float(f"{value:.5g}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
