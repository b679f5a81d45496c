from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from postel import PosteL
from postel.theory import compare_with_sals, toy_graph, work_through
from postel.theory.plots import draw_sals_comparison, draw_toy
from postel.theory.toy import TARGET


@pytest.mark.parametrize("pseudo_labels", [False, True])
def test_the_steps_end_at_the_transforms_soft_label(pseudo_labels: bool) -> None:
    data, smoother = toy_graph(), PosteL(0.8, 0.4)
    out = smoother.with_pseudo_labels(data, data.y) if pseudo_labels else smoother(data)
    step = work_through(0.8, 0.4, pseudo_labels=pseudo_labels)
    assert torch.allclose(step.soft_label.to(torch.float32), out.soft_y[TARGET])


def test_every_step_by_hand() -> None:
    step = work_through(0.5, 0.5)
    assert step.class_counts.tolist() == [4, 3]
    assert step.pair_counts.tolist() == [[2, 7], [7, 2]]
    likelihood = [Fraction(7, 9) ** 3, Fraction(2, 9) ** 3]
    joint = [likelihood[0] * Fraction(4, 7), likelihood[1] * Fraction(3, 7)]
    posterior = joint[0] / sum(joint)
    noisy = (posterior + Fraction(1, 4)) / Fraction(3, 2)
    soft = noisy / 2 + Fraction(1, 2)
    assert step.likelihood.tolist() == pytest.approx([float(v) for v in likelihood])
    assert step.posterior[0].item() == pytest.approx(float(posterior))
    assert step.noisy[0].item() == pytest.approx(float(noisy))
    assert step.soft_label[0].item() == pytest.approx(float(soft))


def test_methods_agree_where_like_links_to_like_and_part_where_it_does_not() -> None:
    comparison = compare_with_sals(0.8, 0.2)
    majority = comparison.sals.argmax(dim=1)
    assert torch.equal(comparison.posterior_homophilic.argmax(dim=1), majority)
    assert torch.equal(comparison.posterior_heterophilic.argmax(dim=1), 1 - majority)
    first, second, third = comparison.posterior_heterophilic[:, 0].tolist()
    assert first > second  # Lemma 3: same degree, more neighbors of class 0
    assert third > first  # Lemma 4: as many neighbors of class 0, higher degree


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize("draw", [draw_toy, draw_sals_comparison])
def test_pictures_are_written_whole_and_the_same_each_time(draw: object, ending: str, tmp_path: Path) -> None:
    first = draw(tmp_path / f"one.{ending}")  # type: ignore[operator]
    second = draw(tmp_path / f"two.{ending}")  # type: ignore[operator]
    start = b"\x89PNG" if ending == "png" else b"<?xml"
    assert first.read_bytes().startswith(start)
    assert len(first.read_bytes()) > 10_000
    assert ending == "svg" or first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"one.{ending}", f"two.{ending}"]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.png or \.svg, got toy\.pdf"):
        draw_toy(tmp_path / "toy.pdf")
