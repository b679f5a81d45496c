"""Running specs: one at a time, in worker processes or on a cluster, none twice."""
