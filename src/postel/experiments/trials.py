"""The record of a search in an Optuna study: what was tried, by whom, and what came of it."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postel.errors import InputError
from postel.experiments.proposals import Setting, quiet_optuna
from postel.experiments.running.claims import is_dead, this_process
from postel.experiments.spaces import Space

# Seconds after which a trial of another machine that nobody has touched is given up for lost.
_LOST = 3600.0

# What a database says when two processes make the same table or line in it.
_CLASH = re.compile("already exists|unique|duplicate|locked", re.IGNORECASE)

# Trials that have to be finished before one may be cut short.
_UNPRUNED = 4


@dataclass(frozen=True)
class Verdict:
    """What came of a trial: means over the search splits, or None where it failed or was cut short."""

    state: str
    accuracy: float | None = None
    loss: float | None = None


class Trials:
    """One search in the storage at ``url``; many processes and machines may share it."""

    def __init__(self, url: str, name: str, space: Space) -> None:
        self.optuna = quiet_optuna()
        self.url, self.space = url, space
        options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite:") else {"pool_pre_ping": True}
        try:
            self.study = self._opened(name, options)
        except Exception as error:
            raise InputError(f"{url} cannot be used as a storage of trials: {_cause(error)}") from error
        self._study_id = self.storage.get_study_id_from_name(name)

    def _opened(self, name: str, options: dict[str, Any], tries: int = 6) -> Any:
        """The study called ``name``, made if need be; other processes may be making it at the same moment."""
        try:
            self.storage = self.optuna.storages.RDBStorage(self.url, engine_kwargs=options)
            return self.optuna.create_study(
                storage=self.storage,
                study_name=name,
                direction="maximize",
                pruner=self.optuna.pruners.MedianPruner(n_startup_trials=_UNPRUNED, n_warmup_steps=0),
                load_if_exists=True,
            )
        except Exception as error:
            if tries == 1 or not _CLASH.search(f"{error} {error.__cause__}"):
                raise
        time.sleep(0.5)
        return self._opened(name, options, tries - 1)

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """A block in which a storage that fails is told in a sentence."""
        try:
            yield
        except self.optuna.exceptions.StorageInternalError as error:
            raise InputError(f"{self.url} takes no more trials: {_cause(error)}; it keeps what it has") from error

    def known(self) -> list[Any]:
        """All trials but those that were void, in their order."""
        trials = self.storage.get_all_trials(self._study_id)
        return [trial for trial in trials if not trial.user_attrs.get("void")]

    def orphans(self) -> list[Any]:
        """Trials that nobody works on any more, now ours."""
        lost = [trial for trial in self.known() if not trial.state.is_finished() and _abandoned(trial)]
        for trial in lost:
            self._touch(trial)
        return lost

    def open(self, setting: Setting) -> Any | None:
        """A new trial of ours, or None if another process opened one of the same setting just before."""
        distributions = {
            name: self.optuna.distributions.CategoricalDistribution(values) for name, values in self.space.items()
        }
        # One transaction makes the trial with all that belongs to it: a killed search leaves no half of one.
        template = self.optuna.trial.create_trial(
            state=self.optuna.trial.TrialState.RUNNING,
            params=setting,
            distributions=distributions,
            user_attrs={"owner": this_process(), "seen": time.time()},
        )
        number = self.storage.create_new_trial(self._study_id, template_trial=template)
        trial = self.storage.get_trial(number)
        running = self.storage.get_all_trials(self._study_id, states=(self.optuna.trial.TrialState.RUNNING,))
        if any(other.number < trial.number and other.params == trial.params for other in running):
            self.storage.set_trial_user_attr(number, "void", True)
            self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
            return None
        return trial

    def report(self, trial: Any, step: int, value: float) -> None:
        """Put down the mean accuracy after split number ``step``."""
        with self._unless_closed():
            self.storage.set_trial_intermediate_value(trial._trial_id, step, value)
        self._touch(trial)

    def hopeless(self, trial: Any) -> bool:
        """Whether it does worse so far than most finished trials did after as many splits."""
        return bool(self.study.pruner.prune(self.study, self.storage.get_trial(trial._trial_id)))

    def finish(self, verdicts: Sequence[tuple[Any, Verdict]], seconds: float) -> None:
        """Close trials that were run together and took ``seconds``.

        All verdicts are put down before any trial is closed: what the next trials are, and which are cut short,
        depends on closed ones, and must not depend on the moment a search was killed.
        """
        for trial, verdict in verdicts:
            said = {**verdict.__dict__, "seconds": seconds / len(verdicts)}
            with self._unless_closed():
                self.storage.set_trial_user_attr(trial._trial_id, "verdict", said)
        for trial, _ in verdicts:
            self.close(trial)

    def close(self, trial: Any) -> bool:
        """Whether the trial had its verdict already, and so is closed now."""
        said = self.storage.get_trial(trial._trial_id).user_attrs.get("verdict")
        if said is None:
            return False
        state = self.optuna.trial.TrialState[said["state"]]
        value = said["accuracy"] if said["state"] == "COMPLETE" else None
        self.study.tell(trial.number, value, state=state, skip_if_finished=True)
        return True

    def _touch(self, trial: Any) -> None:
        with self._unless_closed():
            self.storage.set_trial_user_attr(trial._trial_id, "owner", this_process())
            self.storage.set_trial_user_attr(trial._trial_id, "seen", time.time())

    def _unless_closed(self) -> contextlib.AbstractContextManager[None]:
        # A process that was frozen for long finds its trials taken over, and finished, by another one.
        return contextlib.suppress(self.optuna.exceptions.UpdateFinishedTrialError)


def storage_url(storage: str | None, store: Path) -> str:
    """The URL of ``storage``: a URL as it is, a path as an SQLite file, by default one beside the store.

    >>> storage_url("postgresql://host/trials", Path("rows.sqlite"))
    'postgresql://host/trials'
    >>> storage_url(None, Path("/tmp/rows.sqlite"))
    'sqlite:////tmp/rows.trials.sqlite'
    """
    if storage is not None and "://" in storage:
        return storage
    path = Path(storage) if storage is not None else store.with_name(f"{store.stem}.trials.sqlite")
    return f"sqlite:///{path.absolute()}"


def _abandoned(trial: Any) -> bool:
    owner = trial.user_attrs.get("owner", "")
    return owner == this_process() or is_dead(owner) or time.time() - trial.user_attrs.get("seen", 0) > _LOST


def _cause(error: Exception) -> str:
    """What the database said, which Optuna hides behind a sentence of its own."""
    return str(error.__cause__ or error).strip().partition("\n")[0]
