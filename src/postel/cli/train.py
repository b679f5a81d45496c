"""``postel train``: one model on one split."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from postel.cli import options
from postel.cli.console import notes, print_json, print_table
from postel.cli.console import out as screen
from postel.cli.progress import resumable
from postel.cli.words import listed
from postel.errors import InputError


def train(
    context: typer.Context,
    dataset: options.OptionalGraph = None,
    method: options.Method = "postel",
    backbone: options.Backbone = "gcn",
    backbone_args: options.BackboneArgs = None,
    split: Annotated[int, typer.Option("--split", help="Number of the split.")] = 0,
    protocol: options.Protocol = "paper",
    recipe: options.Recipe = "paper",
    pseudo_labels: options.PseudoLabels = "yes",
    lr: options.Lr = 0.01,
    weight_decay: options.WeightDecay = 5e-4,
    max_epochs: options.MaxEpochs = 1000,
    stopping: options.Stopping = "window-mean",
    seed: Annotated[int, typer.Option("--seed", help="Seed of weights and dropout.")] = 0,
    batch_size: options.BatchSize = None,
    device: options.Device = "cpu",
    repeated: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Repeat this run: a run.json or a model's folder, or, with --key, a store or exported rows.",
        ),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The run in the store that --from names.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for the model and run.json, which is all it takes to repeat the run."
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Train one model on one split, and save it if --out is given.

    Example: postel train citeseer --method postel --lr 0.05 --out model
    Example: postel train --from model/run.json
    """
    from postel.cli.repeating import refuse_settings, stored_run, ways_of
    from postel.experiments.comparison import make_spec
    from postel.experiments.running.execute import alone_on_one_thread, classifier_of, load_data, row_of
    from postel.experiments.spec import MethodSpec
    from postel.files import write_text
    from postel.outputs import Target, writing
    from postel.training.model_folder import model_targets

    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; --out takes a folder")
    before = None
    ways = ways_of(batch_size, device)
    if repeated is not None:
        refuse_settings(context)
        spec, before, ways = stored_run(repeated, key, ways)
    elif dataset is None:
        raise InputError("name a graph to train on, or a run to repeat with --from")
    else:
        if len(listed([method]) or ()) > 1:
            raise InputError(f"train takes one method, got {method}; postel compare takes several")
        spec = make_spec(
            dataset,
            MethodSpec.parse(method),
            data_root=data_root,
            pseudo_labels=options.pseudo_label_rounds(pseudo_labels),
            protocol=protocol,
            split=split,
            recipe=recipe,
            backbone=backbone,
            backbone_args=options.key_values(backbone_args),
            lr=lr,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            stopping=stopping,
            seed=seed,
        )
    model = classifier_of(spec).set_params(progress=not as_json, **ways)
    data = load_data(spec, data_root)
    with ExitStack() as stack:
        if out is not None:
            targets = [*model_targets(out), Target(out / "run.json", "JSON", ours=_is_run)]
            inputs: list[str | Path] = [spec.dataset]
            if repeated is not None and repeated.is_file():
                inputs.append(repeated)
            work = stack.enter_context(writing(targets, overwrite=overwrite, inputs=inputs))
        with resumable("nothing was written; the same command starts again"), alone_on_one_thread():
            model.fit(data)  # with one thread: other threads, other sums, and what has a run's key has its bytes
        row = row_of(spec, model, data)
        values = row.as_dict()
        if ways:  # a key is for runs whose bytes are the same everywhere
            values |= {"key": None, "ways": ways}
        if out is not None:
            model.set_params(progress=False).save(work)
            write_text(work / "run.json", json.dumps(values, indent=2, allow_nan=False) + "\n")
    if before is not None and not as_json:
        same = before == row.result.val.as_dict()
        notes.print(
            "validation scores are those of the repeated run"
            if same
            else "validation scores differ from those of the repeated run: other versions or another machine?",
            soft_wrap=True,
        )
    if as_json:
        print_json(values)
        return
    result = model.result_
    lines = [
        [
            name,
            f"{100 * scores.accuracy:.2f}",
            f"{100 * scores.macro_f1:.2f}",
            *(
                "–" if value is None else f"{100 * value:.2f}"
                for value in (scores.roc_auc, scores.average_precision)
            ),
            f"{100 * scores.ece:.2f}",
            f"{scores.nll:.3f}",
        ]
        for name, scores in (("validation", result.val), ("test", result.test))
        if scores is not None
    ]
    columns = ["nodes", "accuracy, %", "macro-F1, %", "ROC-AUC, %", "avg. prec., %", "cal. error, %", "NLL"]
    title = f"{spec.backbone} on {spec.dataset}, split {spec.split} ({spec.protocol}), {spec.method.label}"
    print_table(title, columns, lines)
    if result.test is not None:
        screen.print(f"majority class of the test nodes: {100 * result.test.majority:.2f} %")
    screen.print(
        f"best epoch {result.best_epoch} of round {result.best_round}; {result.trainings} trainings, "
        f"{result.epochs} epochs, {result.seconds:.1f} s"
    )
    if row.collapsed:
        screen.print("every test node is given the same class", style="bold")
    if out is not None:
        screen.print(f"model and run.json are in {out}")


def _is_run(path: Path) -> bool:
    """Whether ``path`` is the run.json of an earlier training."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"key", "spec", "result"} <= set(found)
