from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.perf.records import NO_MAPPINGS, Mappings
from exhume.perf.symbols.cache import cached, path_of
from exhume.perf.symbols.mapped import MappedFile, build_id_of
from exhume.record import captures
from exhume.record.captures import BATCH, MAX_TRIES, Captures, run_batch, run_kernel
from exhume.record.scan import parse_maps
from tests.record.fake import machine, put


def file(name: str, pid: int = 7) -> MappedFile:
    return MappedFile(name * 4, bytes.fromhex(name * 4), f"/usr/bin/{name}", pid, 0x1000, 0x2000)


def mapped(hash_: int, pid: int) -> Mappings:
    return Mappings(
        time=np.array([1], np.int64),
        pid=np.array([pid], np.int32),
        start=np.array([0x7000], np.uint64),
        length=np.array([0x100], np.uint64),
        file_offset=np.array([0], np.uint64),
        file_hash=np.array([hash_], np.uint64),
    )


def settle(some: Captures, *keys: str) -> None:
    some.finished(json.dumps(keys).encode())


def test_a_file_is_read_once(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    some.want(file("aa", pid=8), 1)
    assert [one.pid for one in some.next_batch()] == [8]  # the later one is likelier to live
    settle(some, "aa" * 4)
    some.want(file("aa"), 1)
    some.seen_again(mapped(1, 9))
    assert some.next_batch() == []
    assert some.failed_count == 0


def test_one_that_could_not_be_read_is_tried_again_when_it_is_mapped_again(tmp_path: Path) -> None:
    """A crash-looper that was gone before we looked comes back."""
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    some.next_batch()
    settle(some)
    assert some.next_batch() == []
    assert some.failed_count == 1
    some.seen_again(mapped(1, 99))
    (again,) = some.next_batch()
    assert (again.key, again.pid, again.path) == ("aa" * 4, 99, "/usr/bin/aa")
    assert (again.start, again.end) == (0x7000, 0x7100)
    assert again.build_id == bytes.fromhex("aa" * 4)


def test_other_files_are_no_new_chance(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    some.next_batch()
    settle(some)
    some.seen_again(mapped(2, 99))
    some.seen_again(NO_MAPPINGS)
    assert some.next_batch() == []


def test_it_is_tried_so_many_times_and_then_left_alone(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    tries = 0
    for pid in range(100, 100 + 3 * MAX_TRIES):
        tries += len(some.next_batch())
        settle(some)
        some.seen_again(mapped(1, pid))
    assert tries == MAX_TRIES


def test_a_file_found_by_the_scan_gets_a_new_chance_too_once_it_was_seen_mapped(
    tmp_path: Path,
) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"))  # the scan knows no hash
    some.want(file("aa", pid=8), 1)
    assert [one.pid for one in some.next_batch()] == [8]
    assert some.next_batch(urgent=False) == []
    settle(some)
    some.seen_again(mapped(1, 99))
    assert [one.pid for one in some.next_batch()] == [99]


def test_what_the_cache_has_is_not_asked_for(tmp_path: Path) -> None:
    put(path_of(tmp_path, "aa" * 4), "")
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    assert some.next_batch() == []


def test_code_without_a_file_is_not_asked_for(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    some.want(MappedFile("", None, "//anon", 7, 0, 1), 1)
    assert some.next_batch() == []


def test_many_files_come_in_batches(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    keys = [f"{n:08x}" for n in range(BATCH + 5)]
    for key in keys:
        some.want(MappedFile(key, None, f"/{key}", 7, 0, 1))
    assert some.next_batch() == []
    assert [f.key for f in some.next_batch(urgent=False)] == keys[:BATCH]
    assert [f.key for f in some.next_batch(urgent=False)] == keys[BATCH:]


def test_what_is_mapped_now_comes_before_what_was_there_and_the_newest_first(
    tmp_path: Path,
) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"))
    for number, name in enumerate(("bb", "cc", "dd")):
        some.want(file(name), number)
    assert [f.key[:2] for f in some.next_batch()] == ["dd", "cc", "bb"]
    assert [f.key[:2] for f in some.next_batch(urgent=False)] == ["aa"]


def test_a_file_that_was_read_while_it_waited_is_not_read_again(tmp_path: Path) -> None:
    some = Captures(tmp_path)
    some.want(file("aa"), 1)
    some.next_batch()
    some.seen_again(mapped(1, 99))  # mapped again while it is being read
    settle(some, "aa" * 4)
    assert some.next_batch() == []


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that unpacks a new library at each start would make it."""
    monkeypatch.setattr(captures, "MAX_KNOWN", 100)
    some = Captures(tmp_path)
    for number in range(1_000):
        some.want(MappedFile(f"{number:08x}", None, "/tmp/x.so", 7, 0, 1), number)
        some.next_batch()
        settle(some)
    assert len(some._done) + len(some._tries) + len(some._missing_hashes) <= 110


def test_a_batch_says_which_files_it_could_read(tmp_path: Path) -> None:
    """On the real /proc: our own interpreter, and a process that is long gone."""
    host = Host()
    own = host.read_proc("self/maps") or ""
    target = str(Path(sys.executable).resolve())
    line = next(line for line in parse_maps(own) if line.path == target)
    pid = int(Path("/proc/self").readlink().name)
    build_id = build_id_of(host, pid, line.path, line.start, line.end)
    key = build_id.hex() if build_id else "1-2-3"
    good = MappedFile(key, build_id, line.path, pid, line.start, line.end)
    gone = MappedFile("ab" * 20, b"\xab" * 20, "/no/such/file", 4_000_000, 0x1000, 0x2000)
    assert json.loads(run_batch(host, [gone, good], tmp_path)) == [key]
    table = cached(tmp_path, key)
    assert table is not None
    assert len(table) > 0


def test_the_kernels_symbols_tell_where_its_idle_loop_is(tmp_path: Path) -> None:
    host = machine(tmp_path)
    (tmp_path / "symbols").mkdir()
    answer = json.loads(run_kernel(host, tmp_path / "symbols"))
    assert answer == {
        "idle": [
            [0xFFFFFFFF81000100, 0xFFFFFFFF81000200],
            [0xFFFFFFFF81000200, 0xFFFFFFFF81000300],
        ]
    }
    assert cached(tmp_path / "symbols", f"kernel-{host.boot_id()}") is not None


def test_clones_of_the_idle_loop_are_part_of_it(tmp_path: Path) -> None:
    host = machine(tmp_path)
    (tmp_path / "symbols").mkdir()
    names = ("_stext", "mwait_idle_with_hints.constprop.0", "do_idle_not", "my.do_idle", "_etext")
    lines = [f"{0xFFFFFFFF81000000 + at * 0x100:x} t {name}" for at, name in enumerate(names)]
    put(host.proc / "kallsyms", "\n".join(lines) + "\n")
    answer = json.loads(run_kernel(host, tmp_path / "symbols"))
    assert answer == {"idle": [[0xFFFFFFFF81000100, 0xFFFFFFFF81000200]]}


def test_hidden_addresses_are_told_as_such(tmp_path: Path) -> None:
    host = machine(tmp_path)
    put(host.proc / "kallsyms", "0000000000000000 T _stext\n0000000000000000 T do_idle\n")
    assert "CAP_SYSLOG" in json.loads(run_kernel(host, tmp_path / "symbols"))["problem"]
