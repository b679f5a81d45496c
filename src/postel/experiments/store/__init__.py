"""Stores rows, cells and measurements in an SQLite file, and exports them as a folder of files or flat tables."""

from postel.experiments.store.sqlite import Store

__all__ = ["Store"]
