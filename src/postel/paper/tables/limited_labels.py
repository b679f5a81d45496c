"""The paper's table of accuracies with a tenth of the training labels."""

from __future__ import annotations

from postel.paper.accuracy import GcnTable
from postel.paper.names import FOUR_DATASETS
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED, POSTEL_WITHOUT_IPL


class TableLimitedLabels(GcnTable):
    """GCN on one-hot labels, and on PosteL's without and with iterative pseudo-labelling; then three others."""

    title = "Test accuracy with a tenth of the training labels"
    datasets = FOUR_DATASETS
    variants = (ONE_HOT, POSTEL_WITHOUT_IPL, POSTEL, LS, POSTEL_AS_RELEASED, CALIBRATED)
    protocol = "limited"
