from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.host import Host
from exhume.record.recorder import Options
from exhume.record.report import Retention
from exhume.record.session import (
    CLOSE_LEAST_NS,
    MOST_HANGS,
    PATIENCE_TICKS,
    Closer,
    Settings,
    open_sampler,
    prepare,
)
from tests.record.fake import Desk, FakeClock, machine, refuse

FEW_TICKS = """
import sys
from pathlib import Path
from tests.record.fake import Desk, FakeSampler, machine
from exhume.record import session, close
from exhume.cli import record

folder = Path(sys.argv[1])
desk = Desk(machine(folder / "host"), folder / "data", FakeSampler(), segment_seconds=5)
settings = session.Settings(desk.recorder._options, session.Retention(10**12, 10**9, 10**9))
desk.run_for(12)
print(*sorted(name for name in sys.modules if "." not in name))
session.make_room(desk.data, "", 1)
print(*sorted(name for name in sys.modules if "." not in name))
"""


def settings(data: Path, *, with_samples: bool = True) -> Settings:
    return Settings(Options(data), Retention(10**15, 1 << 30, 1 << 30), with_samples)


def test_the_recorder_never_loads_what_only_readers_need(tmp_path: Path) -> None:
    """Arrow alone is 35 MiB that would stay for ever."""
    run = subprocess.run(
        [sys.executable, "-c", FEW_TICKS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    usual, on_a_full_disk = (set(line.split()) for line in run.stdout.splitlines())
    assert "numpy" in usual
    assert not on_a_full_disk & {"pyarrow", "rich", "duckdb", "pandas"}
    assert "_hashlib" not in usual, "OpenSSL takes 3.5 MiB"


def test_the_folders_are_made_for_us_alone_and_those_who_share_our_group(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "b")
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} >= {"head", "symbols"}
    assert (tmp_path / "a" / "b").stat().st_mode & 0o007 == 0
    prepare(tmp_path / "a" / "b")


@pytest.mark.parametrize("where", ["/proc/nope", "/proc/nope/deeper", "/dev/null/x"])
def test_a_place_that_cannot_be_made_gives_one_clear_error(where: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        prepare(Path(where))
    assert caught.value.exit_code == EXIT_PERMISSION
    assert caught.value.what.startswith("cannot make /")
    assert "--data" in caught.value.todo


def test_without_events_there_is_no_sampler_and_the_reason_comes_first(tmp_path: Path) -> None:
    sampler, missing = open_sampler(settings(tmp_path), machine(tmp_path), refuse)
    assert sampler is None
    assert "perf_event_open was refused" in missing[0].why


def test_samples_that_nobody_wants_are_not_missing(tmp_path: Path) -> None:
    sampler, missing = open_sampler(
        settings(tmp_path, with_samples=False), machine(tmp_path), refuse
    )
    assert sampler is None
    assert missing == ()


def test_a_closer_that_cannot_be_started_is_started_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process to be had: that is no reason to stop recording."""
    closer = Closer(settings(tmp_path), FakeClock())
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/python")
        closer.ask("")
        closer.poll(desk.recorder)
    assert not closer.is_running
    closer.poll(desk.recorder)
    process = closer._process
    assert process is not None
    process.wait(60)
    closer.poll(desk.recorder)
    assert closer._process is None
    assert "closer" not in desk.recorder.problems


def test_what_a_closer_complains_about_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    closer = Closer(settings(tmp_path / "data"), FakeClock())
    desk = Desk(machine(tmp_path / "host"), tmp_path / "other")
    closer.ask("")
    closer.poll(desk.recorder)
    process = closer._process
    assert process is not None
    process.wait(60)
    closer.poll(desk.recorder)
    assert desk.recorder.problems["closer"]


def test_one_closer_at_a_time(tmp_path: Path) -> None:
    closer = Closer(settings(tmp_path), FakeClock())
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data")
    closer.ask("a")
    closer.poll(desk.recorder)
    first = closer._process
    closer.ask("b")
    closer.poll(desk.recorder)
    assert closer._process is first
    assert first is not None
    first.wait(60)
    closer.poll(desk.recorder)
    second = closer._process
    assert second is not None
    assert second is not first
    assert "b" in list(map(str, second.args))  # type: ignore[arg-type]
    closer.stop()
    assert second.poll() is not None


def test_the_closer_waits_for_the_recorders_other_children_but_not_for_ever(
    tmp_path: Path,
) -> None:
    """Each has the memory of a recorder again."""
    closer = Closer(settings(tmp_path), FakeClock())
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data")
    closer.is_crowded = lambda: True
    closer.ask("")
    for _ in range(PATIENCE_TICKS - 1):
        closer.poll(desk.recorder)
        assert not closer.is_running
    closer.poll(desk.recorder)
    assert closer.is_running
    closer.stop()


class Hanging:
    """A closer that never ends by itself: it sleeps, whatever log it is at."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = Desk(machine(folder / "host"), folder / "other")
        self.clock = FakeClock()
        self.heads = folder / "data" / "head"
        minute = Options(folder / "data", segment_ns=60 * 10**9)
        self.closer = Closer(replace(settings(folder), options=minute), self.clock)
        self.commands: list[list[str]] = []
        self.started: list[subprocess.Popen[bytes]] = []
        self._real = subprocess.Popen
        monkeypatch.setattr(subprocess, "Popen", self._started)
        prepare(folder / "data")

    def _started(self, command: list[str], **rest: Any) -> subprocess.Popen[bytes]:
        self.commands.append(command)
        self.started.append(self._real(["sleep", "600"], **rest))
        return self.started[-1]

    def log(self, began_ms: int) -> str:
        path = self.heads / f"20261115T201000Z-5e0c1d4e-{began_ms}.head"
        path.write_bytes(b"")
        return path.name

    def hang(self) -> str:
        """Until the recorder has had enough; what it says then."""
        self.closer.poll(self.desk.recorder)
        process = self.closer._process
        assert process is not None
        self.clock.now_ns += CLOSE_LEAST_NS
        self.closer.poll(self.desk.recorder)
        assert self.closer.is_running
        self.clock.now_ns += 1
        self.closer.poll(self.desk.recorder)
        assert process.wait(10) == -signal.SIGKILL
        self.closer.poll(self.desk.recorder)
        return self.desk.recorder.problems["closer"]


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    made = Hanging(tmp_path, monkeypatch)
    yield made
    for process in made.started:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_a_closer_that_hangs_is_ended_and_its_stretch_tried_again_after_the_others(
    hanging: Hanging,
) -> None:
    first, second, live = hanging.log(1), hanging.log(2), hanging.log(3)
    hanging.closer.ask(live)
    said = hanging.hang()
    assert first in said
    assert "tried again after the others" in said
    assert hanging.closer.is_running  # for the second log
    assert hanging.commands[-1][-2:] == ["--last", first]
    (hanging.heads / second).unlink()  # done; the first is what it hangs at again
    assert first in hanging.hang()
    assert not hanging.closer.is_running  # not before the next segment


def test_a_log_that_no_closer_gets_done_with_is_set_aside(hanging: Hanging) -> None:
    stuck, live = hanging.log(1), hanging.log(2)
    for _ in range(MOST_HANGS - 1):
        hanging.closer.ask(live)
        hanging.hang()
        assert (hanging.heads / stuck).exists()
    hanging.closer.ask(live)
    later = hanging.log(3)  # a log that began since is not to blame
    assert "is set aside" in hanging.hang()
    assert {path.name for path in hanging.heads.iterdir()} == {
        stuck.replace(".head", ".damaged"), live, later,
    }  # fmt: skip


def test_a_closer_of_long_segments_is_given_three_times_as_long(
    tmp_path: Path, hanging: Hanging
) -> None:
    hour = 3600 * 10**9
    options = Options(tmp_path / "data", segment_ns=hour)
    closer = Closer(replace(settings(tmp_path), options=options), hanging.clock)
    closer.ask(hanging.log(1))
    closer.poll(hanging.desk.recorder)
    hanging.clock.now_ns += 3 * hour
    closer.poll(hanging.desk.recorder)
    assert closer._process is not None
    assert closer._process.poll() is None
    hanging.clock.now_ns += 1
    closer.poll(hanging.desk.recorder)
    assert closer._process.wait(10) == -signal.SIGKILL
    closer.stop()


def test_where_a_host_has_capabilities_nothing_is_missing(tmp_path: Path) -> None:
    host: Host = machine(tmp_path)
    _, missing = open_sampler(settings(tmp_path, with_samples=False), host, refuse)
    assert missing == ()
