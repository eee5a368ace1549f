"""Copies of cgroup.stat and counts of directories → the node's cgroups, not those of a part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from exhume.ingest.snapshots_sections import Section
from exhume.model.reading import Reading
from exhume.sources import cgroup_stat, memcg_count
from exhume.sources.scan import number, pairs

KIND = "cgroup.stat"
# Below where it is mounted, or a name that systemd gives. In a hybrid tree `unified` has no memory
# controller: what dies there holds no memory.
_BELOW = re.compile(
    r"(?:/cgroup2?/\S+|\.(?:slice|scope|service)(?:/\S*)?)/(?:cgroup\.stat|[a-z]+\.pressure)\b"
)

_PATH = re.compile(r"/cgroup2?(?:/(?P<below>[^\s|;)]*))?(?=[\s|;)]|$)")
_FIRST_LEVEL = re.compile(r"(?<![\w/.-])ls (?![^|]*-\w*R)")
_MEMORY = re.compile(rb"^memory[ \t]+(\d+)", re.MULTILINE)


def is_below_root(hint: str) -> bool:
    """Does what stands above a copy, or is its name, say that it is of a part of the tree?"""
    return _BELOW.search(hint) is not None


def counts_others(hint: str, block: Sequence[Section]) -> bool:
    """Does a command count other directories than those of all memory cgroups?

    With cgroups v1, as a copy of /proc/cgroups in the block may say, /sys/fs/cgroup holds the
    directories of all hierarchies.
    """
    path = _PATH.search(hint)
    if path is None:
        return False
    named = [part for part in (path["below"] or "").split("/") if part and "*" not in part]
    if named not in ([], ["memory"]):
        return True
    told = (_MEMORY.search(one.text) for one in block if one.kind == "cgroups")
    is_v1 = any(found is not None and found[1] != b"0" for found in told)
    return (is_v1 and not named) or _FIRST_LEVEL.search(hint) is not None


def root_of(alike: Sequence[Section], hint: str) -> Section | None:
    """Of the copies below one mark the root's; where none has a path, the one with the most below.

    `hint`: what the mark and the file's name say of a copy without a heading of its own.
    """
    able = [one for one in alike if not is_below_root(one.hint or hint)]
    return max(able, key=lambda one: _all_below(one.text), default=None)


def readings(text: bytes) -> tuple[Reading, ...]:
    """Raises ParseError where it is torn."""
    lines = text.decode("utf-8", "replace")
    if lines.startswith("nr_descendants "):
        return memcg_count.readings(memcg_count.by_stat(cgroup_stat.parse(lines)))
    found = pairs(lines, KIND)
    key = next(key for key in ("nr_dying_subsys_memory", "nr_dying_descendants") if key in found)
    return (Reading.of_node("memcg.zombies", number(found[key], KIND, key)),)


def _all_below(text: bytes) -> int:
    return sum(int(count) for count in re.findall(rb"^nr_(?:dying_)?descendants (\d+)", text, re.M))
