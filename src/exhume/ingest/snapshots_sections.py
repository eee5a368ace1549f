"""A block of copied text → the raw files in it, told apart by how each begins."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from exhume.ingest.csv_fields import Column, column_of

# How each kind begins, at the start of a line. Strict: a log line must not look like one.
STARTS: tuple[tuple[str, bytes], ...] = (
    ("stat", rb"cpu +\d+ \d+ \d+ \d+[ \d]*$"),
    ("softirqs", rb" +CPU\d+(?: +CPU\d+)* *\n +HI:"),
    ("interrupts", rb" +CPU\d+(?: +CPU\d+)* *\n *[\w-]+: +\d"),
    ("schedstat", rb"version \d+\ntimestamp \d+$"),
    ("pressure", rb"(?:some|full) avg10=\d"),
    ("meminfo", rb"MemTotal: +\d+ kB$"),
    ("vmstat", rb"nr_free_pages \d+$"),
    # all of it, or what `grep memory` leaves
    (
        "cgroups",
        rb"(?:#subsys_name[ \t]+hierarchy[ \t]+num_cgroups[ \t]+enabled"
        rb"|memory[ \t]+\d+[ \t]+\d+[ \t]+[01])[ \t]*$",
    ),
    # all of it, or what `grep dying` leaves
    ("cgroup.stat", rb"nr_(?:dying_)?descendants \d+$"),
    # of v2, of v1, or what `grep throttled` leaves
    (
        "cpu.stat",
        rb"(?:usage_usec|nr_periods|nr_throttled|throttled_usec|throttled_time) \d+$",
    ),
    ("loadavg", rb"\d+\.\d\d \d+\.\d\d \d+\.\d\d \d+/\d+ \d+ *$"),
    ("ethtool -S", rb"NIC statistics:[ \t]*$"),
    ("softnet_stat", rb"[0-9a-f]{8}(?: [0-9a-f]{8}){8,}$"),
    # of docker and podman, also with --format; of crictl; what `docker ps -a | grep NAME` leaves
    (
        "docker ps",
        rb"(?:(?=[^\n]*  STATUS\b)(?:CONTAINER ID|NAMES|IMAGE) {2,}[^\n]*\b(?:NAMES|STATUS)\b.*"
        rb"|CONTAINER(?: ID)? {2,}IMAGE {2,}[^\n]*\bSTATE {2,}NAME\b.*"
        rb"|[0-9a-f]{12,64} {2,}\S+ {2,}(?:\"[^\n]*\" {2,})?[^\n]{1,40} ago {2,}"
        rb"(?:Up|Exited|Created|Restarting|Dead|Removal|Running)\b[^\n]*"
        rb"|\{\"Command\":(?=[^\n]*\"Names\":)(?=[^\n]*\"Status\":)[^\n]*\})$",
    ),
    # with its header, or what `--no-legend` and grep leave
    (
        "systemctl list-units",
        rb"(?: *UNIT +LOAD +ACTIVE +SUB\b"
        rb"|[^\w\n]{0,6}[\w:\\.@-]+\.(?:service|automount|device|mount|path|scope|slice|socket|swap"
        rb"|target|timer) +(?:loaded|masked|not-found|error|bad-setting)"
        rb" +(?:active|inactive|failed|activating|deactivating|reloading) +[a-z])",
    ),
    (
        "systemctl show",
        rb"(?:Id=[\w:\\.@-]+\.service|(?:NRestarts|MainPID)=\d+|(?:Type|Restart|Result)=[\w-]+"
        rb"|(?:Load|Active|Sub)State=[\w-]+)$",
    ),
    ("uptime", rb"\d{1,10}\.\d\d \d{1,12}\.\d\d$"),
    # `live dirs: 240`, `Percpu:   26112 kB`, `num_cgroups=352`; only where the name means something
    ("value", rb"(?:[A-Za-z][\w /().-]{1,60}?[:=][ \t]*\d{1,15}(?: ?[kKMG]i?B)?[ \t,;]*)+$"),
    ("count", rb" *\d{1,9} *$"),
)
_ANY = rb"|".join(b"(?P<k%d>%s)" % (i, start) for i, (_, start) in enumerate(STARTS))
_FIRST = re.compile(rb"(?:%s)" % _ANY, re.MULTILINE)
# At the start of a line, with something fixed in front, which the search can look for.
_NEXT = re.compile(rb"\n(?=%s)" % re.sub(rb"\(\?P<\w+>", b"(?:", _ANY), re.MULTILINE)
# `==> /proc/pressure/cpu <==` of head and tail, `--- cgroups`, `# cat /proc/stat`, a path alone,
# `$ docker ps -a`, `root@gpu-7:~# docker ps -a`, `[root@gpu-7 ~]# docker ps -a`; `+ docker ps -a`
# of a shell that shows what it does, and the command alone; `sh-4.2# cat /proc/stat`, `/ # date`
# and `gpu-7$ date` of shells in containers. What goes to the end of its line stays there: a line
# without an end would be looked at again from each of its characters.
# A unit that failed has `* ` before it where no locale was set, as under cron.
_DECORATED = (
    rb"(?!\* [\w:\\.@-]{1,256} +(?:loaded|masked|not-found|error|bad-setting) )"
    rb"(?:==> .* <==|[-=*#$+]{1,4} .*+|[-=*#]{3,}+.*+|/[\w.,/@:\\-]+"
    rb"|(?i:cpu|memory|io|irq):?"  # of pressure
    rb"|(?:sudo )?"
    rb"(?:cat|find|grep|head|tail|ls|wc|awk|ethtool|docker|podman|crictl|systemctl) [^\s=].*+"
    rb"|(?:[A-Za-z][\w.-]{0,63}|(?:~|/[\w./-]{0,100}) )[#$](?: .*+)?"
    rb"|\[?[\w.-]{1,64}@[\w.-]{1,64}[: ][^\n#$]{0,200}[#$](?: .*+)?)[ \t]*"
)
DECORATION = re.compile(rb"^%b$" % _DECORATED, re.MULTILINE)
"""A line that tells what stands below it."""
# What crictl, podman and docker warn of above their tables: `WARN[0000] runtime connect using …`
_WARNED = (
    rb"(?:(?:WARN|ERRO|INFO)\[\d{4,9}\] |WARNING: "
    rb"|time=\"[^\"\n]{1,64}\" level=(?:warn|err|info)).*+"
)
_HEADING = re.compile(rb"(?:%b|%b|[ \t]*)\n" % (_DECORATED, _WARNED))
# `/proc/pressure/cpu:some avg10=…` of `grep . /proc/pressure/*`
# and `/sys/fs/cgroup/system.slice/cgroup.stat:nr_descendants 2`: cgroups have names of any sort.
_GREPPED = re.compile(
    rb"^(?P<path>\S*c(?:group|pu)\.stat(?:\.local)?(?=:[a-z])|(?:/|[\w-]+/)[\w./-]+):(?=[^\n])",
    re.MULTILINE,
)
_NAMED = re.compile(r"([A-Za-z][^:=]{0,100}?)[:=]\s*(\d+) ?([kKMG]i?B)?(?=[\s,;]|$)")
_BLANK = re.compile(rb"\n[ \t]*\n")
_WITH_BLANKS = frozenset({"systemctl show", "systemctl list-units"})
_BY_LINE = frozenset(
    {"softnet_stat", "systemctl show", "systemctl list-units", "count", "docker ps"}
)
"""Each of their lines looks like the first."""
_ONE_LINE = frozenset({"loadavg", "uptime", "value"})
_SHORT = frozenset(
    {"cgroups", "cgroup.stat", "cpu.stat", "loadavg", "pressure", "uptime", "value", "count"}
)
"""A number below one of them is not of it; below all others it is a line like theirs."""


_COUNTS_BELOW = {
    "cgroup.stat": re.compile(rb"(?:nr_\w+ \d+(?:\n|$))+"),
    "cpu.stat": re.compile(rb"(?:[a-z]\w*_[\w.]+ \d+(?:\n|$))+"),
}
"""Their lines: others may follow without a heading."""


class Section(Struct, frozen=True):
    kind: str
    text: bytes
    at: int
    """Where it begins in the block."""
    hint: str = ""
    """What stands above it: a path, a command."""


def ends_whole(text: bytes) -> bool:
    """With a line, or with the prompt that stands below what was copied out of a terminal."""
    return text.endswith(b"\n") or DECORATION.fullmatch(text, text.rfind(b"\n") + 1) is not None


def first_kind(text: bytes) -> str:
    """What a text begins with, below headings and prompts; empty where it is nothing known."""
    text = without_paths(text)
    at = 0
    while (line := _HEADING.match(text, at)) is not None:
        at = line.end()
    found = _FIRST.match(text, at)
    return "" if found is None else _kind(found)


def without_paths(block: bytes) -> bytes:
    """What grep put before each line goes above all of a file."""
    found = _GREPPED.match(block) or _GREPPED.search(block)
    if found is None:
        return block
    lines, last = [], b""
    for line in block.split(b"\n"):
        found = _GREPPED.match(line)
        if found is not None and found["path"] != last:
            lines.append(b"==> %b <==" % found["path"])
        last = found["path"] if found is not None else b""
        lines.append(line[found.end() :] if found is not None else line)
    return b"\n".join(lines)


def sections(block: bytes) -> Iterator[Section]:
    """What nobody knows is passed over. Of a block `without_paths`."""
    current: Section | None = None
    end_of_last = 0
    for at in _starts(block):
        found = _FIRST.match(block, at)
        if found is None:  # only looked like one at the end of the text
            continue
        kind = _kind(found)
        if kind == "value" and not named_values(found[0]):
            continue
        if current is not None and _goes_on(current, kind, block, at):
            continue
        if current is not None:
            yield _cut(current, block[current.at : at])
        current = Section(kind, b"", at, _above(block[end_of_last:at]))
        end_of_last = at
    if current is not None:
        yield _cut(current, block[current.at :])


def _starts(block: bytes) -> Iterator[int]:
    if _FIRST.match(block):
        yield 0
    yield from (found.end() for found in _NEXT.finditer(block))


def _kind(found: re.Match[bytes]) -> str:
    return STARTS[int((found.lastgroup or "k0")[1:])][0]


def _goes_on(current: Section, kind: str, block: bytes, at: int) -> bool:
    if kind == "systemctl show" and current.kind == kind:
        return True
    if kind != current.kind or DECORATION.search(block[current.at : at]):
        # A line of a list of numbers is no count, nor is one of a table.
        return kind in ("count", "value") and current.kind not in _SHORT
    if kind == "cgroups":
        return not block.startswith(b"#", at)
    if kind == "pressure":
        return not block.startswith(b"some", at)
    if kind == "cgroup.stat":
        return not block.startswith(b"nr_descendants", at)
    if kind == "cpu.stat":
        first = block[current.at : block.index(b" ", current.at) + 1]
        return not block.startswith(first, at)
    return kind in _BY_LINE


def _cut(section: Section, text: bytes) -> Section:
    if found := DECORATION.search(text, 1):
        text = text[: found.start()]
    lines = _COUNTS_BELOW.get(section.kind)
    if lines is not None and (found := lines.match(text)):
        text = found[0]
    if section.kind in _ONE_LINE:
        text = text.partition(b"\n")[0]
    if section.kind not in _WITH_BLANKS and (found := _BLANK.search(text)):
        text = text[: found.start() + 1]
    return replace(section, text=text.strip(b"\n") + b"\n")


def named_values(line: bytes) -> list[tuple[Column, int]]:
    """What a line of names and numbers says, as far as the names mean something here."""
    found = []
    for name, value, unit in _NAMED.findall(line.decode("utf-8", "replace")):
        column = column_of(f"{name.strip()}_{unit}" if unit else name.strip())
        if column is not None:
            found.append((column, round(int(value) * column.factor)))
    return found


def _above(text: bytes) -> str:
    lines = [line for line in DECORATION.findall(text) if line.strip()]
    return lines[-1].decode("utf-8", "replace")[:200] if lines else ""
