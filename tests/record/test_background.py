from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.host import Host
from exhume.perf.records import FileIdentity, Mappings
from exhume.perf.symbols.cache import path_of
from exhume.perf.symbols.mapped import MappedFile
from exhume.record import background, captures
from exhume.record.background import Background
from exhume.record.head import Head
from exhume.record.recorder import origin_of
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.layout import heads_path
from tests.record.fake import SECOND, drained_of, machine, process
from tests.record.test_head import STRETCH, pair

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Work:
    def __init__(self, host: Host, data: Path) -> None:
        heads_path(data).mkdir(parents=True)
        self.head = Head(heads_path(data), origin_of(host), lambda _: False)
        self.head.rotate(pair(), STRETCH)
        self.problems: dict[str, str] = {}
        self.folder = data / "symbols"
        self.folder.mkdir()
        self.background = Background(host, self.head, self.folder, self.problems)

    def poll_until_done(self, now_ns: int = 0) -> None:
        deadline = time.monotonic() + 20
        self.background.poll(now_ns)
        while self.background._asides and time.monotonic() < deadline:
            time.sleep(0.01)
            self.background.poll(now_ns)
        assert not self.background._asides


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine(tmp_path / "host")


@pytest.fixture
def work(host: Host, tmp_path: Path) -> Iterator[Work]:
    work = Work(host, tmp_path / "data")
    yield work
    work.background.stop()
    work.head.close()


def mapped(*pids: int) -> Mappings:
    rows = len(pids)
    return Mappings(
        time=np.arange(rows, dtype=np.int64),
        pid=np.array(pids, np.int32),
        start=np.array([0x1000 * pid for pid in pids], np.uint64),
        length=np.full(rows, 0x100, np.uint64),
        file_offset=np.zeros(rows, np.uint64),
        file_hash=np.full(rows, 77, np.uint64),
    )


def test_looking_around_writes_who_is_there_and_finds_the_idle_loop(work: Work) -> None:
    work.background.look_around(5 * SECOND)
    work.poll_until_done()
    (path,) = work.head._folder.iterdir()
    (state,) = [frame for frame in HeadFile(path).frames if frame.kind == FrameKind.STATE]
    assert state.start_ns == 5 * SECOND
    assert len(work.background.idle_ranges) == 2
    assert work.problems == {}


def test_what_fails_is_noted_by_name_and_forgotten_when_it_works_again(
    work: Work, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(host: Host, started_ns: int) -> bytes:
        raise ValueError("odd")

    with monkeypatch.context() as patch:
        patch.setattr(background, "run_scan", fail)
        work.background.look_around(0)
        work.poll_until_done()
    assert work.problems == {"scan": "scan failed: ValueError: odd"}
    work.background.look_around(0)
    work.poll_until_done()
    assert work.problems == {}


def test_one_that_hangs_is_given_up_and_named(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "run_scan", lambda *_: time.sleep(60))
    work.background.look_around(0)
    time.sleep(0.05)
    work.background.poll(SECOND)
    assert work.problems == {}
    work.poll_until_done((background.SCAN_TIMEOUT_SECONDS + 1) * SECOND)
    assert "given up" in work.problems["scan"]


def test_the_last_process_that_maps_a_file_is_asked_for_it(work: Work) -> None:
    """Of a crash-looper's instances in one second the first ones are gone already."""
    identity = FileIdentity("/bin/x", b"\xab" * 20, (0, 0, 0, 0))
    drained = replace(drained_of(), mappings=mapped(31, 32, 33), files=((77, 31, identity),))
    work.background.learn_files(drained)
    assert [file.pid for file in work.background._captures.next_batch()] == [33]


def test_files_mapped_now_do_not_wait_for_those_of_the_whole_node(
    work: Work, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the files that a scan found are read, slowly, a new program is read at once."""
    real = captures.run_batch

    def slow_for_old(host: Host, files: list[MappedFile], folder: Path) -> bytes:
        if any(file.path == "/old" for file in files):
            time.sleep(60)
        (path_of(folder, files[0].key)).touch()
        return real(host, [], folder)

    monkeypatch.setattr(captures, "run_batch", slow_for_old)
    process(host.proc, 9, "old", maps="1000-2000 r-xp 00000000 fd:01 5   /old\n")
    work.background.look_around(0)
    deadline = time.monotonic() + 20
    while "older symbols" not in work.background._asides and time.monotonic() < deadline:
        work.background.poll(0)
        time.sleep(0.01)
    identity = FileIdentity("/new", b"\xab" * 20, (0, 0, 0, 0))
    work.background.learn_files(
        replace(drained_of(), mappings=mapped(33), files=((77, 33, identity),))
    )
    new = path_of(work.folder, "ab" * 20)
    while not new.exists() and time.monotonic() < deadline:
        work.background.poll(2 * SECOND)
        time.sleep(0.01)
    assert new.exists()
    assert "older symbols" in work.background._asides


def test_one_child_at_a_time_and_none_beside_the_closer(work: Work) -> None:
    """Each has the memory of a recorder again."""
    others = ["closer"]
    work.background.is_crowded = lambda: bool(others)
    work.background.look_around(0)
    work.background.poll(SECOND)
    assert not work.background._asides
    assert not work.background.is_quiet
    others.clear()
    seen: set[str] = set()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        work.background.poll(2 * SECOND)
        if bool(getattr(work.background, "is_quiet")):  # noqa: B009 (it changes as we poll)
            break
        assert len(work.background._asides) <= 1
        seen.update(work.background._asides)
        time.sleep(0.005)
    assert {"scan", "kernel"} <= seen


def test_a_closer_that_takes_for_ever_does_not_keep_the_scan_from_being_done(work: Work) -> None:
    work.background.is_crowded = lambda: True
    work.background.scan(0)
    work.background.poll(background.LONG_NS - 1)
    assert not work.background._asides
    work.background.poll(background.LONG_NS)
    assert list(work.background._asides) == ["scan"]


def test_what_is_urgent_waits_neither_for_the_closer_nor_long_for_others(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "run_scan", lambda *_: time.sleep(60))
    monkeypatch.setattr(captures, "run_batch", lambda *_: b"[]")
    identity = FileIdentity("/new", b"\xab" * 20, (0, 0, 0, 0))
    drained = replace(drained_of(), mappings=mapped(33), files=((77, 33, identity),))
    work.background.scan(0)
    work.background.is_crowded = lambda: True
    work.background.learn_files(drained)
    work.background.poll(background.SHORT_NS - 1)
    assert list(work.background._asides) == ["scan"]
    work.background.poll(background.SHORT_NS)
    assert list(work.background._asides) == ["scan", "symbols"]
