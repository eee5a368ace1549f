"""Names as other tools get them: valid Unicode on one line, whatever the machine called a thing."""

from __future__ import annotations

from exhume.derive.printable import printable
from exhume.model.profile import ProfiledThread
from exhume.model.stack import Frame

NAMELESS = "[unknown]"


def frame_name(frame: Frame) -> str:
    return printable(frame.name) or NAMELESS


def process_names(threads: tuple[ProfiledThread, ...]) -> list[str]:
    """For each thread the name of its process: that of its first thread, where it was sampled."""
    leaders: dict[tuple[str, int], str] = {}
    for thread in threads:
        if thread.pid == thread.tid or (thread.boot_id, thread.pid) not in leaders:
            leaders[thread.boot_id, thread.pid] = thread.comm
    return [printable(leaders[thread.boot_id, thread.pid]) or NAMELESS for thread in threads]
