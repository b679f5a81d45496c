"""Keeping rows, cells and measurements: in an SQLite file, as a folder of small files, as flat tables."""

from postel.experiments.store.sqlite import Store

__all__ = ["Store"]
