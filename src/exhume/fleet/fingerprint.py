"""Collects a fingerprint: every area in turn, in a child that may hang or die without harm.

A file of a dead network mount or a confused device may never answer. So a child reads, and hands
over each area as it is done; one that takes too long costs its own area, and another child goes on
behind it.
"""

from __future__ import annotations

import os
import pickle
import re
import resource
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import zstandard

from exhume import __version__
from exhume.fleet import scrub
from exhume.fleet.collect import (
    containers,
    files,
    kernel,
    load,
    machine,
    modules,
    mounts,
    network,
    packages,
    sysctls,
    units,
)
from exhume.fleet.collect.found import Found
from exhume.host import Host
from exhume.model.fingerprint import VERSION, Fingerprint, hash_of_fields
from exhume.store.files import write_atomic

Collector = Callable[[Host], Found]
LIMIT_SECONDS = 5.0
"""For one collector. D-Bus and the runtimes have shorter limits of their own."""

COLLECTORS: tuple[tuple[str, Collector], ...] = (
    ("kernel", kernel.collect),
    ("sysctl", sysctls.collect),
    ("module", modules.collect),
    ("nic", network.collect),
    ("unit", units.collect),
    ("file", files.collect),
    ("package", packages.collect),
    ("image", containers.collect),
    ("cpu", machine.collect),
    ("mount", mounts.collect),
    ("load", load.collect),
)
"""Each with the area that is noted as missing when it fails."""


def fingerprint(
    host: Host,
    labels: Mapping[str, str] | None = None,
    *,
    node: str = "",
    extra: Sequence[tuple[str, Collector]] = (),
    limit_seconds: float = LIMIT_SECONDS,
) -> Fingerprint:
    before = _cpu_seconds()
    found = collect(host, (*COLLECTORS, *extra), limit_seconds)
    for name, value in (labels or {}).items():
        kind = "identity" if re.search(r"instance.?id|hostname|address", name) else "state"
        found.put("label", name, scrub.value(name, value), kind)  # type: ignore[arg-type]
    return Fingerprint(
        fingerprint=VERSION,
        node=node or host.hostname(),
        wall_ns=host.clock.wall_ns(),
        exhume=__version__,
        cpu_seconds=round(_cpu_seconds() - before, 3),
        fields=found.fields,
        missing=dict(sorted(found.missing.items())),
        hash=hash_of_fields(found.fields),
    )


def packed(data: bytes, name: str) -> bytes:
    """Compressed where the file's name says so."""
    return zstandard.compress(data, 10) if name.endswith(".zst") else data


def write_file(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    write_atomic(path, packed(data, path.name))


def collect(host: Host, collectors: Sequence[tuple[str, Collector]], limit_seconds: float) -> Found:
    found = Found()
    todo = list(collectors)
    while todo:
        done, problem = _in_child(host, todo, found, limit_seconds)
        if done < len(todo):
            found.lack(todo[done][0], problem)
        todo = todo[done + 1 :]
    return found


def _in_child(
    host: Host, todo: Sequence[tuple[str, Collector]], found: Found, limit_seconds: float
) -> tuple[int, str]:
    """How many it did, and why not the next."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(host, todo, write_end)
    os.close(write_end)
    try:
        for index, (name, _) in enumerate(todo):
            try:
                message = _receive(read_end, limit_seconds)
            except TimeoutError:
                return index, f"{name} did not answer within {limit_seconds:g} s"
            if message is None:
                return index, f"collecting {name} ended unexpectedly"
            if isinstance(message, str):
                found.lack(name, message)
            else:
                found.take(message)
        return len(todo), ""
    finally:
        os.close(read_end)
        os.kill(pid, signal.SIGKILL)
        _reap(pid)


def _child(host: Host, todo: Sequence[tuple[str, Collector]], write_end: int) -> None:
    """Never returns."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for _, collector in todo:
            try:
                answer: Found | str = collector(host)
            except Exception as error:  # a broken file costs its area, and is told
                answer = f"{type(error).__name__}: {error}"
            data = pickle.dumps(answer)
            view = memoryview(len(data).to_bytes(8, "little") + data)
            while view:
                view = view[os.write(write_end, view) :]
    finally:
        os._exit(0)


def _receive(fd: int, limit_seconds: float) -> Found | str | None:
    header = _read(fd, 8, limit_seconds)
    if header is None:
        return None
    data = _read(fd, int.from_bytes(header, "little"), limit_seconds)
    # Our own child wrote it.
    message: Found | str | None = None if data is None else pickle.loads(data)
    return message


def _read(fd: int, size: int, limit_seconds: float) -> bytes | None:
    pieces: list[bytes] = []
    while size > 0:
        # Not select(): it takes no descriptor above 1023.
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        ready = waiting.poll(limit_seconds * 1000)
        if not ready:
            raise TimeoutError
        piece = os.read(fd, min(size, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _reap(pid: int) -> None:
    """One that hangs in the kernel dies when the kernel lets it; nobody waits for that."""
    for _ in range(20):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        select.select([], [], [], 0.01)


def _cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
