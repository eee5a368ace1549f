"""Wall time for inputs whose times count from somewhere else: what an input claims.

perf's default clock and the kernel log's are one, and count from about boot. Best is a reading of
both clocks at one instant (`perf record -k`); then the name of the file, or of the one that perf
was told to write, if it says when the recording was started; and only then when the file was last
written, which any copy changes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from pathlib import Path, PurePath

from msgspec import Struct

from exhume.ingest.piece import Claim, Trust
from exhume.ingest.record_options import is_of_some, record_options
from exhume.ingest.report import BY_FILE_TIME
from exhume.perf.datafile import PerfData
from exhume.perf.script_header import ScriptHeader, captured_at

NS = 1_000_000_000
CLOCK_REALTIME = 0
DAY_NS = 86_400 * NS

# perf-HOST-20250102-03-04-05-120s.data, perf-gpu-node-54-20261115-201517-340s.data.gz,
# stat-20261115201517.txt of `date +%Y%m%d%H%M%S`, `2026-11-15 20:15:17`
_NAME = re.compile(
    r"(?:^|[^0-9])(\d{4})-?(\d\d)-?(\d\d)[-_T. ]?(\d\d)[-:.]?(\d\d)[-:.]?(\d\d)(Z?)(?![0-9])"
)
# stat-1794773717.txt, stat.1794773717630
_NAME_EPOCH = re.compile(r"(?:^|[^0-9A-Za-z])(1\d{9})(\d{3})?(?![0-9A-Za-z])")
# perf record --switch-output or --timestamp-filename: perf.data.2026111619024467
_PERF_NAME = re.compile(r"\.(\d{14})(\d\d)(?:$|\.)")
# perf record -F 97 -g -a -o /out/perf-gpu-node-54-20261115-201517-340s.data -- sleep 340
_OUTPUT = re.compile(r"\s(?:-o ?|--output[= ])(\S+)")
# Then its name is that of the first of many files.
_ROLLING = re.compile(r"\s--(?:switch-output|timestamp-filename)\b")
_HOST = re.compile(r"perf-(?P<host>[\w.-]+?)-\d{4}-?\d\d-?\d\d[-_T. ]?\d\d")
_BOTH_READ = "both clocks were recorded"
_KEPT_NS = 2 * NS
"""Files whose times are as far from each other as their folders' names have kept their own."""
_LAST_NS = 7_258_118_399 * 1_000_000_000
"""The end of 2199: no date that is later is read anywhere, and ext4 takes some damaged time of a
file for 2446, which is more nanoseconds than 64 bits hold."""
_MOST_UPTIME_NS = 20 * 365 * DAY_NS
WALL_TIMES = Claim(0, Trust.MEASURED, "its times are wall times")


class ClockHints(Struct, frozen=True):
    """Turns what an input says of its clock into a claim."""

    offset_ns: int | None = None
    """Told by the user; counts above all."""
    zone: tzinfo | None = None
    """Of local times that do not say it; told by the user."""

    def of_perf_data(
        self, path: Path, data: PerfData, first_ns: int | None, last_ns: int | None
    ) -> Claim | None:
        if self.offset_ns is not None:
            return self._told(self.offset_ns)
        if data.clock_id == CLOCK_REALTIME:
            return WALL_TIMES
        if (clock := data.features.clock) is not None:
            return Claim(clock.wall_ns - clock.clock_ns, Trust.MEASURED, _BOTH_READ)
        return self._of_file(path, first_ns, last_ns, "", " ".join(data.features.command))

    def of_script(
        self, path: Path, header: ScriptHeader, first_ns: int | None, last_ns: int | None
    ) -> Claim | None:
        if self.offset_ns is not None:
            return self._told(self.offset_ns)
        if header.clock == "realtime":
            return WALL_TIMES
        if header.reference is not None:  # of CLOCK_TAI, which looks like wall time, too
            wall, clock = header.reference
            return Claim(wall - clock, Trust.MEASURED, _BOTH_READ)
        if is_wall_time(first_ns):
            return WALL_TIMES
        if header.dated is not None:
            date, clock = header.dated
            wall = _seconds_ns(date.replace(tzinfo=self.zone or UTC))
            how = f"by the dates in its lines (perf script -F +tod), {self._taken}"
            return Claim(wall - clock, Trust.FILE_NAME, how, self.zone is None)
        return self._of_file(
            path, first_ns, last_ns, header.captured, header.command, header.recorded
        )

    @property
    def _taken(self) -> str:
        return "in the zone told" if self.zone else "taken as UTC"

    @staticmethod
    def _told(offset_ns: int) -> Claim:
        seconds = Decimal(offset_ns).scaleb(-9).normalize()  # to the last digit: to be used again
        return Claim(offset_ns, Trust.TOLD, f"--offset {seconds:f}")

    def _of_file(
        self,
        path: Path,
        first_ns: int | None,
        last_ns: int | None,
        captured: str,
        command: str,
        whole: tuple[int, int] | None = None,
    ) -> Claim | None:
        """`whole`: first and last of all that was captured, where the file is a part of it."""
        if first_ns is None or last_ns is None:
            return None
        zone, taken, is_local = self.zone or UTC, self._taken, self.zone is None
        written_to = _output_name(command)
        began_ns, done_ns = first_ns, last_ns
        if whole is not None and _holds(whole, first_ns, last_ns):
            began_ns, done_ns = whole
        started = name_time_ns(path.name, zone)
        if started is not None and started == name_time_ns(written_to, zone):
            first_ns = began_ns  # named like the capture, it says when that was started
        off = "a second or two off"
        if is_of_some(record_options(command)):  # before they run there is no sample
            off += ", and early by as long as its processes did not run at first"
        if started is not None:
            how = f"by the time in its name, {taken}: {off}"
            is_local &= not says_zone(path.name)
            return Claim(started - first_ns, Trust.FILE_NAME, how, is_local)
        if (ended := _name_end_ns(path.name, zone)) is not None:
            how = f"by the time in its name, when perf closed it, {taken}: a second or two off"
            return Claim(ended - done_ns, Trust.FILE_NAME, how, is_local)
        if (started := name_time_ns(written_to, zone)) is not None:
            how = f"by the time in the name that perf wrote it to, {taken}: {off}"
            is_local &= not says_zone(written_to)
            return Claim(started - began_ns, Trust.FILE_NAME, how, is_local)
        if (written := _captured_ns(captured, zone)) is not None:
            how = f"{BY_FILE_TIME} its header says it was captured, {taken}"
            return Claim(written - done_ns, Trust.FILE_TIME, how)
        how = f"{BY_FILE_TIME} the file was last written; --offset sets it"
        return Claim(written_ns(path) - last_ns, Trust.FILE_TIME, how)


