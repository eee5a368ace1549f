"""Logs made up for the tests: the same lines in every form that tools write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from exhume.ingest.piece import Piece
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.event import Event
from tests.ingest import made

NS = 1_000_000_000
BOOT_NS = 1_794_773_712 * NS
"""2026-11-15 20:15:12 UTC"""
UPTIME_US = 298_261_679
AT_NS = BOOT_NS + UPTIME_US * 1000
"""20:20:10.261679"""
PAUSED = (
    "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 6596000 usec. napi scheduled: 1"
)
BEFORE = "usb 1-1: new high-speed USB device number 2 using xhci_hcd"
RESTART = "ecs.service: Scheduled restart job, restart counter is at 41."


def journal_fields(text: str, *, kernel: bool = True, **more: str) -> dict[str, str]:
    own = {
        "__CURSOR": "s=1;i=2",
        "__REALTIME_TIMESTAMP": str(AT_NS // 1000),
        "__MONOTONIC_TIMESTAMP": str(UPTIME_US + 40),
        "_BOOT_ID": "ab",
        "_HOSTNAME": "node-1",
        "PRIORITY": "3",
        "MESSAGE": text,
    }
    if kernel:
        own |= {
            "_TRANSPORT": "kernel",
            "SYSLOG_FACILITY": "0",
            "SYSLOG_IDENTIFIER": "kernel",
            "_SOURCE_MONOTONIC_TIMESTAMP": str(UPTIME_US),
        }
    else:
        own |= {
            "_TRANSPORT": "journal",
            "SYSLOG_FACILITY": "3",
            "SYSLOG_IDENTIFIER": "systemd",
            "_PID": "1",
        }
    return own | more


def journal_json(*entries: Mapping[str, object]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def journal_export(*entries: dict[str, str]) -> bytes:
    out = b""
    for entry in entries:
        for name, value in entry.items():
            data = value.encode()
            if name == "MESSAGE":  # as if it had a line break in it
                out += name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"
            else:
                out += name.encode() + b"=" + data + b"\n"
        out += b"\n"
    return out


def journal_verbose(*entries: dict[str, str]) -> str:
    """By somebody in another zone, which does not matter."""
    out = ""
    for entry in entries:
        micros = int(entry["__REALTIME_TIMESTAMP"])
        out += f"Sun 2026-11-15 21:20:10.261679 CET [s=1c;i=1;b=ab;m=7d;t={micros:x};x=5c]\n"
        for name, value in entry.items():
            if not name.startswith("__"):
                value = value.replace("\n", "\n" + " " * (len(name) + 5))
                out += f"    {name}={value}\n"
    return out


def read(path: Path, data: bytes | str, folder: Path | None = None) -> list[Piece]:
    made.write(path, data)
    source = Source.of(path)
    found = recognise(source)
    assert found is not None, "no format knows it"
    assert found.read is not None
    return list(found.read(source, made.context(folder or path.parent)))


def events(pieces: list[Piece]) -> list[Event]:
    return sorted((e for piece in pieces for e in piece.events), key=lambda e: e.time_ns)


def format_of(path: Path, data: bytes | str) -> str:
    made.write(path, data)
    found = recognise(Source.of(path))
    return found.name if found else ""
