"""Values only: no files, no clock, no network. Times are CLOCK_MONOTONIC unless named wall."""
