"""journalctl -o verbose: a line with the cursor, and `    NAME=text` lines below it.

Sun 2026-11-15 20:20:10.261679 CET [s=1c;i=1;b=e8;m=b7de7a5d;t=6607083624628;x=5c]
    _TRANSPORT=kernel
    MESSAGE=text
            and its second line
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set

# The time is in the language and zone of whoever ran it, but the cursor has it in microseconds.
_HEAD = re.compile(
    r"\S{1,8} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S{0,8} \S{1,8} "
    r"\[s=[0-9a-f]{1,32};i=[^\]]{1,200};t=(?P<micros>[0-9a-f]{1,16});"
)
_FIELD = re.compile(r"    (?P<name>[A-Z_][A-Z0-9_]{0,63})=(?P<value>.*)", re.DOTALL)


def is_head(line: str) -> bool:
    return _HEAD.match(line) is not None


def entries(lines: Iterable[str], wanted: Set[str]) -> Iterator[Mapping[str, str]]:
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        if (head := _HEAD.match(line)) is not None:
            if fields:
                yield fields
            fields = {"__REALTIME_TIMESTAMP": str(int(head["micros"], 16))}
            name = ""
        elif (found := _FIELD.match(line)) is not None:
            name = found["name"] if found["name"] in wanted else ""
            if name and fields:
                fields.setdefault(name, found["value"])
        elif name and fields and line.startswith("     "):
            fields[name] += "\n" + line.strip()
    if fields:
        yield fields
