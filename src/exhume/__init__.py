"""exhume: a flight recorder for Linux nodes that digs up why a job died."""

import os

# Both must be said before numpy is first imported. Our arrays are sorted and summed, never
# multiplied: OpenBLAS would start a thread per core for that, with memory for each. And they live
# for a moment: to zero 2 MiB for each that begins one costs more than the faults it saves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")

__version__ = "0.1.0"
