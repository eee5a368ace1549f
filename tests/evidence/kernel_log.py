"""Lines in the kernel log that user space wrote: `/dev/kmsg` marks them as such."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import Struct

from exhume.host import Host
from exhume.model.window import Window
from exhume.sources.kmsg import KmsgReader
from exhume.store.queries import events
from tests.kernel.node import SECOND, Node, wait_for

TEXT = (
    "ena 0000:00:05.0 eth0: TX q {queue} is paused for too long (threshold 5000000). "
    "usecs since napi 6328000. napi scheduled: 1. napi CPU: 17. msecs since interrupt: 6324"
)
KMSG = Path("/dev/kmsg")


class Line(Struct, frozen=True):
    text: str
    queue: int
    written: float
    seen_after_seconds: float
    """How long it took until a reader of the recording saw it."""


def may_write() -> bool:
    """`off` throws away what user space writes."""
    setting = Path("/proc/sys/kernel/printk_devkmsg")
    return os.access(KMSG, os.W_OK) and not (
        setting.exists() and setting.read_text().strip() == "off"
    )


def write_line(node: Node, queue: int) -> Line:
    text = TEXT.format(queue=queue)
    written = time.time()
    KMSG.write_text(f"<4>{text}\n")

    def is_seen() -> bool:
        recent = Window(int((written - 1) * SECOND), int((written + 60) * SECOND))
        return any(
            event.text == text for event in events(node.recording(), recent, ("kernel-log",))
        )

    wait_for(is_seen, 15, "a line of the kernel log")
    return Line(text, queue, written, time.time() - written)


def sequence_of(text: str) -> int:
    """Of the newest record with that text."""
    reader = KmsgReader(Host(), trust_user=True)
    try:
        batch = reader.read(1_000_000)
        assert batch is not None
        return max(record.sequence for record in batch.records if record.text == text)
    finally:
        reader.close()
