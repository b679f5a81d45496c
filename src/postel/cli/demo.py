"""``postel demo``."""

from __future__ import annotations


def demo() -> None:
    """Smooth the labels of a small embedded graph and show them before and after."""
    from postel import PosteL
    from postel.cli.console import print_table
    from postel.theory import toy_graph

    data = PosteL(alpha=0.8, beta=0.4)(toy_graph())
    rows = []
    for node in range(data.num_nodes):
        label = str(int(data.y[node])) if data.train_mask[node] else "hidden"
        rows.append([str(node), label, *(f"{p:.3f}" for p in data.soft_y[node].tolist())])
    print_table(
        "PosteL on a heterophilic graph of ten nodes", ["node", "label", "class 0", "class 1"], rows, left=2
    )
