"""The paper's ablation: posterior smoothing (PS), uniform noise (UN) and pseudo-labelling (IPL), in and out."""

from __future__ import annotations

from dataclasses import replace

from postel.paper.accuracy import GcnTable
from postel.paper.names import EIGHT_DATASETS
from postel.paper.variants import (
    LS,
    ONE_HOT,
    POSTEL,
    POSTEL_ONE_ROUND,
    POSTEL_WITHOUT_IPL,
    POSTEL_WITHOUT_NOISE,
    POSTEL_WITHOUT_NOISE_IPL,
)


class TableAblation(GcnTable):
    """GCN with every combination of PosteL's parts."""

    title = "Test accuracy with parts of PosteL left out"
    datasets = EIGHT_DATASETS
    variants = (
        replace(ONE_HOT, label="none (one-hot)"),
        POSTEL_WITHOUT_NOISE_IPL,
        # The paper's figures of noise alone are those of its label smoothing row, to the last digit.
        replace(LS, label="UN (LS)"),
        POSTEL_WITHOUT_NOISE,
        replace(POSTEL_WITHOUT_IPL, label="PS + UN"),
        replace(POSTEL_ONE_ROUND, label="PS + UN + one round"),
        replace(POSTEL, label="PS + UN + IPL"),
    )
    notes = (
        "PS: posterior smoothing; UN: uniform noise, alone the same as label smoothing; IPL: pseudo-labelling.",
    )
