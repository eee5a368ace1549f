"""Pure: readings in, rates, shares and baselines out. No files, no clock, no network."""
