from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.host import Host
from exhume.perf.records import COMM_BYTES, FileIdentity
from exhume.perf.symbols.cache import path_of
from exhume.record.scan import (
    MapLine,
    file_key,
    parse_cgroup,
    parse_maps,
    read_cgroup,
    run_scan,
    scan,
    unpack_scan,
)
from exhume.store.columns import unpack
from exhume.store.ticks import decode_state
from tests.record.fake import machine, process, put

LIBC = "7f10000-7f20000 r-xp 00001000 fd:01 1234                       /usr/lib/libc.so.6\n"


def comms_of(host: Host) -> dict[int, bytes]:
    state = scan(host).state
    names = [bytes(name).rstrip(b"\0") for name in state.comms.comm]
    return dict(zip(state.comms.tid.tolist(), names, strict=True))


def test_processes_with_their_parents_names_and_cgroups(tmp_path: Path) -> None:
    host = machine(tmp_path)
    process(host.proc, 42, "sshd", parent=7, cgroup="0::/system.slice/ssh.service\n")
    state = scan(host).state
    parents = dict(zip(state.parent_pid.key.tolist(), state.parent_pid.value.tolist(), strict=True))
    assert parents == {1: 0, 7: 0, 42: 7}
    assert comms_of(host)[42] == b"sshd"
    assert state.pid_cgroups[42] == "/system.slice/ssh.service"
    assert not state.comms.is_exec.any()


@pytest.mark.parametrize(
    "name",
    [
        "tmux: server",
        "(sd-pam)",
        "a) S 99 1 1",
        "((((",
        "))))",
        "two\nlines",
        "kworker/0:1H",
        "\x1b[31mred",
        "日本",
        "",
        " ",
    ],
)
def test_a_name_may_be_anything(name: str, tmp_path: Path) -> None:
    """It stands between brackets in the stat file, and it may hold brackets of its own."""
    host = machine(tmp_path)
    process(host.proc, 42, name, parent=7)
    state = scan(host).state
    assert 7 in state.parent_pid.value.tolist()
    assert comms_of(host)[42] == name.encode()[: COMM_BYTES - 1]


def test_a_name_that_is_not_text_keeps_its_bytes(tmp_path: Path) -> None:
    """The side band gives the same bytes: two spellings would make two threads of one."""
    host = machine(tmp_path)
    process(host.proc, 42, os.fsdecode(b"\xff\xfe\x80" * 5))
    assert comms_of(host)[42] == b"\xff\xfe\x80" * 5


def test_every_thread_has_its_own_name(tmp_path: Path) -> None:
    host = machine(tmp_path)
    put(host.proc / "7/task/71/comm", "net\n")
    put(host.proc / "7/task/72/comm", "disk\n")
    assert comms_of(host) == {1: b"init", 7: b"worker", 71: b"net", 72: b"disk"}


def test_a_process_that_ends_while_we_look_is_left_out(tmp_path: Path) -> None:
    host = machine(tmp_path)
    (host.proc / "42").mkdir()
    put(host.proc / "43/stat", "")
    put(host.proc / "44/stat", "44 (x) S")
    put(host.proc / "45/stat", "45 (x) S x 1")
    put(host.proc / "46/stat", "46 (half) S 1 1")  # no task folder any more
    state = scan(host).state
    assert sorted(state.parent_pid.key.tolist()) == [1, 7, 46]
    assert 46 not in state.comms.pid.tolist()


def test_each_file_is_to_be_captured_once_however_many_map_it(tmp_path: Path) -> None:
    host = machine(tmp_path)
    process(host.proc, 8, "a", maps=LIBC)
    process(host.proc, 9, "b", maps=LIBC.replace("7f1", "6f1").replace("7f2", "6f2"))
    found = scan(host)
    assert [(f.key, f.path) for f in found.to_capture] == [("fd-1-1234", "/usr/lib/libc.so.6")]
    assert sorted(found.state.mappings.pid.tolist()) == [8, 9]
    assert len(set(found.state.mappings.file_hash.tolist())) == 1
    assert len(found.state.files) == 1


