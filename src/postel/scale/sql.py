"""The counting as SQL, in words that DuckDB and Spark both know; integer division alone has two spellings.

The queries read ``edges`` (source, target), ``labels`` and ``pseudo`` (node, label), all without empty fields, and
``names`` (label, class); they make ``found``, ``known`` and ``counts``:

- ``found`` (node, label, other, train): one row per labelled node, with its least and greatest label;
- ``known`` (node, own, class): ``own`` is a training node's class, and ``-2 - class`` for a pseudo-labelled node;
- ``counts`` (node, own, class, n): ``n`` neighbors of that class. ``own`` is -1 for a node without label;
  ``node`` is empty where many nodes were counted together because none of them is wanted. If a job wants the
  reverse too, ``class`` K + c counts the centers of class c that have the training node as their neighbor.
"""

from __future__ import annotations

from postel.scale.kernel import SHARE_BITS
from postel.scale.request import Request

CONFLICT = "SELECT node, label, other, train FROM found WHERE label <> other LIMIT 1"
CENSUS = "SELECT label, count(*) AS n FROM found GROUP BY label"
KNOWN = """
SELECT f.node AS node, CASE WHEN f.train = 1 THEN m.class ELSE -2 - m.class END AS own, m.class AS class
FROM found f JOIN names m ON f.label = m.label"""

# Spark would otherwise pair every partition with every other; to DuckDB this is a comment.
TWICE = "/*+ BROADCAST(ways) */"
CENTER = "CASE WHEN own >= 0 THEN own ELSE -2 - own END"


def found(pseudo: bool) -> str:
    """Write the query of ``found``; a training node keeps its label whatever the pseudo-labels say of it.

    Args:
        pseudo: Whether there are pseudo-labels.

    Returns:
        The query.
    """
    one = "SELECT node, min(label) AS label, max(label) AS other, {train} AS train FROM {table} t {where}"
    one += " GROUP BY node"
    query = one.format(train=1, table="labels", where="")
    if pseudo:
        where = "WHERE NOT EXISTS (SELECT 1 FROM labels l WHERE l.node = t.node)"
        query += " UNION ALL " + one.format(train=0, table="pseudo", where=where)
    return query


def counts(request: Request, k: int, hint: str = "") -> str:
    """Write the query of ``counts``: one pass over the edges, grouped by node and class so that hubs shrink early.

    Args:
        request: The job.
        k: Number of classes.
        hint: What stands where Spark looks for join hints.

    Returns:
        The query.
    """
    if request.reverse:
        entries = _entries_both_sides(request, k, hint)
    elif request.nodes == "all":
        entries = _entries_of_all(request, hint)
    else:
        entries = _entries_of_labelled(request, hint)
    # A row of zeros for every wanted node: those without labelled neighbors come out too.
    wanted = "" if request.nodes == "all" else "WHERE own >= 0"
    return f"""
SELECT node, own, class, count(hit) AS n FROM ({entries}) entries GROUP BY node, own, class
UNION ALL SELECT node, own, 0 AS class, CAST(0 AS BIGINT) AS n FROM known {wanted}"""


def _entries_of_labelled(request: Request, hint: str) -> str:
    """(node, own, class, hit) of each entry between labelled nodes: the others can change no training node."""
    # Both joins come before the doubling: most rows are gone by then.
    joined = f"""
SELECT {hint} e.source AS s, e.target AS t, a.own AS s_own, a.class AS s_class, b.own AS t_own, b.class AS t_class
FROM edges e JOIN known a ON e.source = a.node JOIN known b ON e.target = b.node
{"" if request.self_loops else "WHERE e.source <> e.target"}"""
    entries = "SELECT s AS node, s_own AS own, t_class AS class"
    if request.undirected:
        entries = f"""
SELECT {TWICE} CASE WHEN flip = 0 THEN s ELSE t END AS node, CASE WHEN flip = 0 THEN s_own ELSE t_own END AS own,
    CASE WHEN flip = 0 THEN t_class ELSE s_class END AS class"""
    entries += f" FROM ({joined}) joined"
    if request.undirected:
        entries += " CROSS JOIN (VALUES (0), (1)) AS ways(flip)"
        if request.self_loops:
            # The other way round of a self-loop is the same entry.
            entries += " WHERE flip = 0 OR s <> t"
    # Only the classes of other centers matter, unless each is to weigh the same.
    node = "node" if request.likelihood == "normalized" else "CASE WHEN own >= 0 THEN node END"
    centers = "WHERE own >= 0" if request.settings.centers == "train" else ""
    return f"SELECT {node} AS node, own, class, 1 AS hit FROM ({entries}) both_ways {centers}"


