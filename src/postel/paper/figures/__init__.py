"""One file per figure of ``postel reproduce``; each has a subclass of ``Target``."""
