"""Names as other tools get them: valid Unicode on one line, whatever the machine called a thing."""

from __future__ import annotations

from exhume.derive.printable import printable
from exhume.model.ids import told_id
from exhume.model.profile import ProfiledThread
from exhume.model.stack import Frame

NAMELESS = "[unknown]"


def shown_id(number: int) -> str:
    return "?" if told_id(number) is None else str(number)


def frame_name(frame: Frame) -> str:
    return printable(frame.name) or NAMELESS


def process_names(threads: tuple[ProfiledThread, ...]) -> list[str]:
    """For each thread the name of its process: that of its first thread, where it was sampled.

    Else the one that all its threads have, or its number: the name of one of several is none.
    Threads whose process nobody told are called as they are.
    """
    first: dict[tuple[str, int], str] = {}
    others: dict[tuple[str, int], set[str]] = {}
    for thread in threads:
        process = thread.boot_id, thread.pid
        if thread.pid == thread.tid:
            first[process] = thread.comm
        others.setdefault(process, set()).add(thread.comm)

    def name(thread: ProfiledThread) -> str:
        if told_id(thread.pid) is None:
            return thread.comm
        process = thread.boot_id, thread.pid
        names = {first[process]} if process in first else others[process]
        return next(iter(names)) if len(names) == 1 else f"pid {thread.pid}"

    return [printable(name(thread)) or NAMELESS for thread in threads]
