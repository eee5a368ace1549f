"""dmesg --json → the lines that dmesg -r prints, or -x where it names facility and level.

{
   "dmesg": [
      {
         "pri": 6,
         "time":   298.261679,
         "msg": "text"
      },{
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

_HEAD = re.compile(rb'\s*\{\s*"dmesg"\s*:\s*\[')
_FIELD = re.compile(r'\s*"(?P<name>fac|pri|time|msg)"\s*:\s*(?P<value>.+?),?\s*$')


def is_json(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def as_lines(lines: Iterable[str]) -> Iterator[str]:
    fields: dict[str, str] = {}
    for line in lines:
        found = _FIELD.match(line)
        if found is not None:
            fields[found["name"]] = _value(found["value"])
        elif line.lstrip().startswith("}"):
            if "time" in fields and "msg" in fields:
                yield _line(fields)
            fields = {}


def _value(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:  # cut off
        return text.strip('"')


def _line(fields: dict[str, str]) -> str:
    level = fields.get("pri", "6")
    before = f"{fields['fac']}:{level}: " if "fac" in fields else f"<{level}>"
    text = fields["msg"].replace("\n", " ")
    return f"{before}[{fields['time']}] {text}"