def _entries_of_all(request: Request, hint: str) -> str:
    """(node, own, class, hit) of both ends of each row of edges; ``hit`` is empty where nothing counts."""
    joined = f"""
SELECT {hint} e.source AS s, e.target AS t, coalesce(a.own, -1) AS s_own, a.class AS s_class,
    coalesce(b.own, -1) AS t_own, b.class AS t_class
FROM edges e LEFT JOIN known a ON e.source = a.node LEFT JOIN known b ON e.target = b.node"""
    there = "t_class IS NOT NULL" if request.self_loops else "t_class IS NOT NULL AND s <> t"
    back = "s_class IS NOT NULL AND s <> t" if request.undirected else "1 = 0"
    return f"""
SELECT {TWICE} CASE WHEN flip = 0 THEN s ELSE t END AS node, CASE WHEN flip = 0 THEN s_own ELSE t_own END AS own,
    coalesce(CASE WHEN flip = 0 THEN t_class ELSE s_class END, 0) AS class,
    CASE WHEN flip = 0 AND {there} THEN 1 WHEN flip = 1 AND {back} THEN 1 END AS hit
FROM ({joined}) joined CROSS JOIN (VALUES (0), (1)) AS ways(flip)"""


def _entries_both_sides(request: Request, k: int, hint: str) -> str:
    """(node, own, class, hit) of each entry as its center sees it and as its neighbor does."""
    query, counted = both_sides(request, hint)
    if request.nodes == "all":
        return f"""
SELECT node, own, coalesce(class, 0) + back * {k} AS class, CASE WHEN {counted} THEN 1 END AS hit
FROM ({query}) sides"""
    centers = "AND own >= 0" if request.settings.centers == "train" else ""
    return f"""
SELECT CASE WHEN own >= 0 THEN node END AS node, own, class + back * {k} AS class, 1 AS hit
FROM ({query}) sides WHERE {counted} {centers}"""


def both_sides(request: Request, hint: str, *, weighted: bool = False) -> tuple[str, str]:
    """Write the query of each entry as its center sees it (``back`` 0) and as its neighbor does (1).

    An entry goes from source to target (``flip`` 0) or, in an undirected table, the other way too (1). Only
    training nodes need to see their centers; self-loops are no entries.

    Args:
        request: The job.
        hint: What stands where Spark looks for join hints.
        weighted: Whether ``known`` has several rows per node with weights; then the columns ``mine``, ``weight``
            (of the node and of its neighbor) and ``leads`` come too.

    Returns:
        The query of (node, own, class, back, center, there), and the condition that a row of it counts.
    """
    everyone = request.nodes == "all"
    join = "LEFT JOIN" if everyone else "JOIN"
    weights, seen = "", ""
    if weighted:
        weights = """, a.weight AS s_weight, coalesce(a.leads, 1) AS s_leads,
    b.weight AS t_weight, coalesce(b.leads, 1) AS t_leads"""
        seen = """
    CASE WHEN flip = back THEN s_weight ELSE t_weight END AS mine,
    CASE WHEN flip = back THEN s_leads ELSE t_leads END AS leads,
    CASE WHEN flip = back THEN t_weight ELSE s_weight END AS weight,"""
    joined = f"""
SELECT {hint} e.source AS s, e.target AS t, coalesce(a.own, -1) AS s_own, a.class AS s_class,
    coalesce(b.own, -1) AS t_own, b.class AS t_class{weights}
FROM edges e {join} known a ON e.source = a.node {join} known b ON e.target = b.node
{"" if everyone else "WHERE e.source <> e.target"}"""
    # Both ends of every row are to appear, whether anything counts for them or not.
    ways = "(0, 0), (0, 1), (1, 0), (1, 1)" if everyone or request.undirected else "(0, 0), (0, 1)"
    query = f"""
SELECT {TWICE} CASE WHEN flip = back THEN s ELSE t END AS node,
    CASE WHEN flip = back THEN s_own ELSE t_own END AS own,{seen}
    CASE WHEN flip = back THEN t_class ELSE s_class END AS class, back,
    CASE WHEN flip = 0 THEN s_own ELSE t_own END AS center,
    CASE WHEN s <> t AND {"1 = 1" if request.undirected else "flip = 0"} THEN 1 ELSE 0 END AS there
FROM ({joined}) joined CROSS JOIN (VALUES {ways}) AS ways(flip, back)"""
    center = "center >= 0" if request.settings.centers == "train" else "center <> -1"
    return query, f"there = 1 AND class IS NOT NULL AND (back = 0 OR (own >= 0 AND {center}))"


