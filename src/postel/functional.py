"""Every soft-label method as a pure function of labels, edges and settings.

Each function is what the transform of the same method calls: ``posterior_soft_labels`` is :class:`~postel.PosteL`
without the ``Data`` around it, and so on.
"""

from __future__ import annotations

from postel.smoothers.als import als_soft_labels
from postel.smoothers.calibrated import calibrated_soft_labels
from postel.smoothers.distillation import distillation_soft_labels
from postel.smoothers.one_hot import one_hot_soft_labels
from postel.smoothers.postel import posterior_soft_labels
from postel.smoothers.sals import sals_soft_labels
from postel.smoothers.uniform import uniform_soft_labels

__all__ = [
    "als_soft_labels",
    "calibrated_soft_labels",
    "distillation_soft_labels",
    "one_hot_soft_labels",
    "posterior_soft_labels",
    "sals_soft_labels",
    "uniform_soft_labels",
]
