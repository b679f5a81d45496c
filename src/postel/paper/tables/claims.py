"""Not a table of the paper but of its claims: each with the paper's number, ours, and whether it holds."""

from __future__ import annotations

from postel.experiments.store.reader import Reader
from postel.paper.claims import CLAIMS
from postel.paper.claims.evidence import POINT_SPLITS, Evidence
from postel.paper.rendering import Rendering
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target

_NOTES = (
    "Only cells count whose setting was chosen by a search that compared settings of the method itself, and only "
    "comparisons of equal budgets; times are of given settings. Cells of version 0.1, which counted trials, and "
    "settings that were given decide nothing. Run: cells or graphs at hand, of those that the claim is about.",
    "PosteL is, in the main table and with few labels, the form that validation nodes prefer of the text's and "
    f"the released one; elsewhere the text's. A point of a sweep needs {POINT_SPLITS} splits. Clear: by the rule "
    "of every table, corrected for shared nodes and the number of comparisons. Curves, conditionals and "
    "embeddings are of the first split.",
    "The rule of each verdict, with what it takes to hold in part, is in the CSV file.",
)


class TableClaims(Target):
    """A line per claim; nothing is run for it."""

    title = "The paper's claims"

    def make(self, reader: Reader) -> Rendering:
        """Return each claim with its verdict.

        Args:
            reader: The store's reader.
        """
        evidence = Evidence(reader)
        found = [(claim, claim.judge(evidence)) for claim in CLAIMS]
        values = [
            (claim.text, claim.where, claim.paper, one.ours, one.run, one.of, one.verdict, claim.rule)
            for claim, one in found
        ]
        lines = [
            (claim.text, claim.where, claim.paper, one.ours, f"{one.run} of {one.of}", one.verdict)
            for claim, one in found
        ]
        heads = (*texts("claim", "where", "paper", "ours"), *numbers("run", "of"), *texts("verdict", "rule"))
        columns = texts("claim", "where", "paper", "ours", "run", "verdict")
        return Rendering(self.name, Table(self.title, heads, values), Table(self.title, columns, lines, _NOTES))
