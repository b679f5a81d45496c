"""What to try next: a pure function of what was tried, so that a killed search goes on as if it were not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from postel.errors import require_extra
from postel.experiments.spaces import Space

Setting = dict[str, Any]

# Trials before TPE has enough to go by; until then settings are drawn at random.
_STARTUP = 8
_DRAWS = 100


def untried(space: Space, history: Sequence[Any]) -> Iterator[Setting]:
    """Every setting of ``space`` that no trial of ``history`` has, in order.

    >>> list(untried({"a": [1, 2], "b": [None]}, []))
    [{'a': 1, 'b': None}, {'a': 2, 'b': None}]
    """
    tried = {_frozen(space, trial.params) for trial in history}
    for values in itertools.product(*space.values()):
        if values not in tried:
            yield dict(zip(space, values, strict=True))


def propose(space: Space, history: Sequence[Any], seed: int, number: int) -> Setting:
    """The setting of trial ``number``: what TPE makes of ``history`` (Optuna's trials over ``space``, also running
    ones), or a random one if that has been tried; there has to be one that has not.

    >>> propose({"a": [1]}, [], seed=0, number=0)
    {'a': 1}
    """
    tried = {_frozen(space, trial.params) for trial in history}
    entropy = np.random.SeedSequence([seed, number])
    setting = _tpe(space, history, int(entropy.generate_state(1)[0]))
    if _frozen(space, setting) not in tried:
        return setting
    rng = np.random.default_rng(entropy)
    for _ in range(_DRAWS):
        setting = {name: values[int(rng.integers(len(values)))] for name, values in space.items()}
        if _frozen(space, setting) not in tried:
            return setting
    return next(untried(space, history))


def _tpe(space: Space, history: Sequence[Any], seed: int) -> Setting:
    """What TPE asks for, given values by their rank where they have an order."""
    optuna = quiet_optuna()
    distributions = {
        name: optuna.distributions.IntDistribution(0, len(values) - 1)
        if _ordered(values)
        else optuna.distributions.CategoricalDistribution(values)
        for name, values in space.items()
    }
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_STARTUP)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    failed = optuna.trial.TrialState.FAIL
    for trial in history:
        if trial.state == failed:
            continue
        encoded = {
            name: values.index(trial.params[name]) if _ordered(values) else trial.params[name]
            for name, values in space.items()
        }
        study.add_trial(
            optuna.trial.create_trial(
                state=trial.state,
                value=trial.value if trial.state == optuna.trial.TrialState.COMPLETE else None,
                params=encoded,
                distributions=distributions,
                intermediate_values=trial.intermediate_values,
            )
        )
    asked = study.ask(distributions).params
    return {name: values[asked[name]] if _ordered(values) else asked[name] for name, values in space.items()}


def quiet_optuna() -> Any:
    """The optuna package, which then tells of errors and no longer of every trial."""
    optuna = require_extra("optuna", "experiments")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _frozen(space: Space, setting: Setting) -> tuple[Any, ...]:
    return tuple(setting[name] for name in space)
