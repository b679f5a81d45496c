"""Every claim of the paper with the rule by which our cells decide it, one file per part of the paper."""

from postel.paper.claims import appendix, few_labels, main_table, training
from postel.paper.claims.verdicts import Claim

#: The claims in the order of their definitions.
CLAIMS = tuple(
    found
    for part in (main_table, training, few_labels, appendix)
    for found in vars(part).values()
    if isinstance(found, Claim)
)

__all__ = ["CLAIMS", "Claim"]
