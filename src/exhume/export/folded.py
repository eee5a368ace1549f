"""Folded stacks, `process;frame;frame count`: what flamegraph.pl, inferno and speedscope read."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.export.names import frame_name
from exhume.model.answers import FlameTree
from exhume.model.stack import Frame, FrameKind

KERNEL_MARK = "_[k]"
"""What stackcollapse-perf.pl --kernel writes and flamegraph.pl --color=java looks for."""


def lines(tree: FlameTree, *, mark_kernel: bool = False) -> Iterator[str]:
    """Counts are in samples. A name's own semicolons and controls are escaped."""
    own, total = tree.self_ns.tolist(), int(tree.total_ns[0])
    if not tree.samples or not total:
        return
    # All samples of one rate weigh the same; where the rate changed this is their mean. What is
    # rounded off one line goes to the next, so that all of them are as many as there were.
    weight_ns = total / tree.samples
    carried = 0.0
    names = [folded_name(frame, mark_kernel=mark_kernel) for frame in tree.frames]
    parents = tree.parent.tolist()
    for node in range(1, len(parents)):
        if own[node] > 0:
            stack, at = [], node
            while at > 0:
                stack.append(names[at])
                at = parents[at]
            exact = own[node] / weight_ns + carried
            count = max(1, round(exact))
            carried = exact - count
            yield f"{';'.join(reversed(stack))} {count}"


def folded_name(frame: Frame, *, mark_kernel: bool = False) -> str:
    mark = KERNEL_MARK if mark_kernel and frame.kind == FrameKind.KERNEL else ""
    return frame_name(frame).replace(";", "\\x3b") + mark
