from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.host import Host
from exhume.record.recorder import Options
from exhume.record.report import Retention
from exhume.record.session import Closer, Settings, open_sampler, prepare
from tests.record.fake import Desk, machine, refuse

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
    loaded = set(run.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"pyarrow", "rich", "duckdb", "pandas"}


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
    closer = Closer(settings(tmp_path))
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/python")
        closer.start("")
        closer.poll(desk.recorder)
    closer.poll(desk.recorder)
    process = closer._process
    assert process is not None
    process.wait(60)
    closer.poll(desk.recorder)
    assert closer._process is None
    assert "closer" not in desk.recorder.problems


def test_what_a_closer_complains_about_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    closer = Closer(settings(tmp_path / "data"))
    desk = Desk(machine(tmp_path / "host"), tmp_path / "other")
    closer.start("")
    process = closer._process
    assert process is not None
    process.wait(60)
    closer.poll(desk.recorder)
    assert desk.recorder.problems["closer"]


def test_one_closer_at_a_time(tmp_path: Path) -> None:
    closer = Closer(settings(tmp_path))
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data")
    closer.start("a")
    first = closer._process
    closer.start("b")
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


def test_where_a_host_has_capabilities_nothing_is_missing(tmp_path: Path) -> None:
    host: Host = machine(tmp_path)
    _, missing = open_sampler(settings(tmp_path, with_samples=False), host, refuse)
    assert missing == ()
