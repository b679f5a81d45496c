"""The paper's t-SNE pictures of what GCN makes of the nodes, trained on one-hot and on PosteL's labels."""

from __future__ import annotations

from typing import Any

from postel.errors import require_extra
from postel.experiments.results import Cell
from postel.experiments.running.execute import fit_spec
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import mark_not_run, one_setting_in_words, settings_in_words
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target, Watch
from postel.paper.variants import ONE_HOT, POSTEL
from postel.pictures import PALETTE, new_figure, write_caption

_NOTE = (
    "t-SNE of the last layer's output (logits) of all nodes, first split, coloured by true class; silhouette of "
    "the logits by class: higher means tighter, further apart classes."
)


class FigureTsne(Target):
    """A panel for each dataset and kind of labels."""

    title = "t-SNE of the last layer, trained on one-hot and on PosteL labels"

    datasets = ("chameleon", "squirrel")
    variants = (ONE_HOT, POSTEL)
    any_method = True
    splits = 1
    budget = FIXED
    published_settings = True
    one_setting = True

    def measure(self, store: Store, watch: Watch) -> None:
        """Train each panel's model once more, for rows hold no logits, and lays its nodes out.

        Args:
            store: Where the layout is kept.
            watch: Receives progress.
        """
        reader, kept = Reader(store), Measurements(store)
        for request in self.requests:
            cell = request.answer(reader)
            if cell is not None and kept.get(self.name, cell.rows[0].key) is None:
                watch.on_step(f"t-SNE of {request.dataset}, {request.variant.label}")
                kept.put(self.name, cell.rows[0].key, lay_out(cell.rows[0].spec, self.options.data_root))

    def make(self, reader: Reader) -> Rendering:
        """Return a row of panels for each dataset and backbone.

        Args:
            reader: The store's reader.
        """
        groups = self.places
        columns = max(map(len, groups.values()))
        figure = new_figure(4.6 * columns, 4.4 * len(groups))
        grid: Any = figure.subplots(len(groups), columns, squeeze=False)
        rows: list[tuple[Any, ...]] = []
        cells: list[Cell | None] = []
        for panels, ((backbone, dataset), group) in zip(grid, groups.items(), strict=True):
            for axes, request in zip(panels, group, strict=True):
                cell, label = request.answer(reader), request.variant.label
                points = reader.measurements.get(self.name, cell.rows[0].key) if cell else None
                axes.set_title(f"{dataset_label(dataset)}, {backbone_label(backbone)}: {label}", fontsize=12)
                cells.append(cell)
                rows.append((dataset, backbone, label, *_draw(axes, points, cell)))
        same = one_setting_in_words(self.requests)
        write_caption(
            figure,
            f"{settings_in_words(cells)} {same} t-SNE of the last layer's output of all nodes, first "
            "split; color: the true class. Silhouette of that output by class: higher means tighter classes, "
            "further apart.",
        )
        heads = (
            *texts("dataset", "backbone", "labels", "state"),
            *numbers("nodes"),
            *numbers("silhouette", places=3),
            *numbers("accuracy", places=2),
        )
        table = Table(self.title, heads, rows, tuple(filter(None, (_NOTE, same, PUBLISHED_NOTE))))
        return Rendering(self.name, table, figures={"": figure})


def lay_out(spec: RunSpec, data_root: str | None) -> dict[str, Any]:
    """Return two coordinates per node, the classes, and the silhouette of a model's logits.

    Args:
        spec: What the model is trained by.
        data_root: Folder of graph files to look in first.
    """
    manifold = require_extra("sklearn.manifold", "experiments")
    metrics = require_extra("sklearn.metrics", "experiments")
    model, data = fit_spec(spec, data_root)
    logits = model.logits_.double().numpy()
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


def _draw(axes: Any, found: dict[str, Any] | None, cell: Cell | None) -> tuple[Any, ...]:
    axes.set_xticks([])
    axes.set_yticks([])
    if found is None or cell is None:
        mark_not_run(axes)
        return "not run", None, None, None
    points, classes = found["points"], found["classes"]
    for k in sorted(set(classes)):
        of_class = [point for point, own in zip(points, classes, strict=True) if own == k]
        color = PALETTE[k % len(PALETTE)]
        x, y = zip(*of_class, strict=True)
        size = 60 if len(points) < 100 else 22 if len(points) < 500 else 7
        axes.scatter(x, y, s=size, color=color, alpha=0.7, linewidth=0, label=f"class {k}", rasterized=True)
    axes.legend(frameon=False, fontsize=8, markerscale=2 if len(points) > 500 else 1, loc="best")
    axes.set_xlabel(f"silhouette {found['silhouette']:.3f}, accuracy {cell.accuracy.values[0]:.1f} %", fontsize=11)
    return "run", len(points), found["silhouette"], cell.accuracy.values[0]
