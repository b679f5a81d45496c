"""Choosing settings on validation nodes by rungs: fair to every method, and resumable from its rows alone."""