def test_what_was_found_survives_the_way_through_the_pipe(tmp_path: Path) -> None:
    host = machine(tmp_path)
    process(host.proc, 8, "a\nb", maps=LIBC + LIBC.replace("libc.so.6", "ünï code\tx"))
    began = host.clock.monotonic_ns()
    started, files, payload = unpack_scan(run_scan(host, began))
    assert started == began
    assert files == list(scan(host).to_capture)
    state = decode_state(unpack(memoryview(payload), "pipe", "0"), started)
    expected = scan(host).state
    assert state.comms.comm.tolist() == expected.comms.comm.tolist()
    assert state.mappings.start.tolist() == expected.mappings.start.tolist()
    assert [f.path for f in state.files] == [f.path for f in expected.files]
    assert dict(state.pid_cgroups) == dict(expected.pid_cgroups)


# --- maps ------------------------------------------------------------------------------------


def test_only_executable_mappings_count() -> None:
    text = (
        "00400000-00401000 r--p 00000000 fd:01 9 /bin/a\n"
        "00401000-00402000 r-xp 00001000 fd:01 9 /bin/a\n"
        "00402000-00403000 rw-p 00002000 fd:01 9 /bin/a\n"
        "7fff0000-7fff1000 r-xp 00000000 00:00 0                  [vdso]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
        "7f000000-7f001000 rwxp 00000000 00:00 0\n"
    )
    assert parse_maps(text) == [
        MapLine(0x401000, 0x402000, 0x1000, (0xFD, 1), 9, "/bin/a"),
        MapLine(0x7FFF0000, 0x7FFF1000, 0, (0, 0), 0, "[vdso]"),
        MapLine(0x7F000000, 0x7F001000, 0, (0, 0), 0, "//anon"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/opt/with space/x y.so",
        "/opt/new\\012line",
        "/usr/bin/gone (deleted)",
        "/opt/\u2028separator",
        "/opt/\x0bvertical\x1ctab",
        "/memfd:jit (deleted)",
        "/" + "x" * 4000,
    ],
)
def test_a_path_comes_back_as_it_is(path: str) -> None:
    (line,) = parse_maps(f"1000-2000 r-xp 00000000 08:01 5   {path}\n")
    assert line.path == path


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        "1000-2000",
        "1000-2000 r-xp",
        "1000-2000 r-xp 0 08:01",
        "zzzz-2000 r-xp 0 08:01 5 /a",
        "1000 r-xp 0 08:01 5 /a",
        "1000-2000-3000 r-xp 0 08:01 5 /a",
        "1000-2000 x 0 08:01 5 /a",
        "1000-2000 r-xp x 08:01 5 /a",
        "1000-2000 r-xp 0 0801 5 /a",
        "1000-2000 r-xp 0 08:01:02 5 /a",
        "1000-2000 r-xp 0 -1:00 5 /a",
        "1000-2000 r-xp 0 08:01 x /a",
        "1000-2000 r-xp 0 08:01 -5 /a",
        "2000-1000 r-xp 0 08:01 5 /a",
        "1000-1000 r-xp 0 08:01 5 /a",
        "1000-10000000000000000 r-xp 0 08:01 5 /a",
        "1000-2000 r-xp 10000000000000000 08:01 5 /a",
    ],
)
def test_a_line_that_is_none_is_passed_over_and_the_next_one_read(line: str) -> None:
    assert [found.path for found in parse_maps(f"{line}\n{LIBC}")] == ["/usr/lib/libc.so.6"]


map_lines = st.builds(
    lambda start, length, permissions, offset, major, minor, inode, path: (
        f"{start:x}-{start + length:x} {permissions} {offset:08x} {major:02x}:{minor:02x} "
        f"{inode} {path}"
    ),
    st.integers(0, (1 << 48) - 1),
    st.integers(0, 1 << 40),
    st.sampled_from(["r-xp", "rw-p", "r--s", "rwxp", "--xp"]),
    st.integers(0, (1 << 64) - 1),
    st.integers(0, 4095),
    st.integers(0, 1 << 20),
    st.integers(0, (1 << 64) - 1),
    st.text(max_size=20),
)


@given(st.lists(map_lines | st.text(max_size=60), max_size=8))
def test_no_text_breaks_the_scan(lines: list[str]) -> None:
    for found in parse_maps("\n".join(lines)):
        assert 0 <= found.start < found.end < 1 << 64
        assert 0 <= found.offset < 1 << 64
        identity = FileIdentity(found.path, b"", (*found.device, found.inode, 0))
        assert file_key(identity) == file_key(identity).strip()


