"""What to try next: a pure function of what was tried, so that a killed search goes on as if it were not.

A search begins with settings of the network, the method being at its defaults: the same settings in the same order
for every method. Chance draws of learning rates would otherwise decide between methods that have few trials each.
Then it draws settings of the method, with the network as it did best so far; TPE takes over when both were seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from postel.errors import require_extra
from postel.experiments.spaces import Space

Setting = dict[str, Any]

#: Trials for the network alone, at most, and then for the method alone.
NETWORK_TRIALS, METHOD_TRIALS = 8, 4

# Trials before TPE has enough to go by; until then it draws at random.
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


def propose(space: Space, history: Sequence[Any], seed: int, number: int, start: Setting) -> Setting:
    """The setting of trial ``number`` after the trials ``history`` (Optuna's, also running ones) of a search that
    begins at ``start``; there has to be one that has not been tried.

    >>> propose({"lr": [1, 2], "method.a": [3]}, [], seed=0, number=1, start={"lr": 1, "method.a": 3})
    {'lr': 2, 'method.a': 3}
    """
    tried = {_frozen(space, trial.params) for trial in history}
    entropy = np.random.SeedSequence([seed, number])
    rng = np.random.default_rng(entropy)
    networks = _networks(space, start, seed)
    own = {name: values for name, values in space.items() if name.startswith(_METHOD)}
    setting: Setting | None
    if number < len(networks):
        setting = networks[number]
    elif own and number < len(networks) + METHOD_TRIALS:
        best = _best(history) or start
        setting = _untried_draw(space, {name: [best[name]] for name in space} | own, tried, rng)
    else:
        setting = _tpe(space, history, int(entropy.generate_state(1)[0]))
    if setting is None or _frozen(space, setting) in tried:
        setting = _untried_draw(space, space, tried, rng)
    return setting or next(untried(space, history))


_METHOD = "method."


def _networks(space: Space, start: Setting, seed: int) -> list[Setting]:
    """Settings that differ from ``start`` in the network only, ``start`` first and the others shuffled."""
    names = [name for name in space if not name.startswith(_METHOD)]
    grid = list(itertools.product(*(space[name] for name in names)))
    order = np.random.default_rng(seed).permutation(len(grid))[: NETWORK_TRIALS + 1]
    settings = [{**start, **dict(zip(names, grid[place], strict=True))} for place in order]
    shuffled = [setting for setting in settings if setting != start]
    return [start, *shuffled][:NETWORK_TRIALS]


def _best(history: Sequence[Any]) -> Setting | None:
    """The setting of the best trial that was not cut short."""
    complete = [trial for trial in history if trial.state.name == "COMPLETE"]
    return max(complete, key=lambda trial: (trial.value, -trial.number)).params if complete else None


def _untried_draw(
    space: Space, among: Space, tried: set[tuple[Any, ...]], rng: np.random.Generator
) -> Setting | None:
    """A random setting of ``among`` that is new to ``space``, or None if many draws find none."""
    for _ in range(_DRAWS):
        setting = {name: values[int(rng.integers(len(values)))] for name, values in among.items()}
        if _frozen(space, setting) not in tried:
            return setting
    return None


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