def _holds(whole: tuple[int, int], first_ns: int, last_ns: int) -> bool:
    """A text has its header's clock, or what is above it is of something else."""
    return whole[0] <= first_ns and last_ns <= whole[1] + NS


def written_ns(path: Path) -> int:
    """When the file was written, as it says."""
    return min(path.stat().st_mtime_ns, _LAST_NS)


def is_wall_time(first_ns: int | None) -> bool:
    """No machine was up for so long: text without a header does not say which clock it is."""
    return first_ns is not None and first_ns > _MOST_UPTIME_NS


def name_time_ns(name: str, zone: tzinfo = UTC) -> int | None:
    """When a recording was started, if the file's name says so."""
    if (found := _NAME_EPOCH.search(name)) is not None:
        return int(found[1]) * NS + int(found[2] or 0) * (NS // 1000)
    found = _NAME.search(name)
    if found is None:
        return None
    *digits, is_utc = found.groups()
    return _digits_ns("".join(digits), UTC if is_utc else zone)


def copied_ns(path: Path, zone: tzinfo = UTC) -> tuple[int, str] | None:
    """When a file was copied, by its name, or by that of its folder where there is one for each
    time and the files' own times were lost: a folder's may be local, theirs is not."""
    if (named := name_time_ns(path.name, zone)) is not None:
        return named, "name"
    folder = path.absolute().parent
    if (named := name_time_ns(folder.name, zone)) is None:
        return None
    beside = _times_beside(folder.parent, zone)
    ends = [*beside[:1], *beside[-1:], (named, folder.name)]
    far_ns, far = max(ends, key=lambda one: abs(one[0] - named))
    other = folder.parent / far / path.name
    if far == folder.name or not other.is_file():
        return None
    apart_ns = other.stat().st_mtime_ns - path.stat().st_mtime_ns
    is_kept = abs(apart_ns - (far_ns - named)) <= _KEPT_NS
    return None if is_kept else (named, "folder's name")


@lru_cache(maxsize=16)
def _times_beside(parent: Path, zone: tzinfo) -> list[tuple[int, str]]:
    """Folders with a time in their name, in order; none where nobody may look."""
    try:
        names = [one.name for one in parent.iterdir() if one.is_dir()]
    except OSError:
        return []
    found = ((name_time_ns(name, zone), name) for name in names)
    return sorted((at, name) for at, name in found if at is not None)


def _name_end_ns(name: str, zone: tzinfo) -> int | None:
    """When perf closed a file that it named itself: to hundredths of a second."""
    found = _PERF_NAME.search(name)
    if found is None:
        return None
    ended = _digits_ns(found[1], zone)
    return None if ended is None else ended + int(found[2]) * (NS // 100)


def says_zone(name: str) -> bool:
    """Seconds since 1970, or with a Z."""
    found = _NAME.search(name)
    return _NAME_EPOCH.search(name) is not None or (found is not None and bool(found[7]))


def _output_name(command: str) -> str:
    """What perf was told to write to; empty where it was not."""
    found = _OUTPUT.search(command)
    return "" if found is None or _ROLLING.search(command) else PurePath(found[1]).name


def name_host(name: str) -> str:
    found = _HOST.search(name)
    return found["host"] if found else ""


def _digits_ns(digits: str, zone: tzinfo) -> int | None:
    """20261115201517; not by strptime, which takes 8 ms to load."""
    try:
        found = datetime.fromisoformat(f"{digits[:8]}T{digits[8:]}").replace(tzinfo=zone)
    except ValueError:
        return None
    return _seconds_ns(found) if 1990 <= found.year < 2200 else None


def _captured_ns(text: str, zone: tzinfo) -> int | None:
    found = captured_at(text)
    return None if found is None else _seconds_ns(found.replace(tzinfo=zone))


def _seconds_ns(at: datetime) -> int:
    """A float of seconds is exact to a quarter of a microsecond only."""
    return int(at.replace(microsecond=0).timestamp()) * NS + at.microsecond * 1000
