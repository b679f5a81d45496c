"""One file per figure of ``postel reproduce``; each has an object ``TARGET``."""
