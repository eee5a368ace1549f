"""Whose lines of a log are wanted: a log server's file has those of many machines.

A recording is of one node. Where the other inputs, or --name, say which, its lines are taken
wherever they begin; otherwise those of the first machine.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from exhume.ingest.streams import Source

if TYPE_CHECKING:
    from exhume.ingest.log_reader import LogParser

_STEP_BYTES = 1 << 20


def is_same_machine(one: str, other: str) -> bool:
    """System logs have `node-1` where perf has `node-1.example.org`."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def only_host(hosts: Sequence[str]) -> str:
    """The machine of a log's first lines; empty where they are of several."""
    return hosts[0] if hosts and all(is_same_machine(hosts[0], one) for one in hosts) else ""


def wanted_host(source: Source, parser: LogParser, nodes: Sequence[str]) -> str:
    """Of these nodes the one whose lines come first, as the log spells it; empty where none has.

    The whole log is read for that only if it begins with another machine and yet has the name.
    """
    if not nodes:
        return ""
    trial = copy.deepcopy(parser)
    is_mentioned: bool | None = None
    with source.open() as stream:
        for entry in trial.entries(stream):
            if any(is_same_machine(entry.host, node) for node in nodes):
                return entry.host
            if is_mentioned is None:
                is_mentioned = _mentions(source, [node.split(".")[0] for node in nodes])
            if not is_mentioned:
                break
    return ""


def _mentions(source: Source, names: Sequence[str]) -> bool:
    wanted = [name.encode() for name in names if name]
    kept = max(map(len, wanted), default=1) - 1
    before = b""
    with source.open() as stream:
        while part := stream.read(_STEP_BYTES):
            text = before + part
            if any(name in text for name in wanted):
                return True
            before = text[-kept:] if kept else b""
    return False
