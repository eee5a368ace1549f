"""cgroup.stat of the unified hierarchy: live and dying cgroups below one. There since 4.14."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import read_text
from exhume.sources.scan import number, pairs

PATH = "cgroup.stat"


class CgroupStat(Struct, frozen=True):
    descendants: int
    dying_descendants: int
    memory: int | None
    """Below and with this one, those with the memory controller; None before 6.12."""
    dying_memory: int | None
    """What still holds memory: those that died for other reasons' sake are not in it."""

    @property
    def zombies(self) -> int:
        return self.dying_descendants if self.dying_memory is None else self.dying_memory


def read(folder: Path) -> CgroupStat | None:
    text = read_text(folder / "cgroup.stat")
    return None if text is None else parse(text)


def parse(text: str) -> CgroupStat:
    found = {key: number(value, PATH, key) for key, value in pairs(text, PATH).items()}
    if "nr_descendants" not in found or "nr_dying_descendants" not in found:
        raise ParseError(PATH, "whole file", "nr_descendants and nr_dying_descendants")
    return CgroupStat(
        descendants=found["nr_descendants"],
        dying_descendants=found["nr_dying_descendants"],
        memory=found.get("nr_subsys_memory"),
        dying_memory=found.get("nr_dying_subsys_memory"),
    )
