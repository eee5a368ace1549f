"""What most tools do with perf-script text: a regular expression for each of its lines."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = re.compile(
    r"^(\S.*?)\s+(-?\d+)(?:/(-?\d+))?\s+(?:\[(\d+)\]\s+)?(\d+\.\d+):\s+(?:(\d+)\s+)?(\S+):"
)
_FRAME = re.compile(r"^\s*([0-9a-f]+)\s+(.+?)(?:\+0x[0-9a-f]+)?\s+\((.*)\)$")


def read(path: Path) -> tuple[int, int]:
    """How many samples, and how many different stacks of names."""
    samples: list[tuple[str, int, int, float, str, int]] = []
    stacks: dict[tuple[tuple[str, str], ...], int] = {}
    head: re.Match[str] | None = None
    stack: list[tuple[str, str]] = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for raw in file:
            line = raw.rstrip()
            if not line:
                if head is not None:
                    number = stacks.setdefault(tuple(stack), len(stacks))
                    samples.append(
                        (head[1], int(head[2]), int(head[4] or 0), float(head[5]), head[7], number)
                    )
                head, stack = None, []
            elif head is None:
                head = None if line.startswith("#") else _HEAD.match(line)
            elif (frame := _FRAME.match(line)) is not None:
                stack.append((frame[2], frame[3]))
    return len(samples), len(stacks)
