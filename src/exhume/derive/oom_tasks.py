"""The list of tasks that the kernel prints before it kills one of them: who had the memory.

[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[  19106]     0 19106      877      342        0      342         0    49152        0             0 api
[  19750]     0 19750    36481    35918    35584      334         0   331776        0          -900 agent

Which columns it has differs from kernel to kernel; `rss` and `name` are in all of them. It counts in
pages, whose size it does not say.
"""  # noqa: E501

from __future__ import annotations

import re

from msgspec import Struct, field

from exhume.derive.signatures import FieldValue, Match

_HEAD = re.compile(r"\s*\[\s*pid\s*\]\s+uid\s+tgid\s+total_vm\s+rss\s.{0,120}\bname\s*")
_ROW = re.compile(r"\s*\[\s*(?P<pid>\d{1,10})\]\s+(?P<rest>\d.{0,200})")
_WITHIN_NS = 10_000_000_000
"""A slow console prints a long list for seconds."""
_MAX_TASKS = 50_000


class OomTasks(Struct):
    """Told each line of a kernel log; what it takes is part of a list."""

    _columns: tuple[str, ...] = ()
    _last_ns: int = 0
    _tasks: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By pid: pages, and name."""

    def takes(self, text: str, time_ns: int) -> bool:
        if "total_vm" in text and _HEAD.fullmatch(text):
            self._columns = tuple(text[text.index("]") + 1 :].split())
            self._tasks, self._last_ns = {}, time_ns
            return True
        if not self._columns:
            return False
        if time_ns > self._last_ns + _WITHIN_NS:
            self._columns, self._tasks = (), {}
            return False
        row = _ROW.fullmatch(text)
        if row is None:
            return False
        values = row["rest"].split(None, len(self._columns) - 1)
        rss = values[self._columns.index("rss")] if len(values) == len(self._columns) else ""
        if not rss.isdigit():
            return False
        self._last_ns = time_ns
        if len(self._tasks) < _MAX_TASKS:
            self._tasks[int(row["pid"])] = int(rss), values[-1].strip()
        return True

    def about(self, kill: Match | None, time_ns: int) -> dict[str, FieldValue]:
        """What it says of who was killed, and of who had most; nothing where there is no list."""
        if kill is None or kill.id != "oom.kill" or not self._tasks:
            return {}
        total = sum(pages for pages, _ in self._tasks.values())
        own, _ = self._tasks.get(_number(kill.fields.get("pid")), (None, ""))
        if own is None or not total or time_ns > self._last_ns + _WITHIN_NS:
            return {}
        pid, (most, name) = max(self._tasks.items(), key=lambda item: item[1][0])
        return {
            "own_percent": round(100 * own / total, 1),
            "largest_comm": name,
            "largest_pid": pid,
            "largest_percent": round(100 * most / total, 1),
        }


def _number(value: FieldValue | None) -> int:
    return value if isinstance(value, int) else -1
