"""The counting as SQL where pseudo-labels are probabilities: the tables of :mod:`postel.scale.sql` with weights.

Beside ``labels`` the queries read ``said`` (node, label, weight), a row per class of a node. They make

- ``soft``: the same without training nodes;
- ``known`` (node, own, class, weight, leads): a row per class of a node, ``leads`` is 1 in one of them;
- ``counts`` (node, own, class, n, pair): ``n`` sums the weights of neighbors, once for each node, and ``pair``
  those of neighbors times the center's own.
"""

from __future__ import annotations

from postel.scale import sql
from postel.scale.probabilities import TOLERANCE
from postel.scale.request import Request

SOFT = "SELECT node, label, weight FROM said s WHERE NOT EXISTS (SELECT 1 FROM labels l WHERE l.node = s.node)"
CENSUS = """
SELECT label, sum(weight) AS n
FROM (SELECT label, CAST(1 AS DOUBLE) AS weight FROM found UNION ALL SELECT label, weight FROM soft) every
GROUP BY label"""


def misfits(columns: int) -> str:
    """Write the query of one node (node, rows, least, total) whose probabilities are no distribution, if any.

    Args:
        columns: Number of classes that the table has.

    Returns:
        The query.
    """
    # A comparison with NaN is false or NaN the largest number, so what is asked for is what must hold.
    return f"""
SELECT node, count(*) / {columns} AS parts, min(weight) AS least, sum(weight) AS total FROM soft GROUP BY node
HAVING NOT (count(*) = {columns} AND min(weight) >= 0 AND abs(sum(weight) - 1) <= {TOLERANCE}) LIMIT 1"""


def known(leading: int) -> str:
    """Write the query of ``known``.

    Args:
        leading: The class whose row leads; every node with probabilities has one for it.

    Returns:
        The query.
    """
    return f"""
SELECT node, own, class, CAST(1 AS DOUBLE) AS weight, 1 AS leads FROM ({sql.KNOWN}) trained
UNION ALL
SELECT s.node AS node, -2 - m.class AS own, m.class AS class, s.weight AS weight,
    CASE WHEN m.class = {leading} THEN 1 ELSE 0 END AS leads
FROM soft s JOIN names m ON s.label = m.label WHERE s.weight > 0 OR m.class = {leading}"""


def counts(request: Request, k: int, hint: str = "") -> str:
    """Write the query of ``counts``, as :func:`postel.scale.sql.counts` does for whole numbers.

    Args:
        request: The job.
        k: Number of classes.
        hint: What stands where Spark looks for join hints.

    Returns:
        The query.
    """
    query, counted = sql.both_sides(request, hint, weighted=True)
    everyone = request.nodes == "all"
    node = "node" if everyone else "CASE WHEN own >= 0 THEN node END"
    entries = f"""
SELECT {node} AS node, own, coalesce(class, 0) + back * {k} AS class,
    CASE WHEN {counted} AND leads = 1 THEN weight ELSE 0 END AS n,
    CASE WHEN {counted} AND back = 0 AND mine IS NOT NULL THEN weight * mine ELSE 0 END AS pair
FROM ({query}) sides"""
    wanted = "" if everyone else "WHERE own >= 0"
    nothing = "CAST(0 AS DOUBLE)"
    return f"""
SELECT node, own, class, sum(n) AS n, sum(pair) AS pair FROM ({entries}) entries GROUP BY node, own, class
UNION ALL SELECT node, own, 0 AS class, {nothing} AS n, {nothing} AS pair FROM known {wanted}"""
