"""One file per table of ``postel reproduce``; each has a subclass of ``Target``."""
