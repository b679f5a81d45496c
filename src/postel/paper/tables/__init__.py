"""One file per table of ``postel reproduce``; each has an object ``TARGET``."""
