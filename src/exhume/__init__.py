"""exhume: a flight recorder for Linux nodes that digs up why a job died."""

__version__ = "0.1.0"
