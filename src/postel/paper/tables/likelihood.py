"""The paper's table of likelihood models: every edge alike, every node alike, or each node's own ego graph."""

from __future__ import annotations

from postel.paper.accuracy import GcnTable
from postel.paper.names import EIGHT_DATASETS
from postel.paper.variants import ONE_HOT, POSTEL, POSTEL_LOCAL, POSTEL_NORMALIZED


class TableLikelihood(GcnTable):
    """GCN with PosteL's likelihood estimated in four ways."""

    title = "Test accuracy with other likelihood models"
    datasets = EIGHT_DATASETS
    variants = (ONE_HOT, *POSTEL_LOCAL, POSTEL_NORMALIZED, POSTEL)
