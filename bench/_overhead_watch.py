"""What a recorder's processes cost: CPU by cgroups of the bench's own, memory by looking often."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.workloads import die_with_parent

POLL_SECONDS = 0.1

Role = Literal["main", "aside", "closer", "fingerprint"]
ROLES: tuple[Role, ...] = ("main", "aside", "closer", "fingerprint")
_PROGRAMS: tuple[tuple[bytes, Role], ...] = (
    (b"exhume.record.close", "closer"),
    (b"exhume.fleet.recorded", "fingerprint"),
)


class Groups:
    """Cgroups of our own, for what they are charged with; nothing is limited."""

    NAMES = (*ROLES, "load")

    def __init__(self) -> None:
        mounts = (Path("/sys/fs/cgroup") / name for name in ("cpuacct", "cpu,cpuacct", "."))
        base = next(path for path in mounts if (path / "cgroup.procs").exists())
        self._root = base / f"exhume-bench-{os.getpid()}"
        self._is_v1 = (base / "cpuacct.usage").exists()

    def __enter__(self) -> Groups:
        self._root.mkdir()
        for name in self.NAMES:
            (self._root / name).mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.NAMES:
            self.end(name)
        for path in (*(self._root / name for name in self.NAMES), self._root):
            with suppress(OSError):
                path.rmdir()

    def end(self, name: str) -> None:
        """Kill what is left there, one by one: all of it descends from us."""
        for _ in range(50):
            pids = self.pids(name)
            for pid in pids:
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
            if not pids:
                return
            time.sleep(0.02)

    def pids(self, name: str) -> list[int]:
        with suppress(OSError):
            return [int(line) for line in (self._root / name / "cgroup.procs").read_text().split()]
        return []

    def put(self, pid: int, name: str) -> None:
        (self._root / name / "cgroup.procs").write_text(str(pid))

    def start(self, command: Sequence[str], name: str, log: Path | None) -> subprocess.Popen[bytes]:
        """There from its first instruction on; without a log its output is for us to read."""

        def prepare() -> None:
            die_with_parent()
            self.put(os.getpid(), name)

        # An installed exhume has its byte code; compiling it at each start is not what it costs.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        with ExitStack() as stack:
            output = subprocess.PIPE if log is None else stack.enter_context(open(log, "wb"))
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if log is None else subprocess.STDOUT,
                preexec_fn=prepare,
                env=env,
                cwd=Path(__file__).parent.parent,
            )

    def cpu_ns(self, name: str) -> int:
        if self._is_v1:
            return int((self._root / name / "cpuacct.usage").read_text())
        lines = (self._root / name / "cpu.stat").read_text().splitlines()
        return int(dict(line.split() for line in lines)["usage_usec"]) * 1000


class Instant(Struct, frozen=True):
    """Memory of a recorder's processes at one moment."""

    time: float
    rss_bytes: dict[Role, int]
    pss_bytes: int | None


class Watch(threading.Thread):
    """Looks at a recorder's processes 10 times a second, and sorts its children into cgroups."""

    def __init__(self, groups: Groups, main_pid: int) -> None:
        super().__init__(daemon=True)
        self._groups = groups
        self._main_pid = main_pid
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._moved_ns = dict.fromkeys(ROLES, 0)
        """CPU that was charged to one role's cgroup and belongs to another."""
        self.instants: list[Instant] = []
        self.peak_bytes = dict.fromkeys(ROLES, 0)
        self.ring_bytes = 0

    def run(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            with self._lock:
                self._look()

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def cpu_ns(self) -> dict[Role, int]:
        with self._lock:
            return {role: self._groups.cpu_ns(role) + self._moved_ns[role] for role in ROLES}

    def has_closer(self) -> bool:
        return bool(self._groups.pids("closer"))

    def _look(self) -> None:
        rss: dict[Role, int] = dict.fromkeys(ROLES, 0)
        pids = [(pid, group) for group in ROLES for pid in self._groups.pids(group)]
        # A walk over page tables: where nothing happens, twice a second will do.
        wants_pss = len(pids) > 1 or len(self.instants) % 5 == 0
        pss = 0
        for pid, group in pids:
            with suppress(OSError, KeyError):  # gone meanwhile, or a zombie
                role = self._role(pid, group)
                if role != group:
                    spent = _spent_ns(pid)
                    self._groups.put(pid, role)
                    self._moved_ns[group] -= spent
                    self._moved_ns[role] += spent
                status = _fields(Path(f"/proc/{pid}/status"))
                rss[role] += _kib(status["VmRSS"])
                self.peak_bytes[role] = max(self.peak_bytes[role], _kib(status["VmHWM"]))
                if wants_pss:
                    pss += _kib(_fields(Path(f"/proc/{pid}/smaps_rollup"))["Pss"])
        self.instants.append(Instant(time.monotonic(), rss, pss if wants_pss else None))
        if len(self.instants) % 20 == 0:
            with suppress(OSError):
                self.ring_bytes = max(self.ring_bytes, _ring_bytes(self._main_pid))

    def _role(self, pid: int, before: Role) -> Role:
        if pid == self._main_pid:
            return "main"
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if not command:  # a zombie: what it did is where it belongs
            return before
        return next((role for program, role in _PROGRAMS if program in command), "aside")


def _spent_ns(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def _fields(path: Path) -> dict[str, str]:
    return {
        name: rest.strip()
        for name, colon, rest in (line.partition(":") for line in path.read_text().splitlines())
        if colon
    }


def _kib(text: str) -> int:
    return int(text.removesuffix(" kB")) * 1024


def peak_rss_bytes(pid: int) -> int:
    """0 for one that is gone."""
    try:
        return _kib(_fields(Path(f"/proc/{pid}/status"))["VmHWM"])
    except (OSError, KeyError):
        return 0


def _ring_bytes(pid: int) -> int:
    """Rings are memory of the kernel, which newer ones don't count in RSS (remap_pfn_range)."""
    total = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "perf_event" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            total += end - start
    return total


class Snapshot(Struct, frozen=True):
    """Everything that is counted, at one moment."""

    time: float
    cpu_ns: dict[Role, int]
    load_ns: int
    written_bytes: int
    busy_ticks: int
    own_seconds: float


def snapshot(groups: Groups, watch: Watch | None, pid: int | None) -> Snapshot:
    # Children that were waited for are in their parent's figures.
    io = _fields(Path(f"/proc/{pid}/io")) if pid is not None else {}
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq = times[:7]
    return Snapshot(
        time.monotonic(),
        watch.cpu_ns() if watch is not None else dict.fromkeys(ROLES, 0),
        groups.cpu_ns("load"),
        int(io.get("wchar", 0)),
        user + nice + system + irq + softirq,
        time.process_time(),
    )
