"""The trace that the kernel prints below a lockup: it names the path that held the core, and who.

watchdog: BUG: soft lockup - CPU#1 stuck for 11s! [statsd-node:172]
CPU: 1 PID: 172 Comm: statsd-node Tainted: G        W    L    5.4.0-1146-aws #156-Ubuntu
RIP: 0010:cpumask_next+0x0/0x20
Call Trace:
 ? mem_cgroup_node_nr_lru_pages+0x97/0x100
 memcg_numa_stat_show+0x17e/0x200
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from exhume.derive.signatures import FieldValue, Match

MAX_FRAMES = 30
_MAX_LINES = 120
_WITHIN_NS = 2_000_000_000
_CLASSES = ("cpu", "io-lock", "kernel")
_DETAILS = (".detail", ".starved", ".owner", "_slow")
"""Signatures of those classes that belong to a message which has begun, or have no trace."""

# ` ? f+0x1/0x2 [module]`, ` [<ffffffff81a>] f+0x1/0x2`, `RIP: 0010:f+0x1/0x2`, `pc : f+0x1/0x2`
_FRAME = re.compile(
    r"\s*(?:(?P<at>RIP: (?:0010|e030):|pc : )(?:\[<[0-9a-f]+>\] {0,2})*|(?:\[<[0-9a-f]+>\] ?)?)"
    r"(?P<unsure>\? ?)?(?P<name>[\w.$]{1,128})\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}"
    r"(?: \[[\w ]{1,80}\])?\s*"
)
# Newer kernels have `UID: 0 ` before the pid.
_WHO = re.compile(
    r"\s*CPU: (?P<core>\d{1,5}) (?:UID: \d{1,10} )?PID: (?P<pid>\d{1,10}) Comm: (?P<comm>.{1,64}?) "
    r"(?:Kdump: loaded )?(?:Not tainted|Tainted: ).*"
)
_AROUND = re.compile(r"\s*(?:Call [Tt]race:|</?(?:IRQ|NMI|TASK|SOFTIRQ|EOI|#\w+)>)\s*")


class TraceReader(Struct):
    """Told each line of a kernel log; what it takes is part of a trace."""

    _fields: dict[str, FieldValue] | None = None
    _until_ns: int = 0
    _left: int = 0
    _frames: list[str] = field(default_factory=list)
    _core: FieldValue | None = None
    _is_crash: bool = False

    def opened_by(self, found: Match, time_ns: int, fields: dict[str, FieldValue]) -> None:
        """`fields`: of the line, where the frames go, the innermost first as they are printed."""
        if found.cls in _CLASSES and not found.id.endswith(_DETAILS):
            self._fields, self._frames = fields, []
            self._until_ns, self._left = time_ns + _WITHIN_NS, _MAX_LINES
            self._core, self._is_crash = found.fields.get("core"), found.cls == "kernel"

    def takes(self, text: str, time_ns: int) -> bool:
        if self._fields is None:
            return False
        self._left -= 1
        if self._left < 0 or time_ns > self._until_ns:
            self._fields = None
            return False
        frame = _FRAME.fullmatch(text)
        if frame is None and (who := _WHO.fullmatch(text)) is not None:
            self._named(who)
            return True
        if frame is None:
            return _AROUND.fullmatch(text) is not None
        is_new = not self._frames or self._frames[-1] != frame["name"]
        if not frame["unsure"] and is_new and len(self._frames) < MAX_FRAMES:
            self._frames.append(frame["name"])
            self._fields["frames"] = ";".join(self._frames)
        return True

    def _named(self, who: re.Match[str]) -> None:
        """On that core, which others may have told of. Its idle thread (0) is nobody."""
        is_of_it = self._is_crash or self._core == int(who["core"])
        if self._fields is not None and is_of_it and who["pid"] != "0":
            self._fields.setdefault("comm", who["comm"])
            self._fields.setdefault("pid", int(who["pid"]))
