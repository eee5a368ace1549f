"""`proc_cgroups_start.txt`, `meminfo-before`: taken at one end of what the others tell of."""

from __future__ import annotations

import re
from typing import Literal

_START = re.compile(r"(?:^|[._-])(?:start|begin|before|first|pre)(?=$|[._-])")
_END = re.compile(r"(?:^|[._-])(?:end|after|last|post|final|finish)(?=$|[._-])")


def edge_of(name: str) -> Literal["", "start", "end"]:
    lower = name.lower()
    if _START.search(lower):
        return "start"
    return "end" if _END.search(lower) else ""
