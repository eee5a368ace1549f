"""What an answer without samples says: no more than is known."""

from __future__ import annotations


def no_samples(*, is_filtered: bool, seconds_sampled: float) -> str:
    """With a filter others may have run: then nothing is said of the cores."""
    if not seconds_sampled:
        return "No samples were taken in this window."
    if is_filtered:
        return "No sample of this window fits the filter."
    return "No samples: the cores were idle."
