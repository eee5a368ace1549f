"""Has this node changed? A cheap look every ten minutes, a whole fingerprint when it has.

The fingerprint is collected by a process of its own: it reads thousands of files, and knows more
than the recorder may (`fleet` is above `record`). What a cheap look can't see, a sysctl or a mount,
is seen within the hour.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

from exhume.host import Host

NS = 1_000_000_000
FIRST_NS = 60 * NS
LOOK_NS = 600 * NS
WHOLE_NS = 3600 * NS
SPREAD_NS = 60 * NS
"""Nodes that were started together must not all collect in the same second."""
LIMIT_NS = 120 * NS
MODULE = "exhume.fleet.recorded"

# Their modification time moves with what is installed, enabled and set.
WATCHED = (
    "var/lib/dpkg/status", "var/lib/rpm/rpmdb.sqlite", "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "etc/systemd/system", "etc/systemd/system/multi-user.target.wants", "usr/lib/systemd/system",
    "etc/sysctl.conf", "etc/sysctl.d", "etc/modprobe.d", "etc/fstab", "etc/cron.d", "etc/crontab",
    "etc/docker/daemon.json", "etc/containerd/config.toml", "var/lib/kubelet/config.yaml",
)  # fmt: skip


class Fingerprints:
    """Poll it each second; it looks, starts the collector, and notes what went wrong."""

    def __init__(self, host: Host, data: Path) -> None:
        self._host = host
        self._data = data
        # No hashlib in the recorder: OpenSSL alone takes 3.5 MiB.
        spread_ns = SPREAD_NS * zlib.crc32(host.boot_id().encode()) >> 32
        self._next_look_ns = host.clock.monotonic_ns() + FIRST_NS + spread_ns
        self._next_whole_ns = self._next_look_ns
        self._seen: tuple[object, ...] = ()
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ns = 0

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def poll(self, problems: dict[str, str], *, may_start: bool = True) -> None:
        """`may_start`: no other child of the recorder is at work, whose memory would add up."""
        now = self._host.clock.monotonic_ns()
        if self._process is not None:
            self._collect(now, problems)
        elif may_start and now >= self._next_look_ns:
            self._next_look_ns = now + LOOK_NS
            seen = look(self._host)
            if seen != self._seen or now >= self._next_whole_ns:
                self._seen, self._next_whole_ns = seen, now + WHOLE_NS
                self._start(now, problems)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self, now: int, problems: dict[str, str]) -> None:
        command = [sys.executable, "-m", MODULE, str(self._data), "--recorder", str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            self._started_ns = now
        except OSError as error:
            problems["fingerprint"] = f"could not start a child: {error.strerror}"

    def _collect(self, now: int, problems: dict[str, str]) -> None:
        assert self._process is not None
        code = self._process.poll()
        if code is None:
            if now - self._started_ns > LIMIT_NS:
                self._process.kill()
                self._started_ns = now
                problems["fingerprint"] = "collecting it took too long and was given up"
            return
        said = b""
        with suppress(OSError, ValueError):
            _, said = self._process.communicate()
        self._process = None
        if code == 0:
            problems.pop("fingerprint", None)
        else:
            text = said.decode("utf-8", "replace").strip()[-300:]
            problems.setdefault("fingerprint", text or f"ended by {code}")


def look(host: Host) -> tuple[object, ...]:
    """What is cheap to see of a change: times of files, and modules."""
    seen: list[object] = []
    for name in WATCHED:
        try:
            seen.append((host.root / name).stat().st_mtime_ns)
        except OSError:
            seen.append(None)
    try:
        seen.append(frozenset(os.listdir(host.sys / "module")))
    except OSError:
        seen.append(None)
    return tuple(seen)
