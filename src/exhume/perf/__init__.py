"""perf records: the decoder that rings, perf.data and pipes share, and the names of addresses."""
