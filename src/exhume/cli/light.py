"""The recording for questions about counters and events: the live head without its samples."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from exhume.cli import common

if TYPE_CHECKING:
    from exhume.store.recording import Recording


def open_light(args: argparse.Namespace) -> Recording:
    """As `common.open_recording`, and quicker."""
    directory = common.data_dir(args)
    if not directory.is_dir():
        return common.open_recording(args)  # says what to do
    from exhume.store.light_heads import read_light_heads
    from exhume.store.recording import Recording

    return Recording.open(directory, heads=read_light_heads)
