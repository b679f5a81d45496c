"""What a graph and its labels are like: measures, the diagnosis made of them, its picture, a table of datasets."""

from postel.datasets.diagnosis.compute import diagnose
from postel.datasets.diagnosis.result import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
