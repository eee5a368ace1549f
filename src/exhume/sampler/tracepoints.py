"""Where the kernel says what a tracepoint's records look like: tracefs, by name."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable

from msgspec import Struct, to_builtins

from exhume.errors import ParseError
from exhume.host import Host

_FIELD = re.compile(
    r"\s*field:(?P<type>.*\W)(?P<name>\w+)(\[[^\]]*\])?;\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);"
)
_CLONE_NEWNS = 0x00020000
_MS_REC_PRIVATE = (1 << 14) | (1 << 18)
_libc = ctypes.CDLL(None, use_errno=True)


class Tracepoint(Struct, frozen=True):
    name: str
    id: int
    offsets: dict[str, tuple[int, int]]
    """Field → (offset, size). A `__data_loc` field holds where its text lies, not the text."""


def parse(name: str, text: str) -> Tracepoint:
    """Of events/*/NAME/format."""
    number = re.search(r"^ID:\s*(\d+)", text, re.MULTILINE)
    offsets = {
        match["name"]: (int(match["offset"]), int(match["size"]))
        for match in map(_FIELD.match, text.splitlines())
        if match is not None
    }
    if number is None or not offsets:
        raise ParseError(f"events/{name}/format", "whole file", "an ID and fields with offsets")
    return Tracepoint(name, int(number[1]), offsets)


def read(host: Host, names: tuple[str, ...]) -> tuple[Tracepoint, ...] | None:
    """`cgroup/cgroup_mkdir` and the like; None where tracefs is not mounted or lacks one."""
    found = []
    for name in names:
        text = host.read_sys(f"kernel/tracing/events/{name}/format")
        if text is None:
            text = host.read_sys(f"kernel/debug/tracing/events/{name}/format")
        if text is None:
            return None
        found.append(parse(name, text))
    return tuple(found)


def run_read(host: Host, names: tuple[str, ...]) -> bytes:
    """In a child: as `read`, but mounts tracefs where nobody else sees it, if it must."""
    found = read(host, names)
    if found is None:
        _mount_privately(host)
        found = read(host, names)
    return json.dumps([to_builtins(one) for one in found or ()]).encode()


def unpack(result: bytes) -> tuple[Tracepoint, ...]:
    return tuple(
        Tracepoint(one["name"], one["id"], {k: (v[0], v[1]) for k, v in one["offsets"].items()})
        for one in json.loads(result)
    )


def _mount_privately(host: Host) -> None:
    """In a mount namespace of our own: it is gone with this process."""
    target = os.fsencode(host.sys / "kernel/tracing")
    steps: tuple[Callable[[], int], ...] = (
        lambda: int(_libc.unshare(_CLONE_NEWNS)),
        lambda: int(_libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None)),
        lambda: int(_libc.mount(b"tracefs", target, b"tracefs", 0, None)),
    )
    for step in steps:
        if step() != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"tracefs is not mounted and cannot be: {os.strerror(code)}")
