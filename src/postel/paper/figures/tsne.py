"""The paper's t-SNE pictures of what GCN makes of the nodes, trained on one-hot and on PosteL's labels."""

from __future__ import annotations

from typing import Any

from postel.errors import require_extra
from postel.experiments.running.execute import classifier_of, load_data
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.paper.class_bars import mark_not_run
from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Outcome, Results
from postel.paper.running import Watch
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL
from postel.pictures import PALETTE, new_figure

_NOTE = (
    "t-SNE of the last layer's output (logits) of all nodes, first split, coloured by true class; silhouette of "
    "the logits by class: higher means tighter, further apart classes."
)


class FigureTsne(Target):
    """A panel for each dataset and kind of labels."""

    name = "figure-tsne"
    title = "t-SNE of the last layer, trained on one-hot and on PosteL labels"

    def plan(self, options: Options) -> list[Planned]:
        """A cell a panel, on one split."""
        datasets, backbones = (
            options.chosen_datasets(("chameleon", "squirrel")),
            options.chosen_backbones(("gcn",)),
        )
        variants = options.chosen_methods((ONE_HOT, POSTEL))
        return plan_cells(options, datasets, backbones, variants, splits=1, budget=FIXED, published=True)

    def measure(self, options: Options, store: Store, watch: Watch) -> None:
        """Train each panel's model once more, for rows hold no logits, and lay its nodes out."""
        results, kept = Results(store), Measurements(store)
        for cell in self.plan(options):
            found = results.of(cell)
            if found is not None and kept.get(self.name, found.rows[0]["key"]) is None:
                watch.on_step(f"t-SNE of {cell.dataset}, {cell.variant.label}")
                spec = RunSpec(**found.rows[0]["spec"])
                kept.put(self.name, spec.key, lay_out(spec, options.data_root))

    def make(self, results: Results, options: Options) -> Product:
        """A row of panels for each dataset and backbone."""
        groups: dict[tuple[str, str], list[Planned]] = {}
        for cell in self.plan(options):
            groups.setdefault((cell.dataset, cell.backbone), []).append(cell)
        columns = max(map(len, groups.values()))
        figure = new_figure(4.6 * columns, 4.4 * len(groups))
        grid: Any = figure.subplots(len(groups), columns, squeeze=False)
        rows: list[tuple[Any, ...]] = []
        for panels, ((dataset, backbone), cells) in zip(grid, groups.items(), strict=True):
            for axes, cell in zip(panels, cells, strict=True):
                found = results.of(cell)
                points = results.kept.get(self.name, found.rows[0]["key"]) if found else None
                title = f"{dataset_label(dataset)}, {backbone_label(backbone)}: {cell.variant.label}"
                axes.set_title(title, fontsize=12)
                rows.append((dataset, backbone, cell.variant.label, *_draw(axes, points, found)))
        heads = tuple(Column(name, left=True) for name in ("dataset", "backbone", "labels", "state"))
        numbers = (Column("nodes"), Column("silhouette", decimals(3)), Column("accuracy", decimals(2)))
        return Product(
            self.name, Table(self.title, (*heads, *numbers), rows, (_NOTE, PUBLISHED_NOTE)), figures={"": figure}
        )


def lay_out(spec: RunSpec, data_root: str | None) -> dict[str, Any]:
    """Two coordinates a node, the classes, and the silhouette of the logits of the model of ``spec``."""
    manifold = require_extra("sklearn.manifold", "experiments")
    metrics = require_extra("sklearn.metrics", "experiments")
    data = load_data(spec, data_root)
    logits = classifier_of(spec).fit(data).logits_.double().numpy()
    perplexity = min(30.0, (len(logits) - 1) / 3)
    points = manifold.TSNE(random_state=0, init="pca", perplexity=perplexity).fit_transform(logits)
    classes = data.y.tolist()
    silhouette = float(
        metrics.silhouette_score(logits, classes, sample_size=min(len(classes), 2000), random_state=0)
    )
    return {
        "points": [[round(float(v), 3) for v in point] for point in points],
        "classes": classes,
        "silhouette": silhouette,
    }


def _draw(axes: Any, found: dict[str, Any] | None, outcome: Outcome | None) -> tuple[Any, ...]:
    axes.set_xticks([])
    axes.set_yticks([])
    if found is None or outcome is None:
        mark_not_run(axes)
        return "not run", None, None, None
    points, classes = found["points"], found["classes"]
    for k in sorted(set(classes)):
        of_class = [point for point, own in zip(points, classes, strict=True) if own == k]
        colour = PALETTE[k % len(PALETTE)]
        x, y = zip(*of_class, strict=True)
        size = 60 if len(points) < 100 else 22 if len(points) < 500 else 7
        axes.scatter(x, y, s=size, color=colour, alpha=0.7, linewidth=0, label=f"class {k}", rasterized=True)
    axes.legend(frameon=False, fontsize=8, markerscale=2 if len(points) > 500 else 1, loc="best")
    axes.set_xlabel(f"silhouette {found['silhouette']:.3f}, accuracy {outcome.accuracies[0]:.1f} %", fontsize=11)
    return "run", len(points), found["silhouette"], outcome.accuracies[0]


TARGET = FigureTsne()
