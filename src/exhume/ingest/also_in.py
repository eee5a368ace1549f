"""What else a text has than what it is read as: whoever pastes a terminal has several in one file.

A file is one thing to the reader that takes it, and the rest of it would be lost without a word.
"""

from __future__ import annotations

import re

from exhume.derive.signatures import match
from exhume.ingest.lines import head_lines

_MOST_LINES = 1000
_KERNEL = re.compile(rb"^(?:\S.{0,60})?(?:\[ {0,8}\d{1,9}\.\d{6}\]| kernel:) ", re.MULTILINE)
_TABLE = re.compile(rb"^\d[^\n]{6,30} CPU +%usr? [^\n]*%idle", re.MULTILINE)
# Those that no line of a log looks like by chance.
_TOLD = frozenset(
    {"stat", "softirqs", "interrupts", "cgroups", "docker ps", "systemctl list-units"}
)


def in_log(head: bytes) -> tuple[str, ...]:
    """`head`: the first bytes of what is read as a log."""
    return _note([*_copies(head), *_tables(head)])


def in_copies(head: bytes) -> tuple[str, ...]:
    return _note(_kernel_lines(head))


def in_mpstat(head: bytes) -> tuple[str, ...]:
    return _note([*_kernel_lines(head), *_copies(head)])


def _note(found: list[str]) -> tuple[str, ...]:
    if not found:
        return ()
    return (
        f"it also has {' and '.join(found)}, which is left out: put each into a file of its own",
    )


def _kernel_lines(head: bytes) -> list[str]:
    if _KERNEL.search(head) is None:
        return []
    lines = head_lines(head, _MOST_LINES)
    spoken = any(_KERNEL.match(line.encode()) and match(line) for line in lines)
    return ["lines of a kernel log"] if spoken else []


def _tables(head: bytes) -> list[str]:
    return ["a table of mpstat"] if _TABLE.search(head) else []


def _copies(head: bytes) -> list[str]:
    from exhume.ingest.snapshots_sections import sections  # most logs are read by who has none

    kinds = dict.fromkeys(one.kind for one in sections(head) if one.kind in _TOLD)
    return [f"what {kind} shows" if " " in kind else f"a copy of {kind}" for kind in kinds]
