"""exhume: a flight recorder for Linux nodes that digs up why a job died."""

import os

# Our arrays are sorted and summed, never multiplied; OpenBLAS would start a thread per core for
# that, with memory for each. Must be said before numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
