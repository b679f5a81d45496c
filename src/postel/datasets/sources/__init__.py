"""Where datasets come from: one file per source, and the lookup that asks them in order."""

from postel.datasets.sources.lookup import Found, NotAtHandError, find_cache, find_data_root, find_local, obtain

__all__ = ["Found", "NotAtHandError", "find_cache", "find_data_root", "find_local", "obtain"]
