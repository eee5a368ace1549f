"""Files of the repository that are generated: written, or checked to be current."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def outdated(texts: Mapping[str, str], root: Path) -> list[str]:
    """Which of these files differ from what they should be, or are not there."""
    return [
        name
        for name, text in texts.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text
    ]


def check_or_write(texts: Mapping[str, str], root: Path, arguments: Sequence[str]) -> int:
    stale = outdated(texts, root)
    if "--check" in arguments:
        for name in stale:
            print(
                f"{name} is not current; the module that checks it also writes it", file=sys.stderr
            )
        return 1 if stale else 0
    for name in stale:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8")
        print(f"wrote {name}")
    return 0
