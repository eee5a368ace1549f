"""How bad a line says it is: `ERROR`, `level=warn`, `[crit]`, `E1115` of klog, Ray's `E 1 2]`."""

from __future__ import annotations

import re

INFO = 6
LEVELS = {
    **dict.fromkeys(("F", "FATAL", "CRIT", "CRITICAL", "PANIC", "EMERG", "ALERT"), 2),
    **dict.fromkeys(("E", "ERR", "ERROR", "SEVERE"), 3),
    **dict.fromkeys(("W", "WARN", "WARNING"), 4),
    **dict.fromkeys(("I", "INFO", "NOTICE"), INFO),
    **dict.fromkeys(("D", "DEBUG", "T", "TRACE"), 7),
}
# What none of them begins with is passed over at once: a fifth of the time.
_LEVEL = re.compile(
    r"(?=[A-Zl\[])(?:\b([A-Z]{4,8}|ERR)\b|\blevel=(\w{4,8})|\[(?:\w{1,32}:)?(\w{4,8})\]"
    r"|\b([EWFID]) \d+ \d+\]|\[([EWFID])\d{4} \d\d:)"
)
# bunyan and pino count them by tens, from trace to fatal.
_BY_TENS = {10: 7, 20: 7, 30: INFO, 40: 4, 50: 3, 60: 2}
_SEARCHED = 160


def level_named(value: object) -> int:
    """Of a field: a word, or a number as syslog or bunyan have it."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:3])
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= 7 else _BY_TENS.get(value, INFO)
    return LEVELS.get(str(value).upper(), INFO)


def level_of(line: str) -> int:
    """As syslog: 2 critical … 7 debug; 6 where it does not say."""
    for found in _LEVEL.finditer(line[:_SEARCHED]):
        word = next(group for group in found.groups() if group)
        if (level := LEVELS.get(word.upper())) is not None:
            return level
    return LEVELS.get(line[:1], INFO) if line[1:5].isdigit() else INFO
