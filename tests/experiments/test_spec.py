from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from postel import PosteL, UniformSmoothing
from postel.experiments.comparison import comparison_specs
from postel.experiments.search.spaces import space_of, start_of
from postel.experiments.spec import MethodSpec, RunSpec


def spec(**changes: Any) -> RunSpec:
    values = {"dataset": "karate", "fingerprint": "f", "method": MethodSpec(name="postel", params={"alpha": 0.5})}
    return RunSpec(**{**values, **changes})


def test_the_key_never_changes_between_processes_and_releases() -> None:
    """A changed key would make every kept result invisible: change it only with the store's schema."""
    assert spec().key == "e5ff8f4c33cb26c6c3f35e3e"


def test_every_setting_changes_the_key() -> None:
    changes: list[dict[str, Any]] = [
        {"dataset": "cora"},
        {"fingerprint": "g"},
        {"protocol": "stratified"},
        {"split": 1},
        {"recipe": "sound"},
        {"backbone": "mlp"},
        {"backbone_args": {"hidden": 8}},
        {"method": MethodSpec(name="postel", params={"alpha": 0.6})},
        {"pseudo_labels": True},
        {"lr": 0.05},
        {"weight_decay": 0.0},
        {"max_epochs": 10},
        {"stopping": "patience"},
        {"window": 10},
        {"seed": 1},
        {"batch_size": 8},
        {"device": "cuda"},
    ]
    assert {next(iter(change)) for change in changes} == set(RunSpec.model_fields)
    assert len({spec().key, *(spec(**change).key for change in changes)}) == len(changes) + 1


def test_a_spec_survives_json() -> None:
    again = RunSpec.model_validate_json(spec(pseudo_labels=3).model_dump_json())
    assert again == spec(pseudo_labels=3) and again.key == spec(pseudo_labels=3).key


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("postel", PosteL(0.8, 0.4)),
        ("postel:alpha=0.6,beta=0.8", PosteL(0.6, 0.8)),
        ("postel:likelihood=local,hops=2", PosteL(0.8, 0.4, likelihood="local", hops=2)),
        ("postel_as_released:alpha=0.6", PosteL.as_released(alpha=0.6)),
        ("ls:epsilon=0.3,spread=others", UniformSmoothing(0.3, spread="others")),
    ],
)
def test_methods_are_written_as_text(text: str, made: Any) -> None:
    assert repr(MethodSpec.parse(text).make()) == repr(made)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("magic", "there is no method 'magic'; choose from"),
        ("postel:alpha", "written name:key=value"),
        ("postel:gamma=1", "postel takes alpha, beta"),
        ("postel:alpha=2", r"alpha must lie in \[0, 1\], got 2"),
        ("postel:alpha=high", "alpha must be a number, got 'high'"),
    ],
)
def test_bad_methods_are_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        MethodSpec.parse(text)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError):
        spec(learning_rate=0.1)


def test_rows_mean_what_they_meant_and_a_user_who_types_the_name_gets_the_default() -> None:
    """Rows that name no alpha and beta were made with the published code's, whatever the default is today."""
    unsaid = MethodSpec(name="postel", params={"likelihood": "local"})
    assert unsaid.make() == PosteL(0.8, 0.4, likelihood="local") == unsaid.as_stored().make()
    assert unsaid.as_typed().make() == PosteL(likelihood="local") and PosteL() != PosteL(0.8, 0.4)
    released = MethodSpec(name="postel_as_released")
    assert released.as_typed() == released and released.make() == PosteL.as_released(0.8, 0.4)
    (run,) = comparison_specs("karate", [MethodSpec.parse("postel:beta=0.1")], [0])
    assert run.method.params == {"alpha": PosteL().alpha, "beta": 0.1}
    assert start_of(space_of("gcn", "postel"), "gcn", "postel")["method.alpha"] == 0.8, (
        "searches begin as they did"
    )
