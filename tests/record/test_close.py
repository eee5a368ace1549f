from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.record import close
from exhume.record.close import DAMAGED_KEPT, close_heads, drop_damaged
from exhume.store.assemble import Assembled, assemble_aside
from exhume.store.headlog import DAMAGED, HeadFile, is_older
from exhume.store.heads import read_heads
from exhume.store.layout import heads_path, segment_name, segments_path
from exhume.store.minutes import minute_files
from exhume.store.recording import Recording
from exhume.store.symbols import SymbolStore
from tests.record.fake import SECOND, WALL_NS, Desk, fill, machine

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three logs of ten seconds each: two to be closed, one live."""
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data", segment_seconds=10)
    desk.run_for(28)
    assert len(logs(desk.data)) == 3
    return desk.data


def logs(data: Path) -> list[str]:
    return sorted(path.name for path in heads_path(data).iterdir())


def segments(data: Path) -> list[str]:
    folder = segments_path(data)
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def recorded_seconds(data: Path) -> int:
    """Of per-core times, wherever they lie."""
    recording = Recording.open(data, heads=read_heads)
    return sum(len(block.tick_ns) for v in recording.views() for block in v.blocks("cpu.idle"))


def closer(data: Path, live: str, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "exhume.record.close", str(data), "--live", live,
        "--keep-seconds", "1e12", "--max-bytes", str(1 << 40), "--pinned-bytes", "0", *more,
    ]  # fmt: skip


def test_every_log_but_the_live_one_becomes_a_segment(data: Path) -> None:
    first, second, live = logs(data)
    before = recorded_seconds(data)
    assert close_heads(data, live, Host()) == []
    assert logs(data) == [live]
    assert [name + ".head" for name in segments(data)] == [first, second]
    assert recorded_seconds(data) == before
    assert {file.source for file in minute_files(data)} == set(segments(data))


def test_a_log_begun_after_we_were_told_is_live_too(data: Path) -> None:
    """The recorder rotates while the closer is still starting."""
    _, told, newer = logs(data)
    assert close_heads(data, told, Host()) == []
    assert logs(data) == [told, newer]


def test_what_is_older_is_told_by_the_machines_own_clock_not_by_the_wall() -> None:
    def log(wall_seconds: int, boot: str, mono_seconds: int) -> str:
        name = segment_name(WALL_NS + wall_seconds * SECOND, boot, mono_seconds * SECOND)
        return f"{name}.head"

    live = log(0, "aaaa", 5_000)
    assert is_older(log(3_600, "aaaa", 4_000), live)  # the clock was set back since
    assert not is_older(log(-3_600, "aaaa", 6_000), live)
    assert not is_older(live, live)
    assert is_older(log(-3_600, "bbbb", 9_000), live)  # of another boot
    assert is_older("nonsense.head", live)
    assert is_older(live, "")


def test_at_the_next_start_all_are_closed(data: Path) -> None:
    assert close_heads(data, "", Host()) == []
    assert logs(data) == []
    assert len(segments(data)) == 3


def test_the_log_that_hung_comes_after_the_others(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, live = logs(data)
    came: list[str] = []

    def note(head: HeadFile, symbols: SymbolStore, folder: Path) -> Assembled:
        came.append(head.path.name)
        return assemble_aside(head, symbols, folder)

    monkeypatch.setattr(close, "assemble_aside", note)
    close_heads(data, live, Host(), last=first)
    assert came == [second, first]


def test_the_closer_writes_without_what_only_readers_need(data: Path) -> None:
    """Arrow takes as much memory as all the rest of the closer."""
    code = (
        "import sys; from pathlib import Path; from exhume.host import Host\n"
        "from exhume.record.close import close_heads\n"
        f"assert close_heads(Path({str(data)!r}), '', Host()) == []\n"
        "print(*(name for name in sys.modules if '.' not in name))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy" in run.stdout.split()
    assert not set(run.stdout.split()) & {"pyarrow", "rich", "duckdb", "pandas"}
    assert len(segments(data)) == 3


def test_a_log_with_nothing_in_it_simply_goes(data: Path) -> None:
    (heads_path(data) / "20240501T000000Z-b0071d00-1.head").write_bytes(b"EXHUMEHD\1\0\0\0\0\0\0\0")
    (heads_path(data) / "20240501T000000Z-b0071d00-2.head").write_bytes(b"")
    assert close_heads(data, "", Host()) == []
    assert logs(data) == []


def test_a_damaged_log_is_kept_aside_told_and_the_others_are_closed(data: Path) -> None:
    first, _, live = logs(data)
    path = heads_path(data) / first
    content = bytearray(path.read_bytes())
    content[16:600] = bytes(584)  # the frames that say which machine and when
    path.write_bytes(bytes(content))
    (problem,) = close_heads(data, live, Host())
    assert first in problem
    assert logs(data) == [first.replace(".head", DAMAGED), live]
    assert len(segments(data)) == 1


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("epoch"), ExhumeError("bad")])
def test_a_log_that_nobody_can_make_sense_of_does_not_stop_the_others(
    error: Exception, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _, live = logs(data)

    def fail(head: HeadFile, symbols: SymbolStore, folder: Path) -> Assembled:
        if head.path.name == first:
            raise error
        return assemble_aside(head, symbols, folder)

    monkeypatch.setattr(close, "assemble_aside", fail)
    assert len(close_heads(data, live, Host())) == 1
    assert logs(data) == [first.replace(".head", DAMAGED), live]
    assert len(segments(data)) == 1


def test_one_that_cannot_be_written_now_is_tried_again_later(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logs(data)

    def fail(head: HeadFile, symbols: SymbolStore, folder: Path) -> Assembled:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(close, "assemble_aside", fail)
    problems = close_heads(data, before[-1], Host())
    assert len(problems) == 2
    assert all("Input/output error" in problem for problem in problems)
    assert logs(data) == before
    monkeypatch.setattr(close, "assemble_aside", assemble_aside)
    assert close_heads(data, before[-1], Host()) == []
    assert logs(data) == before[-1:]


def test_a_full_disk_costs_the_oldest_segment_not_the_newest_log(
    tiny_disk: Path, tmp_path: Path
) -> None:
    desk = Desk(machine(tmp_path / "host"), tiny_disk / "data", segment_seconds=10)
    desk.run_for(28)
    data, (first, _, live) = desk.data, logs(desk.data)
    for minutes in (60, 50):
        wall = WALL_NS - minutes * 60 * SECOND
        folder = segments_path(data) / segment_name(wall, "b0071d00", minutes * SECOND)
        folder.mkdir(parents=True)
        (folder / "samples.parquet").write_bytes(bytes(2 << 20))
    fill(tiny_disk)
    assert close_heads(data, live, Host()) == []
    assert logs(data) == [live]
    assert first.removesuffix(".head") in segments(data)
    assert len(segments(data)) == 3


def test_damaged_logs_are_not_kept_for_ever(data: Path) -> None:
    folder = heads_path(data)
    names = [f"2024050{n}T000000Z-b0071d00-{n}{DAMAGED}" for n in range(1, 9)]
    now = time.time()
    for age, name in enumerate(reversed(names)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (now - age * 100, now - age * 100))
    drop_damaged(data, 1_000, now)
    assert [name for name in logs(data) if name.endswith(DAMAGED)] == names[-DAMAGED_KEPT:]
    drop_damaged(data, 150, now)
    assert [name for name in logs(data) if name.endswith(DAMAGED)] == names[-2:]


def test_it_runs_as_a_process_of_its_own(data: Path) -> None:
    live = logs(data)[-1]
    run = subprocess.run(closer(data, live), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert logs(data) == [live]


def test_retention_does_its_work_also_where_a_log_is_damaged(data: Path) -> None:
    first, _, live = logs(data)
    path = heads_path(data) / first
    path.write_bytes(path.read_bytes()[:20] + bytes(600) + path.read_bytes()[620:])
    old = segments_path(data) / segment_name(WALL_NS - 86_400 * SECOND, "b0071d00", 1)
    old.mkdir(parents=True)
    command = closer(data, live)
    command[command.index("--keep-seconds") + 1] = "1"
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert first in run.stderr
    assert old.name not in segments(data)


def test_killed_at_any_instant_nothing_is_lost_and_the_next_one_finishes(data: Path) -> None:
    live, before = logs(data)[-1], recorded_seconds(data)
    dice = random.Random(7)
    for _ in range(6):
        process = subprocess.Popen(closer(data, live), stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.0, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert recorded_seconds(data) == before
    assert subprocess.run(closer(data, live), check=False).returncode == 0
    assert logs(data) == [live]
    assert len(segments(data)) == 2
    assert recorded_seconds(data) == before


def test_it_does_not_outlive_its_recorder(data: Path) -> None:
    """The next recorder's live log is not the one it was told to leave alone."""
    live = logs(data)[-1]
    gone = subprocess.Popen(["true"])
    gone.wait()
    run = subprocess.run(
        closer(data, live, "--recorder", str(gone.pid)), capture_output=True, check=False
    )
    assert run.returncode == 1
    assert len(logs(data)) == 3
