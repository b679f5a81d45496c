"""What is searched for whom: a dataset, backbone and method, what is fixed and what may vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postel.experiments.graphs import graph_of
from postel.experiments.proposals import Setting
from postel.experiments.running.execute import classifier_of
from postel.experiments.spaces import Space, flat, size_of, space_of, start_of
from postel.experiments.spec import MethodSpec, RunSpec


@dataclass(frozen=True)
class Problem:
    """Turns a setting of the space and a split into a spec."""

    dataset: str
    fingerprint: str
    protocol: str
    recipe: str
    backbone: str
    method: MethodSpec
    pseudo_labels: bool | int
    fixed: dict[str, Any]
    space: Space

    @classmethod
    def of(
        cls,
        dataset: str,
        backbone: str,
        method: str,
        protocol: str,
        recipe: str,
        pseudo_labels: bool | int,
        fixed: dict[str, Any],
        data_root: str | None,
        *,
        search: bool = True,
    ) -> Problem:
        """The problem, with every name and value checked before anything is run; no space without ``search``."""
        chosen = MethodSpec.parse(method)
        settings = flat(fixed)
        space = {name: values for name, values in space_of(backbone, method).items() if name not in settings}
        problem = cls(
            dataset=dataset,
            fingerprint=graph_of(dataset, data_root).fingerprint(),
            protocol=protocol,
            recipe=recipe,
            backbone=backbone,
            method=chosen,
            pseudo_labels=pseudo_labels if chosen.make().uses_pseudo_labels else False,
            fixed=settings,
            space=space if search else {},
        )
        classifier_of(problem.spec(start_of(problem.space, backbone, chosen.name), 0))
        return problem

    @property
    def size(self) -> int:
        """How many settings there are."""
        return size_of(self.space)

    def spec(self, setting: Setting, split: int) -> RunSpec:
        """The run of ``setting`` on ``split``; its seed is the split, the same for every method."""
        places: dict[str, dict[str, Any]] = {"": {}, "backbone_args": {}, "method": dict(self.method.params)}
        for name, value in {**self.fixed, **setting}.items():
            place, _, argument = name.rpartition(".")
            places[place][argument] = value
        return RunSpec(
            dataset=self.dataset,
            fingerprint=self.fingerprint,
            protocol=self.protocol,
            split=split,
            recipe=self.recipe,
            backbone=self.backbone,
            backbone_args=places["backbone_args"],
            method=MethodSpec(name=self.method.name, params=places["method"]),
            pseudo_labels=self.pseudo_labels,
            seed=split,
            **places[""],
        )

    def identity(self) -> dict[str, Any]:
        """All of it as plain values: equal problems have equal ones."""
        return {**self.__dict__, "method": self.method.model_dump(mode="json")}

    def asked(self) -> dict[str, Any]:
        """What a user asked for, as cells keep it."""
        return asked(self.method.name, self.method.params, self.pseudo_labels, self.fixed)


def asked(method: str, params: dict[str, Any], pseudo_labels: bool | int, fixed: dict[str, Any]) -> dict[str, Any]:
    """What tells a cell from others of its dataset and backbone; a default that was spelled out is no difference.

    >>> asked("uniform", {"epsilon": 0.2}, False, {"lr": 0.05, "max_epochs": 1000})
    {'method': 'uniform', 'params': {'epsilon': 0.2}, 'pseudo_labels': False, 'fixed': {'lr': 0.05}}
    """
    defaults = {name: field.default for name, field in RunSpec.model_fields.items()}
    told = {name: value for name, value in fixed.items() if name not in defaults or value != defaults[name]}
    return {"method": method, "params": params, "pseudo_labels": pseudo_labels, "fixed": told}