def sample(most: int, divide: str) -> str:
    """Write the query of (place, own, class, n): the counts of training nodes, ``most`` of them evenly spaced.

    ``place`` numbers the chosen nodes in the order of their ids. Of M training nodes number ``place`` is the one
    of rank ``place * M`` divided by ``most``, rounded down.

    Args:
        most: How many nodes at most.
        divide: The engine's operator of whole division.

    Returns:
        The query.
    """
    return f"""
SELECT chosen.place AS place, c.own AS own, c.class AS class, c.n AS n
FROM counts c JOIN (
    SELECT node, place FROM (
        SELECT node, nth, size,
            CASE WHEN size <= {most} THEN nth ELSE (nth * {most} + size - 1) {divide} size END AS place
        FROM (
            SELECT node, row_number() OVER (ORDER BY node) - 1 AS nth, count(*) OVER () AS size
            FROM known WHERE own >= 0
        ) ranked
    ) placed WHERE size <= {most} OR (place * size) {divide} {most} = nth
) chosen ON c.node = chosen.node"""


def pairs(request: Request, k: int, *, soft: bool) -> str:
    """Write the query of (center, class, high, low) summed over the centers: plain counts, with ``low`` 0 (Eq. 3).

    Args:
        request: The job.
        k: Number of classes.
        soft: Whether ``counts`` sums probabilities, as :mod:`postel.scale.soft_sql` does.

    Returns:
        The query.
    """
    summed, kind = ("pair", "DOUBLE") if soft else ("n", "BIGINT")
    return f"""
SELECT {CENTER} AS center, class, CAST(sum({summed}) AS {kind}) AS high, CAST(0 AS {kind}) AS low
FROM counts WHERE {summed} > 0 AND class < {k} AND {_is_center(request)} GROUP BY 1, 2"""


def shares(request: Request, divide: str) -> str:
    """Write the query of (center, class, high, low) as for :func:`pairs`, each center's counts scaled to 1.

    A share is two whole numbers, so that sums of it are exact in any order: see
    :func:`postel.scale.kernel.split_shares`.

    Args:
        request: The job.
        divide: The engine's operator of whole division.

    Returns:
        The query.
    """
    unit = 1 << SHARE_BITS
    return f"""
SELECT center, class, CAST(sum(scaled {divide} total) AS BIGINT) AS high,
    CAST(sum(((scaled % total) * {unit}) {divide} total) AS BIGINT) AS low
FROM (
    SELECT {CENTER} AS center, c.class AS class, c.n * {unit} AS scaled, t.total AS total
    FROM counts c JOIN (
        SELECT node, CAST(sum(n) AS BIGINT) AS total FROM counts
        WHERE n > 0 AND {_is_center(request)} GROUP BY node
    ) t ON c.node = t.node
    WHERE c.n > 0
) scaled GROUP BY 1, 2"""


def rows(request: Request) -> str:
    """Write the query of those rows of ``counts`` that belong to wanted nodes.

    Args:
        request: The job.

    Returns:
        The query.
    """
    wanted = "node IS NOT NULL" if request.nodes == "all" else "node IS NOT NULL AND own >= 0"
    return f"SELECT node, own, class, n FROM counts WHERE {wanted}"


def _is_center(request: Request) -> str:
    """Write the condition that a row of ``counts`` belongs to a center of pairs."""
    return "own >= 0" if request.settings.centers == "train" else "own <> -1"
