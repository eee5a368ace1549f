"""pprof's profile.proto, gzipped: https://github.com/google/pprof/blob/main/proto/profile.proto

Samples are added up by core, thread and stack. The process is the root of each stack, as in a flame
graph, and a label too. Numbers are labels with a unit, since pprof drops a zero that has none; as
text `-tagfocus core=39` would not find them. Recordings keep names, not addresses, so locations
have none, and mappings no range. Samples of what is no time (faults, switches) are counted only.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from exhume.derive.printable import printable
from exhume.export.names import frame_name, process_names
from exhume.export.protobuf import data, number, packed
from exhume.model.core import NO_CORE
from exhume.model.ids import told_id
from exhume.model.profile import ProfiledThread, ProfileTotals
from exhume.model.stack import FrameKind, StackTree

MAX_ROWS = 1_000_000
"""Different cores, threads and stacks. Go's pprof takes 3 KB of memory for each."""
_ROWS = 4096


class Strings:
    """The string table; number 0 is the empty one."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def encoded(self) -> Iterator[bytes]:
        for text in self._numbers:
            yield data(6, text.encode())


def chunks(
    totals: ProfileTotals, seconds_sampled: float, *, comments: Sequence[str]
) -> Iterator[bytes]:
    # A gzip file whose header has no time: the same samples give the same bytes.
    packer = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for message in messages(totals, seconds_sampled, comments):
        yield packer.compress(message)
    yield packer.flush()


def messages(
    totals: ProfileTotals, seconds_sampled: float, comments: Sequence[str]
) -> Iterator[bytes]:
    strings = Strings()
    is_of_time = totals.tables.is_of_time
    kinds = [("samples", "count"), ("cpu", "nanoseconds")] if is_of_time else [("samples", "count")]
    types = [number(1, strings[kind]) + number(2, strings[unit]) for kind, unit in kinds]
    yield b"".join(data(1, one) for one in types)
    yield from _samples(totals, strings)
    yield from _places(totals.tables.tree, strings, totals.tables.node)
    yield number(9, totals.tables.window.start_ns)
    # Shares of one core are of what was sampled: a window may begin before it and end after it.
    yield number(10, round(seconds_sampled * 1e9))
    yield data(11, types[-1])
    if is_of_time:
        yield number(12, _period_ns(totals))
    # One by one, not packed: old readers of repeated numbers know both, some tools only this.
    yield b"".join(number(13, strings[printable(text)]) for text in comments)
    yield number(14, strings[kinds[-1][0]])
    yield from strings.encoded()


def _period_ns(totals: ProfileTotals) -> int:
    """That of most samples: the rate may have been lowered for a while."""
    periods = totals.weight_ns // np.maximum(totals.count, 1)
    if not len(periods):
        return 0
    distinct, which = np.unique(periods, return_inverse=True)
    return int(distinct[np.bincount(which, totals.count).argmax()])


def _samples(totals: ProfileTotals, strings: Strings) -> Iterator[bytes]:
    tables = totals.tables
    processes = process_names(tables.threads)
    of_thread = [
        _thread_labels(thread, process, strings, totals.detail != "process")
        for thread, process in zip(tables.threads, processes, strict=True)
    ]
    cores = np.unique(totals.core).tolist()
    of_core = {core: _count(strings, "core", core, "core") for core in cores if core != NO_CORE}
    locations = _LocationLists(tables.tree)
    columns = (totals.core, totals.thread, totals.stack, totals.count, totals.weight_ns)
    for begin in range(0, len(totals), _ROWS):
        rows = (column[begin : begin + _ROWS].tolist() for column in columns)
        yield b"".join(
            data(
                2,
                locations[stack]
                + packed(2, (count, weight) if tables.is_of_time else (count,))
                + of_core.get(core, b"")
                + of_thread[thread],
            )
            for core, thread, stack, count, weight in zip(*rows, strict=True)
        )


def _thread_labels(
    thread: ProfiledThread, process: str, strings: Strings, is_thread: bool
) -> bytes:
    labels = {
        "comm": process,
        "thread": thread.comm if is_thread else "",
        "cgroup": thread.cgroup,
        "unit": thread.unit,
        "container": thread.container,
        "pod": thread.pod,
    }
    ids = {"pid": told_id(thread.pid), "tid": told_id(thread.tid) if is_thread else None}
    return b"".join(
        [
            *(_label(strings, key, text) for key, text in labels.items() if text),
            *(_count(strings, key, value, "id") for key, value in ids.items() if value is not None),
        ]
    )


def _label(strings: Strings, key: str, text: str) -> bytes:
    return data(3, number(1, strings[key]) + number(2, strings[printable(text)]))


def _count(strings: Strings, key: str, value: int, unit: str) -> bytes:
    return data(3, number(1, strings[key]) + number(3, value) + number(4, strings[unit]))


class _LocationLists(dict[int, bytes]):
    """Node → its stack as a list of locations, the leaf first; each made once."""

    def __init__(self, tree: StackTree) -> None:
        super().__init__()
        self._parent, self._frame = tree.parent.tolist(), tree.frame.tolist()

    def __missing__(self, node: int) -> bytes:
        locations: list[int] = []
        at = node
        while at > 0:
            locations.append(self._frame[at] + 1)
            at = self._parent[at]
        text = self[node] = packed(1, locations)
        return text


def _places(tree: StackTree, strings: Strings, node: str) -> Iterator[bytes]:
    """A location and a function for each frame, a mapping for each module.

    pprof takes the first mapping for what was profiled: that is the machine, whose processes are
    its frames.
    """
    mappings: dict[str, int] = {node: 1}
    for index in np.unique(tree.frame[1:]).tolist():
        frame, own = tree.frames[index], index + 1
        name = strings[frame_name(frame)]
        yield data(5, number(1, own) + number(2, name) + number(3, name))
        mapping = 1 if frame.kind == FrameKind.PROCESS else 0
        if frame.module:
            mapping = mappings.setdefault(frame.module, len(mappings) + 1)
        yield data(4, number(1, own) + number(2, mapping) + data(4, number(1, own)))
    for module, mapping in mappings.items():
        # Named already: nobody needs to look for the file to find the functions.
        yield data(3, number(1, mapping) + number(5, strings[printable(module)]) + number(7, 1))
