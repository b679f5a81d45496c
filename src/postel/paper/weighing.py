"""Models that are told the class shares of the validation nodes: their probabilities, weighted after training.

The paper's splits train on the same number of nodes of every class, as far as there are enough, so that validation
and test nodes have other shares of the classes than training nodes. Soft labels make models unsure of themselves,
and the same weights move an unsure model further, so that a temperature comes first.
"""

from __future__ import annotations

from torch import Tensor

from postel.errors import InputError
from postel.experiments.results import Row
from postel.experiments.running.execute import fit_spec
from postel.training.class_shares import class_weights
from postel.training.temperature import fit_temperature


def weigh(row: Row, data_root: str | None = None) -> dict[str, list[float]]:
    """Train a run again, for rows hold no probabilities, scale these by a temperature, and weigh them.

    Temperature and class shares are those of the validation nodes.

    Args:
        row: The run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        In percent: ``plain`` and ``weighted``, the accuracies on validation and test nodes, and ``largest``, the
        shares of training and test nodes of the class that most test nodes have.

    Raises:
        InputError: If it does not come out again, as on another kind of machine.
    """
    model, data = fit_spec(row.spec, data_root)
    logits = model.logits_.double()
    train, val, test = (data.y[mask] for mask in (data.train_mask, data.val_mask, data.test_mask))

    def accuracies(scores: Tensor) -> list[float]:
        right = scores.argmax(dim=1) == data.y
        return [_percent(right[data.val_mask]), _percent(right[data.test_mask])]

    plain = accuracies(logits)
    if row.result.test is None or abs(plain[1] - 100 * row.result.test.accuracy) > 1e-9:
        raise InputError(
            f"the run on {row.spec.dataset}, split {row.spec.split}, does not come out again here: its accuracy "
            f"is {plain[1]:.2f}; fill a store on this machine, with postel reproduce table-main for instance"
        )
    probabilities = (logits / fit_temperature(logits[data.val_mask], val)).softmax(dim=1)
    weighted = accuracies(probabilities * class_weights(train, val, logits.shape[1]))
    common = test.mode().values
    return {"largest": [_percent(train == common), _percent(test == common)], "plain": plain, "weighted": weighted}


def _percent(flags: Tensor) -> float:
    return 100 * flags.double().mean().item()
