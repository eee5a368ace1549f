"""Where a fault is played: actors under random names, cgroups, namespaces, a recorder, a log.

Everything is in the ledger before it is there, and a guardian watches.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from exhume.diagnose.symptoms import HELD_NS
from exhume.errors import ExhumeError
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from lab.cgroups import Groups, make_groups
from lab.dice import Dice
from lab.guardian import Guardian
from lab.ledger import FOLDER, Ledger

ACTORS = Path(__file__).with_name("actors")
_START_SECONDS = 30.0
_HELD_SECONDS = HELD_NS / 1e9
_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).parent.parent


class Actor(Struct, frozen=True):
    name: str
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Stage:
    dice: Dice
    folder: Path
    data: Path
    """What is recorded."""
    ledger: Ledger
    guardian: Guardian
    say: Callable[[str], None]
    watched: str = field(init=False)
    """The name of the one whose log the recorder follows."""
    log: Path = field(init=False)
    recorder: subprocess.Popen[bytes] | None = None
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    troubles: list[tuple[float, float]] = field(default_factory=list)
    """When it was done, in epoch seconds."""

    def __post_init__(self) -> None:
        self.watched = self.dice.name()
        (self.folder / "logs").mkdir()
        self.log = self._log_of(self.watched)
        (self.folder / "bin").mkdir()
        compile_actors(self.folder / "bin/actor")

    # --- who plays ---

    def actor(
        self,
        role: str,
        *words: object,
        name: str | None = None,
        within: Groups | None = None,
        inside: Sequence[str] = (),
        at_most: float | None = None,
        stdout: int = subprocess.DEVNULL,
    ) -> Actor:
        """A process of a random name. It dies with this one; `at_most` seconds it is let live."""
        name = name or self.dice.name()
        command = [str(self.program(name)), role, *map(str, words)]
        before = [*(within.within if within is not None else ()), *inside]
        process = self.spawn([*before, *command], stdout=stdout)
        if at_most is not None:
            self.guardian.allow(process.pid, at_most)
        return Actor(name, process)

    def daemon(
        self,
        core: int,
        every: float,
        work: float,
        *,
        limit: float = 1.0,
        touch: int = 0,
        watched: bool = True,
        within: Groups | None = None,
    ) -> Actor:
        """Works for `work` seconds again and again, and says in its log when that took more than
        `limit`. The recorder follows the log of the one that is `watched`."""
        name = self.watched if watched else self.dice.name()
        words = (core, every, work, limit, touch, self._log_of(name))
        return self.actor("daemon", *words, name=name, within=within)

    def collector(
        self, file: Path, *, begin: float, pause: float, times: int, core: int,
        name: str | None = None,
    ) -> Actor:  # fmt: skip
        """Writes to a file of the kernel now and again, and says in its log when it was held there
        for so long that it counts as harm."""
        name = name or self.dice.name()
        words = (file, begin, pause, times, core, self._log_of(name), _HELD_SECONDS)
        return self.actor("collector", *words, name=name)

    def did_harm(self, victims: Sequence[str]) -> bool:
        """By the victims' own logs, whatever the diagnosis says; one without a log can't tell."""
        logs = [self.folder / "logs" / f"{name}.log" for name in victims]
        told = [log.read_text(errors="replace") for log in logs if log.exists()]
        return not told or any("ERROR" in text for text in told)

    def _log_of(self, name: str) -> Path:
        path = self.folder / "logs" / f"{name}.log"
        path.touch()
        return path

    def program(self, name: str) -> Path:
        """A process is called by the name of its file."""
        path = self.folder / "bin" / name
        if not path.exists():
            os.link(self.folder / "bin/actor", path)
        return path

    def spawn(
        self, command: Sequence[str], stdout: int = subprocess.DEVNULL, stderr: int | None = None
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=_die_with_parent,
            cwd=_ROOT,
        )
        self.ledger.note_process(process.pid)
        self._started.append(process)
        return process

    def groups(self, name: str | None = None) -> Groups:
        return make_groups(name or self.dice.name(), self.ledger)

    def tmpfs(self, options: str) -> Path:
        path = self.folder / self.dice.name()
        path.mkdir()
        self.ledger.note("mount", path)
        command = ["mount", "-t", "tmpfs", "-o", options, "exhume-lab", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return path

    def namespace(self) -> str:
        name = self.dice.name()
        self.ledger.note("namespace", name)
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
        return name

    # --- who watches ---

    def record(self, *options: str, inside: Sequence[str] = ()) -> None:
        """Returns when its first second is written."""
        command = [sys.executable, "-m", "lab.recorder", "record", "--data", str(self.data)]
        command += ["--segment", "10m", "--follow", str(self.log), *options]
        with self.data.with_suffix(".log").open("ab") as log:
            self.recorder = self.spawn([*inside, *command], log.fileno(), log.fileno())
        deadline = time.monotonic() + _START_SECONDS
        while not _has_second(self.data):
            if self.recorder.poll() is not None or time.monotonic() > deadline:
                said = self.data.with_suffix(".log").read_text().strip()
                raise ExhumeError(f"the recorder did not start: {said or 'it says nothing'}")
            time.sleep(0.1)

    def end(self) -> None:
        """Nobody plays on."""
        self.stop_recording()
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def stop_recording(self) -> None:
        if self.recorder is not None:
            self.recorder.send_signal(signal.SIGTERM)
            try:
                self.recorder.wait(30)
            except subprocess.TimeoutExpired:
                self.recorder.kill()
                self.recorder.wait()

    def quiet(self, seconds: float) -> None:
        """Time in which nothing is done on purpose."""
        time.sleep(seconds)

    def last(self, seconds: float) -> None:
        """What was begun goes on."""
        time.sleep(seconds)

    @contextmanager
    def trouble(self) -> Iterator[None]:
        """It is done in here."""
        began = time.time()
        try:
            yield
        finally:
            self.troubles.append((began, time.time()))


@contextmanager
def staged(dice: Dice, data: Path, say: Callable[[str], None]) -> Iterator[Stage]:
    """Whatever happens, nothing is left."""
    ledger = Ledger(FOLDER / f"{os.getpid()}-{dice.seed}.jsonl")
    guardian = Guardian(ledger)
    folder = Path(tempfile.mkdtemp(prefix="exhume-lab-"))
    ledger.note("folder", folder)
    try:
        stage = Stage(dice, folder, data, ledger, guardian, say)
        try:
            yield stage
        finally:
            stage.end()
    finally:
        left = ledger.clean()
        guardian.dismiss()
        if left:
            say(f"could not be taken away: {', '.join(left)}")


def compile_actors(program: Path) -> None:
    sources = sorted(map(str, ACTORS.glob("*.c")))
    flags = ["-O1", "-fno-omit-frame-pointer", "-pthread", "-w"]
    command = ["gcc", *flags, "-o", str(program), *sources, "-lm"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ExhumeError(
            "the lab compiles its actors and there is no gcc", todo="install gcc"
        ) from None
    if run.returncode:
        raise ExhumeError(f"the lab's actors don't compile: {run.stderr.strip()[:500]}")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _has_second(data: Path) -> bool:
    return any(
        frame.kind == FrameKind.TICK for path in head_files(data) for frame in HeadFile(path).frames
    )