def test_a_file_that_got_the_inode_of_another_has_a_key_of_its_own() -> None:
    before, after = (
        file_key(FileIdentity("/opt/agent", b"", (8, 1, 77, generation))) for generation in (5, 6)
    )
    assert before != after
    for key in (before, after, file_key(FileIdentity("/opt/agent", b"", (8, 1, 77, 0)))):
        assert path_of(Path(), key).name == f"{key}.sym"


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    parse_maps(text)
    parse_cgroup(text)


# --- the key of a file -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/usr/bin/a", "fd-1-77"),
        ("[vdso]", "vdso"),
        ("[heap]", ""),
        ("[stack]", ""),
        ("//anon", ""),
        ("/dev/zero (deleted)", ""),
        ("/memfd:x (deleted)", ""),
        ("/SYSV00000000 (deleted)", ""),
        ("relative", ""),
        ("", ""),
    ],
)
def test_only_real_files_have_a_key(path: str, key: str) -> None:
    assert file_key(FileIdentity(path, b"", (0xFD, 1, 77, 0))) == key


def test_the_build_id_is_the_best_key() -> None:
    assert file_key(FileIdentity("/a", b"\xab\xcd", (0, 0, 0, 0))) == "abcd"
    assert file_key(FileIdentity("/a", b"", (0, 0, 0, 0))) == ""


# --- cgroups ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("0::/kubepods/pod1\n", "/kubepods/pod1"),
        ("0::/\n", "/"),
        # v1: the memory hierarchy says more than the others.
        ("3:cpu,cpuacct:/\n2:memory:/docker/abc\n1:name=systemd:/docker/abc\n", "/docker/abc"),
        ("3:cpu,cpuacct:/only/cpu\n2:memory:/\n", "/only/cpu"),
        ("2:memory:/\n1:name=systemd:/system.slice/ssh.service\n", "/system.slice/ssh.service"),
        # hybrid: the unified hierarchy is there, and empty or not.
        ("4:memory:/a\n0::/\n", "/a"),
        ("4:memory:/a\n0::/b\n", "/b"),
        ("12:rdma:/x\n", "/"),
        ("0::/a:b:c\n", "/a:b:c"),
        ("0::/deleted/one (deleted)\n", "/deleted/one (deleted)"),
        ("0::/line\u2028separator\n", "/line\u2028separator"),
        ("", None),
        ("\n\n", None),
        ("garbage", None),
        ("1:x", None),
    ],
)
def test_the_cgroup_that_says_most(text: str, path: str | None) -> None:
    assert parse_cgroup(text) == path


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "memory", "cpu,cpuacct", "pids"]), st.text()), max_size=6
    )
)
def test_a_cgroup_is_one_of_those_written(entries: list[tuple[str, str]]) -> None:
    paths = ["/" + path.replace("\n", "") for _, path in entries]
    lines = [
        f"{i}:{name}:{path}" for i, ((name, _), path) in enumerate(zip(entries, paths, strict=True))
    ]
    found = parse_cgroup("\n".join(lines))
    assert found in {*paths, "/"} if entries else found is None


def test_a_process_that_is_gone_has_no_cgroup(tmp_path: Path) -> None:
    host = machine(tmp_path)
    assert read_cgroup(host, 7) == "/a"
    assert read_cgroup(host, 12345) is None


# --- the real /proc --------------------------------------------------------------------------


def test_on_the_real_proc_we_find_ourselves() -> None:
    host, stop = Host(), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        found = scan(host)
    finally:
        stop.set()
        thread.join()
    pid = os.getpid()
    state = found.state
    own = state.parent_pid.key == pid
    assert state.parent_pid.value[own].tolist() == [os.getppid()]
    assert thread.native_id in state.comms.tid[state.comms.pid == pid].tolist()
    assert state.pid_cgroups[pid] == read_cgroup(host, pid)
    mapped = {line.start for line in parse_maps(Path("/proc/self/maps").read_text())}
    assert set(state.mappings.start[state.mappings.pid == pid].tolist()) <= mapped
    paths = {file.path for file in found.to_capture}
    assert any("libc" in path or "python" in path for path in paths)
    assert len({file.key for file in found.to_capture}) == len(found.to_capture)
