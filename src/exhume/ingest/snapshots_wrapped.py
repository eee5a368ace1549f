"""Tables of `docker ps` that were copied out of a terminal narrower than they are.

CONTAINER ID   IMAGE                            COMMAND                  CREATED
    STATUS                         PORTS                    NAMES
3f1d2c4b5a69   amazon/amazon-ecs-agent:latest   "/agent"                 12 seco
nds ago   Restarting (5) 3 seconds ago                            ecs-agent
"""

from __future__ import annotations

import re

from exhume.ingest.snapshots_sections import DECORATION, without_paths

_BEGINS = b"CONTAINER ID"
_BROKEN = re.compile(
    rb"^CONTAINER ID {2,}IMAGE\b(?![^\n]*\bNAMES\b)[^\n]*\n(?:[^\n]{1,400}\n){0,3}?"
    rb"[^\n]{0,400}\bNAMES[ \t]*$",
    re.MULTILINE,
)
_ROW = re.compile(rb"[0-9a-f]{12}(?: |$)")
_MOST_PARTS = 8


def whole_lines(block: bytes) -> bytes:
    """A block as its commands wrote it."""
    return unwrapped(without_paths(block))


def unwrapped(block: bytes) -> bytes:
    """With each row of such a table on one line."""
    if _BEGINS not in block:
        return block
    done, at = [], 0
    while (broken := _BROKEN.search(block, at)) is not None:
        rows, end = _rows(block, broken.end() + 1)
        groups = [broken[0].decode("utf-8", "replace").split("\n"), *rows]
        # The terminal broke at its width; copied lines may have lost the blanks at their ends.
        width = max(len(part) for group in groups for part in group)
        lines = ["".join(part.ljust(width) for part in one[:-1]) + one[-1] for one in groups]
        done += [block[at : broken.start()], "\n".join(lines).encode(), b"\n"]
        at = end
    return b"".join((*done, block[at:])) if done else block


def _rows(text: bytes, at: int) -> tuple[list[list[str]], int]:
    """The lines of each, and where the table ends."""
    rows: list[list[str]] = []
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if _ROW.match(line):
            rows.append([])
        elif (
            not rows
            or not line.strip()
            or len(rows[-1]) >= _MOST_PARTS
            or DECORATION.fullmatch(line)
        ):
            break
        rows[-1].append(line.decode("utf-8", "replace"))
        at = end + 1
    return rows, min(at, len(text))
