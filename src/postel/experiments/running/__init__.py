"""Runs specs one at a time, in worker processes or on a cluster; no spec is run twice."""
