"""How much of what the kernel did has names: without kallsyms nobody can tell what it was."""

from __future__ import annotations

import numpy as np

from exhume.model.stack import FrameKind, Mode
from exhume.model.window import Window
from exhume.store.recording import Recording

_LOOKED_AT = 3
"""Names are there or not for a whole recording; reading all trees of a night takes a second."""


def unnamed_kernel_ratio(recording: Recording, window: Window) -> float | None:
    """Of samples in the kernel, those of functions without a name; None where there are none."""
    views = sorted(recording.views(window), key=lambda view: -view.sample_count)
    unnamed = total = 0
    for view in views[:_LOOKED_AT]:
        with recording.sparing(view):
            tree, counts = view.tree().tree, view.stack_counts()
            kinds = np.array([frame.kind for frame in tree.frames])
            in_kernel = tree.mode != Mode.USER
            total += int(counts[in_kernel].sum())
            unnamed += int(counts[in_kernel & (kinds[tree.frame] == FrameKind.UNKNOWN)].sum())
    return unnamed / total if total else None
