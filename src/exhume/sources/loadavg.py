"""/proc/loadavg: how many threads run or are ready to. Its averages hide single cores."""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import number

PATH = "proc/loadavg"


class LoadAverage(Struct, frozen=True):
    one_minute: float
    running_count: int
    """Running or ready to run, as `procs_running` of /proc/stat."""
    threads_count: int


def read(host: Host) -> LoadAverage | None:
    text = host.read_proc("loadavg")
    return None if text is None else parse(text)


def parse(text: str) -> LoadAverage:
    columns = text.split()
    running, slash, threads = (columns[3] if len(columns) == 5 else "").partition("/")
    if not slash:
        raise ParseError(PATH, 1, "`0.00 0.00 0.00 running/threads pid`")
    whole, point, part = columns[0].partition(".")
    if not point:
        raise ParseError(PATH, 1, "an average with a decimal point")
    average = number(whole, PATH, 1) + number(part, PATH, 1) / 10 ** len(part)
    return LoadAverage(average, number(running, PATH, 1), number(threads, PATH, 1))


def readings(load: LoadAverage) -> tuple[Reading, ...]:
    return (Reading.of_node("system.running", load.running_count),)
