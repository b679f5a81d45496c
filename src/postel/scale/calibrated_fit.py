"""The exponents of a calibrated posterior, fitted on the driver from the counts of training nodes."""

from __future__ import annotations

from functools import partial

import numpy as np

from postel.exponents import LARGEST, Exponents, Vector, newton_in_box
from postel.scale.calibrated_kernel import CalibratedModel, log_parts
from postel.scale.kernel import Counts, Floats


def fitted_exponents(histograms: Counts, own: Counts, model: CalibratedModel) -> Exponents:
    """Fit the exponents by maximum likelihood on the nodes' own labels, as the in-memory method does.

    Args:
        histograms: Neighbors and centers by class of some training nodes, in the order of their ids, [R, 2K].
        own: Their classes, [R].
        model: The counts and settings; its exponents are not looked at.

    Returns:
        The exponents.

    Example:
        >>> from postel.settings import CalibratedSettings
        >>> counts = np.array([[1, 0, 1, 0], [2, 0, 2, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
        >>> pairs = np.array([[6, 2], [2, 6]])
        >>> model = CalibratedModel(np.array([2, 2]), pairs, (1, 1, 0), CalibratedSettings(calibration="none"))
        >>> str(fitted_exponents(counts, np.array([0, 0, 1, 1]), model))
        'prior^1 sum^1 mean^0'
    """
    calibration = model.settings.calibration
    if calibration == "none":
        return Exponents()
    # Each class less the node's own: the loss is the logarithm of a sum of exponentials of these.
    parts = [part - part[np.arange(own.size), own, None] for part in log_parts(histograms, own, model)]
    if calibration == "temperature":
        together = [parts[0] + parts[1]]
        common = newton_in_box(partial(_value, together), partial(_derivatives, together), (1.0,), LARGEST[:1])[0]
        return Exponents(common, common, 0.0)
    return Exponents(
        *newton_in_box(partial(_value, parts), partial(_derivatives, parts), (1.0, 1.0, 0.0), LARGEST)
    )


def _value(parts: list[Floats], x: Vector) -> float:
    logits = _combined(parts, x)
    top = logits.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))).mean())


def _derivatives(parts: list[Floats], x: Vector) -> tuple[Vector, Vector]:
    logits = _combined(parts, x)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    means = [(part * weights).sum(axis=1, keepdims=True) for part in parts]
    # Differences from the mean first: a difference of second moments need not be positive in floating point.
    apart = [part - mean for part, mean in zip(parts, means, strict=True)]
    curvature = [[float((a * weights * b).sum()) for b in apart] for a in apart]
    return np.array([float(mean.mean()) for mean in means]), np.array(curvature) / weights.shape[0]


def _combined(parts: list[Floats], x: Vector) -> Floats:
    total: Floats = sum(weight * part for weight, part in zip(x, parts, strict=True))
    return total
