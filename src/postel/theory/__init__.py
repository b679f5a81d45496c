"""The paper's illustrations of the method, as numbers and as pictures."""

from postel.theory.sals_comparison import SalsComparison, compare_with_sals
from postel.theory.toy import Step, toy_graph, work_through

__all__ = ["SalsComparison", "Step", "compare_with_sals", "toy_graph", "work_through"]
