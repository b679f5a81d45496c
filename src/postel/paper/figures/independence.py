"""The paper's check of Eq. 2: two neighbors' classes together against the product of what each has alone."""

from __future__ import annotations

from typing import Any

from postel import statistics
from postel.datasets import load_dataset
from postel.datasets.diagnosis import measures
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.experiments.store.reader import Reader
from postel.labels import KnownLabels
from postel.paper.figures._drawing import mark_not_run
from postel.paper.names import dataset_label
from postel.paper.rendering import Rendering
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.pictures import draw_heat_map, new_figure, write_caption

#: The paper shows this class.
CLASS = 0
_TITLES = {"product": "product of marginals", "joint": "joint distribution"}


def joint_and_product(dataset: str, data_root: str | None, of_class: int = CLASS) -> dict[str, Any]:
    """Return ``joint`` and ``product`` [K, K] of two neighbors' classes, and their total variation ``gap``.

    Args:
        dataset: A dataset's name or the path of a graph file.
        data_root: Folder of graph files to look in first.
        of_class: The class of the node whose neighbors they are.

    Example:
        >>> found = joint_and_product("karate", None)
        >>> round(sum(map(sum, found["joint"])), 6), round(sum(map(sum, found["product"])), 6)
        (1.0, 1.0)
    """
    data = load_dataset(dataset, None, data_root=data_root)
    known = KnownLabels.from_mask(data.y, data.y != UNLABELLED, data.num_classes)
    counts = statistics.count_edges(data.edge_index, known)
    of_two = measures.neighbor_pairs(counts.histograms, data.y, data.num_classes)
    alone = statistics.conditional(counts.pairs)[of_class]
    joint = of_two[of_class].double() / of_two[of_class].sum().clamp(min=1)
    product = alone[:, None] * alone[None, :]
    gap = float((joint - product).abs().sum() / 2)
    return {"joint": joint.tolist(), "product": product.tolist(), "gap": gap}


class FigureIndependence(Target):
    """Joint and product for two neighbors of a class-0 node, on PubMed and Cornell."""

    title = "Two neighbors of a class-0 node: joint distribution and product of marginals"

    datasets = ("pubmed", "cornell")
    per_dataset = staticmethod(joint_and_product)

    def make(self, reader: Reader) -> Rendering:
        """Return two heat maps for each dataset, and the numbers.

        Args:
            reader: The store's reader.
        """
        names = self.names
        figure = new_figure(8.6, 3.9 * len(names) + 0.5)
        ratios = [*[1.0] * (len(names) - 1), 1.12]  # the last one has the caption
        rows: Any = figure.subfigures(len(names), 1, squeeze=False, height_ratios=ratios)[:, 0]
        lines = []
        for part, name in zip(rows, names, strict=True):
            found = reader.measurements.get(self.name, name)
            panels = part.subplots(1, 2)
            if found is None:
                for axes in panels:
                    mark_not_run(axes)
                part.suptitle(dataset_label(name), fontsize=13)
                continue
            top = max(max(map(max, found[kind])) for kind in _TITLES)
            for axes, (kind, title) in zip(panels, _TITLES.items(), strict=True):
                image = draw_heat_map(axes, found[kind], top=top, size=10)
                axes.set(xlabel="class of one neighbor", ylabel="class of another")
                axes.set_title(title, fontsize=11)
            part.colorbar(image, ax=list(panels), shrink=0.85)
            part.suptitle(f"{dataset_label(name)} (total variation {found['gap']:.3f})", fontsize=13)
            lines += [
                (name, m, n, found["joint"][m][n], value, found["joint"][m][n] - value)
                for m, values in enumerate(found["product"])
                for n, value in enumerate(values)
            ]
        write_caption(
            rows[-1],
            "All labels, nothing trained: pairs of different neighbors of each class-0 node. Darker: more likely. "
            "Total variation: half the summed difference of the two, 0 where the product is exact.",
        )
        columns = (
            *texts("dataset"),
            *numbers("first class", "second class"),
            *numbers("joint", "product", places=4),
            *numbers("difference", places=4, signed=True),
        )
        note = "Pairs of different neighbors of each class-0 node, all labels; total variation 0: Eq. 2 is exact."
        return Rendering(self.name, Table(self.title, columns, lines, (note,)), figures={"": figure})
