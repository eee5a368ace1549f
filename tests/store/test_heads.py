from __future__ import annotations

from pathlib import Path

import pytest

from exhume.perf.symbols.cache import path_of
from exhume.store import heads
from exhume.store.headlog import VERSION, file_header
from exhume.store.heads import head_files, read_heads
from exhume.store.layout import heads_path, symbols_path
from exhume.store.symbols import kernel_key
from tests.perf.test_naming import KERNEL_FUNCTIONS, K, table_of
from tests.store.head_maker import BOOT, IN_SOFTIRQ, T0, WALL, Hit, Log, S


@pytest.fixture
def root(tmp_path: Path) -> Path:
    heads_path(tmp_path).mkdir()
    symbols_path(tmp_path).mkdir()
    return tmp_path


def head(root: Path, name: str = "20231114T221320Z-1f0c2a3b-1000000.head") -> Log:
    """A log of one second with one sample."""
    return Log(heads_path(root) / name).begin().tick(Hit(500, 0, 0, IN_SOFTIRQ))


def test_logs_are_listed_oldest_first_and_nothing_else_is(root: Path) -> None:
    for name in ("b.head", "a.head", "a.damaged", ".tmp-x", "c.head.old"):
        (heads_path(root) / name).touch()
    assert [path.name for path in head_files(root)] == ["a.head", "b.head"]


def test_where_nothing_was_recorded_yet_there_is_nothing(tmp_path: Path) -> None:
    assert head_files(tmp_path) == []
    assert read_heads(tmp_path / "nowhere") == []
    heads_path(tmp_path).write_text("a file, not a directory")
    assert read_heads(tmp_path) == []


def test_a_log_reads_like_a_segment(root: Path) -> None:
    log = head(root)
    (view,) = read_heads(root)
    assert (view.state, view.sample_count) == ("head", 1)
    assert view.size_bytes == log.path.stat().st_size
    assert view.origin.boot_id == BOOT
    assert (view.window.start_ns, view.start_ns) == (WALL, T0)
    assert view.window.end_ns >= WALL + S
    assert view.stretches[0].rate_hz == 100


def test_names_come_from_the_symbols_beside_the_log(root: Path) -> None:
    table_of(KERNEL_FUNCTIONS, K).save(path_of(symbols_path(root), kernel_key(BOOT)))
    head(root)
    (view,) = read_heads(root)
    names = {frame.name for frame in view.tree().tree.frames}
    assert {"net_rx_action", "__do_softirq", "do_idle"} <= names


def test_a_log_that_did_not_grow_is_not_read_twice_and_one_that_did_is(root: Path) -> None:
    log = head(root)
    (first,) = read_heads(root)
    (again,) = read_heads(root)
    assert again is first
    log.tick(Hit(500, 0, 0, IN_SOFTIRQ))
    (grown,) = read_heads(root)
    assert (first.sample_count, grown.sample_count) == (1, 2)


def test_a_torn_tail_is_simply_not_there_yet(root: Path) -> None:
    log = head(root).tick(Hit(500, 0, 0, IN_SOFTIRQ))
    log.path.write_bytes(log.path.read_bytes()[:-5])
    (view,) = read_heads(root)
    assert view.sample_count == 1


@pytest.mark.parametrize(
    "content", [b"", b"EXHU", file_header(VERSION), file_header(VERSION + 1), b"noise" * 100]
)
def test_a_log_that_cannot_be_read_does_not_hide_the_others(root: Path, content: bytes) -> None:
    (heads_path(root) / "0.head").write_bytes(content)
    head(root)
    (heads_path(root) / "9.head").write_bytes(content)
    assert [view.sample_count for view in read_heads(root)] == [1]


def test_a_log_that_is_closed_while_we_look_is_passed_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = heads_path(root) / "0.head"
    there = head(root).path
    monkeypatch.setattr(heads, "head_files", lambda _: [gone, there])
    assert len(read_heads(root)) == 1
