"""perf_event_open(2): one sampling event and one side-band event per core, and their rings."""
