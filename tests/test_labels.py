from __future__ import annotations

import pytest
import torch

from postel import KnownLabels


def test_from_mask_reads_nothing_outside_the_mask() -> None:
    mask = torch.tensor([True, False, True, False])
    known = KnownLabels.from_mask(torch.tensor([1, -7, 0, 10**9]), mask)
    assert known.index.tolist() == [0, 2]
    assert known.classes.tolist() == [1, 0]
    assert known.num_classes == 2
    assert known.dense().tolist() == [1, -1, 0, -1]


def test_pseudo_labels_replace_earlier_ones_and_keep_training_labels() -> None:
    known = KnownLabels.from_index(torch.tensor([2, 0]), torch.tensor([1, 0]), num_nodes=5)
    first = known.with_pseudo(torch.tensor([4]), torch.tensor([1]))
    second = first.with_pseudo(torch.tensor([3, 1]), torch.tensor([0, 1]))
    assert second.dense().tolist() == [0, 1, 1, 0, -1]
    assert second.is_train.tolist() == [True, False, True, False]
    assert second.train_only().dense().tolist() == known.dense().tolist()


@pytest.mark.parametrize(
    ("y", "mask", "num_classes", "says"),
    [
        (torch.tensor([[0], [1]]), torch.tensor([True, True]), None, "y must be a tensor of shape"),
        (torch.tensor([0, 1]), torch.tensor([1, 1]), None, "boolean tensor"),
        (torch.tensor([0, 1]), [True, True], None, "boolean tensor"),
        (
            torch.tensor([0, 1]),
            torch.tensor([True]),
            None,
            r"boolean tensor of shape \[2\], got bool of shape \[1\]",
        ),
        (torch.tensor([0, 1]), torch.tensor([False, False]), None, "no training node"),
        (torch.tensor([0, 0]), torch.tensor([True, True]), None, "at least 2 classes"),
        (torch.tensor([0, 3]), torch.tensor([True, True]), 3, r"lie in \[0, 2\], got 3"),
        (torch.tensor([0, -1]), torch.tensor([True, True]), 3, "must not be negative"),
        (torch.tensor([0.0, 1.0]), torch.tensor([True, True]), None, "integer tensor"),
        (torch.tensor([0, 1]), torch.tensor([True, True]), 2.0, "whole number"),
    ],
)
def test_bad_training_labels_are_refused(y: object, mask: object, num_classes: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        KnownLabels.from_mask(y, mask, num_classes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("index", "classes", "says"),
    [
        ([0], [1], "must not name training nodes"),
        ([1, 1], [1, 1], "named twice"),
        ([4], [0], r"node ids must lie in \[0, 3\]"),
        ([1], [2], r"lie in \[0, 1\], got 2"),
        ([1, 2], [0], "2 nodes but 1 classes"),
    ],
)
def test_bad_pseudo_labels_are_refused(index: list[int], classes: list[int], says: str) -> None:
    known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=4)
    with pytest.raises(ValueError, match=says):
        known.with_pseudo(torch.tensor(index), torch.tensor(classes))
