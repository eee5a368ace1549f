"""Recorders on machines made of files, on which one source at a time falls ill and recovers."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from msgspec import Struct, field

from exhume.host import Host
from exhume.record.head import Head
from exhume.record.recorder import Options, Recorder, origin_of
from exhume.sampler.kernel_clock import KernelClock
from exhume.sources.ethtool import Ioctl
from exhume.store.layout import heads_path, symbols_path
from exhume.store.ticks import Tick
from tests.record.fake import refuse, ticks_of
from tests.sources.trees import Machine, Tree

GARBAGE = b"\x00\xff 12 no sense ) (\n at all\n"
MEMORY_STAT = """cache 0
shmem 0
rss 0
total_cache 4096000
total_shmem 4096000
total_rss 0
"""
CPU_STAT = "nr_periods 5\nnr_throttled 2\nthrottled_time 1000\n"
KMSG = b"6,1,1000,-;hello\n"


def machine(folder: Path) -> Tree:
    """2 cores, cgroup v1, one limited cgroup, a memory cgroup that has zombies below it."""
    tree = Tree(folder, Machine(2, cgroups="v1")).build()
    tree.write("sys/fs/cgroup/memory/memory.stat", MEMORY_STAT)
    tree.write("sys/fs/cgroup/cpu/limited/cpu.stat", CPU_STAT)
    tree.write("sys/fs/cgroup/cpu/limited/cgroup.procs", "1\n")
    tree.write("dev/kmsg", KMSG)
    tree.write("job.log", "all is well\n")
    tree.write("proc/sys/kernel/random/boot_id", "b0071d00-0000-4000-8000-000000000000\n")
    return tree


class Illness:
    """What can happen to a source. Each ends with `heal`."""

    def hang(self) -> None: ...
    def babble(self) -> None: ...
    def vanish(self) -> None: ...
    def heal(self) -> None: ...


class OfFile(Illness):
    """A file becomes a pipe without a writer, garbage, or is gone (or what it is in)."""

    def __init__(self, path: Path, gone: Path | None = None) -> None:
        self._path = path
        self._gone = gone or path
        self._content = path.read_bytes()

    def hang(self) -> None:
        self._path.unlink()
        os.mkfifo(self._path)

    def babble(self) -> None:
        # In place: some keep the descriptor, and in /proc another file never takes its place.
        self._path.write_bytes(GARBAGE)

    def vanish(self) -> None:
        self._gone.rename(self._aside)

    def heal(self) -> None:
        if self._aside.exists():
            self._aside.rename(self._gone)
        elif self._path.is_fifo():
            # Open for both, it is a writer to whoever waits; closed, it is the end of the file.
            pipe = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
            os.write(pipe, self._content)
            self._path.unlink()
            self._path.write_bytes(self._content)
            os.close(pipe)
        else:
            self._path.write_bytes(self._content)

    @property
    def _aside(self) -> Path:
        return self._gone.with_name(f".{self._gone.name}")


class OfLog(OfFile):
    """One that is read on from where it was: nonsense comes behind what is there."""

    def babble(self) -> None:
        with self._path.open("ab") as file:
            file.write(GARBAGE)


class OfDevice(OfLog):
    """Opened once, without waiting, and kept: nothing hangs."""

    def hang(self) -> None:
        pass

    def heal(self) -> None:
        if self._aside.exists():
            self._aside.rename(self._gone)


class OfServer(Illness):
    """One that listens: it answers; it hears and says nothing; it talks nonsense; it is gone."""

    def __init__(self, path: Path, answer: Callable[[socket.socket], None]) -> None:
        self._path = path
        self._answer = answer
        self._mode = "well"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._server = self._listen()

    def _listen(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self._path))
        server.listen(16)
        threading.Thread(target=self._serve, args=(server,), daemon=True).start()
        return server

    def _serve(self, server: socket.socket) -> None:
        held: list[socket.socket] = []
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                break
            held.append(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
        for connection in held:
            connection.close()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError):
            if self._mode == "babble":
                connection.sendall(GARBAGE * 10)
                connection.close()
            elif self._mode == "well":
                self._answer(connection)

    def _restart(self) -> None:
        self.close()
        self._server = self._listen()

    def hang(self) -> None:
        self._mode = "hang"
        self._restart()

    def babble(self) -> None:
        self._mode = "babble"
        self._restart()

    def vanish(self) -> None:
        self._mode = "gone"
        self.close()

    def heal(self) -> None:
        self._mode = "well"
        self._restart()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._path.unlink(missing_ok=True)


class OfDriver(Illness):
    """A network card whose driver does not come back from the ioctl."""

    def __init__(self, interfaces: Path, ioctl: Ioctl) -> None:
        self._interfaces = interfaces
        self._ioctl = ioctl
        self._go_on = threading.Event()
        self._go_on.set()

    def ioctl(self, interface: str, buffer: ctypes.Array[ctypes.c_char]) -> None:
        self._go_on.wait(30)
        self._ioctl(interface, buffer)

    def hang(self) -> None:
        self._go_on.clear()

    def babble(self) -> None:
        self.vanish()
        self._interfaces.write_bytes(GARBAGE)

    def vanish(self) -> None:
        self._interfaces.rename(self._interfaces.with_name(".net"))

    def heal(self) -> None:
        self._go_on.set()
        aside = self._interfaces.with_name(".net")
        if aside.exists():
            self._interfaces.unlink(missing_ok=True)
            aside.rename(self._interfaces)


def answer_docker(connection: socket.socket) -> None:
    question = connection.recv(1 << 16)
    body = b"[]" if b"/containers/json" in question else b""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def answer_systemd(connection: socket.socket) -> None:
    """As far as a reader of units goes that finds none."""
    jeepney = import_module("jeepney")  # has no types
    data = b""
    while b"BEGIN\r\n" not in data:
        more = connection.recv(4096)
        if not more:
            return
        data += more
        if b"AUTH EXTERNAL" in more:
            connection.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        elif b"NEGOTIATE" in more:
            connection.sendall(b"ERROR\r\n")
    parser, serial = jeepney.Parser(), 0
    parser.add_data(data.partition(b"BEGIN\r\n")[2])
    while True:
        message = parser.get_next_message()
        if message is None:
            more = connection.recv(1 << 16)
            if not more:
                return
            parser.add_data(more)
            continue
        assert message.header.fields[jeepney.HeaderFields.member] == "ListUnitsByPatterns"
        serial += 1
        answer = jeepney.new_method_return(message, "a(ssssssouso)", ([],))
        connection.sendall(answer.serialise(serial))


class Patient(Struct):
    """One recorder, with a note each second of how its sources are."""

    source: str
    tree: Tree
    illness: Illness
    data: Path
    notes: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        root = self.tree.root
        host = Host(root / "proc", root / "sys", root / "dev", root / "run")
        for folder in (heads_path(self.data), symbols_path(self.data)):
            folder.mkdir(parents=True)
        head = Head(heads_path(self.data), origin_of(host), lambda _: False)
        options = Options(self.data, follow=(root / "job.log",))
        clock = KernelClock(host.clock, refuse)
        recorder = Recorder(host, options, head, None, clock, lambda _: None)

        def wait(until_ns: int) -> bool:
            states = recorder.source_states().items()
            self.notes.append((time.monotonic(), {name: str(one.state) for name, one in states}))
            left = (until_ns - host.clock.monotonic_ns()) / 1e9
            return self._stop.wait(max(0.0, left))

        self._thread = threading.Thread(target=recorder.run, args=(wait,))
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10)

    def states(self, source: str, begin: float, end: float) -> list[str]:
        """As noted between these two times."""
        return [states[source] for at, states in self.notes if begin <= at < end]

    def ticks(self) -> list[Tick]:
        heads = sorted(heads_path(self.data).iterdir())
        return [tick for head in heads for tick in ticks_of(head)]
