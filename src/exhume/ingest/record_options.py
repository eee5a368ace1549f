"""What `perf record` was told, by the command line in a capture: of whom it is, and of which cores.

tools/perf/builtin-record.c and tools/lib/subcmd/parse-options.c: short options may stand together
(`-agF 99`), and the value of the last of them is what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WITH_A_VALUE = "CDFGcejkmoprtu"
_WITH_ONE_ATTACHED = "ISz"
"""`-I`, `-Iax,bx`: never the next word."""
_NAMES = {
    "all-cpus": "a", "branch-filter": "j", "cgroup": "G", "clockid": "k", "count": "c", "cpu": "C",
    "delay": "D", "event": "e", "freq": "F", "mmap-pages": "m", "output": "o", "pid": "p",
    "realtime": "r", "tid": "t", "uid": "u",
}  # fmt: skip
_LONG_WITH_A_VALUE = {
    "affinity", "call-graph", "clang-opt", "clang-path", "control", "filter", "max-size",
    "mmap-flush", "num-thread-synthesize", "proc-map-timeout", "switch-max-files",
    "switch-output-event", "synth", "vmlinux",
}  # fmt: skip
_OF_SOME = frozenset("Gptu")
_MOST_CORES = 4096
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def record_options(command: str) -> dict[str, str]:
    """By their short names, where they have one; not those of what perf was told to run."""
    return dict(_options(command))


def is_of_all(options: dict[str, str]) -> bool:
    """Whatever runs, on all cores or on those of -C."""
    return ("a" in options or "C" in options) and not _OF_SOME & options.keys()


def is_of_some(options: dict[str, str]) -> bool:
    """Processes that ran already, a user's, or a cgroup's."""
    return bool(_OF_SOME & options.keys())


def cores_asked(options: dict[str, str]) -> set[int]:
    """Those of `-C 0-3,7`; empty where it is missing, or not as perf takes it."""
    found: set[int] = set()
    for part in options.get("C", "").split(","):
        told = _RANGE.fullmatch(part)
        first, last = (int(told[1]), int(told[2] or told[1])) if told else (1, 0)
        if not first <= last < _MOST_CORES or len(found) == _MOST_CORES:
            return set()
        found.update(range(first, last + 1))
    return found


def _options(command: str) -> Iterator[tuple[str, str]]:
    words = iter(command.partition(" record ")[2].split())
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            return
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            name = _NAMES.get(name, name)
            if not has_value and (name in _WITH_A_VALUE or name in _LONG_WITH_A_VALUE):
                value = next(words, "")
            yield name, value
            continue
        for at, name in enumerate(word[1:], 2):
            value = word[at:]
            if name in _WITH_A_VALUE:
                yield name, value or next(words, "")
            elif name in _WITH_ONE_ATTACHED:
                yield name, value
            else:
                yield name, ""
                continue
            break
