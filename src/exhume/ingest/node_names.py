"""Whose a file is that does not say it itself: the machine in its name, or in its folder's.

    gpu-node-54.proc_stat.log, evidence/gpu-node-55/dmesg.txt

Only machines that other inputs tell of count: any word could be a name. So could those that are
called like one of them but for a number: beside `gpu-7`, whose mpstat says it, `gpu-8/dmesg.txt` is
of another.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

_LEAST_LETTERS = 2


def host_named(path: Path, hosts: Collection[str]) -> str:
    """One of the hosts; empty where neither its name nor a folder's in the path has just one.

    The nearest name that has any counts. `path` as it was given: what lies above says nothing of
    this import.
    """
    folders = path.parent.parts or (path.resolve().parent.name,)
    for name in (path.name, *reversed(folders)):
        if found := _hosts_in(name.lower(), hosts):
            return found.pop() if len(found) == 1 else ""
    return ""


def numbered_alike(path: Path, hosts: Collection[str]) -> set[str]:
    """Machines that are not known, and are in that path by names as the known ones have."""
    patterns = [_alike(host.lower().partition(".")[0]) for host in hosts]
    found = {
        word[0]
        for name in (path.name, path.parent.name)
        for pattern in filter(None, patterns)
        for word in pattern.finditer(name.lower())
    }
    return {name for name in found if not _hosts_in(name, hosts)}


def _alike(host: str) -> re.Pattern[str] | None:
    """`gpu-\\d+` of `gpu-7`; None where there is too little besides numbers to tell a name by."""
    if sum(letter.isalpha() for letter in host) < _LEAST_LETTERS or not re.search(r"\d", host):
        return None
    numbered = re.sub(r"\d+", r"\\d{1,9}", re.escape(host))
    return re.compile(rf"(?<![a-z0-9]){numbered}(?![a-z0-9])")


def _hosts_in(name: str, hosts: Collection[str]) -> set[str]:
    found: dict[tuple[int, int], set[str]] = {}
    for host in hosts:
        # A name with its domain may be cut to the first part of it.
        for spelled in {host.lower(), host.lower().partition(".")[0]} - {""}:
            word = rf"(?<![a-z0-9]){re.escape(spelled)}(?![a-z0-9])"
            for place in re.finditer(word, name):
                found.setdefault(place.span(), set()).add(host)
    # `node-1` in `gpu-node-1` is not the machine of that name, if both are known.
    longest = [
        (start, end)
        for start, end in found
        if not any(a <= start and end <= b for a, b in found if (a, b) != (start, end))
    ]
    return {host for place in longest for host in found[place]}
