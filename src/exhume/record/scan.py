"""A scan of /proc: the threads, mappings and cgroups that were there before we looked.

Done at the start of each head log, so that every segment can be read by itself. Runs in a child
(record.aside); what it found comes back as one frame.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache

import numpy as np
import zstandard
from msgspec import Struct

from exhume.host import Host, read_line, read_text
from exhume.model.arrays import U8
from exhume.perf.asof import Statement
from exhume.perf.records import COMM_BYTES, Comms, FileIdentity, Mappings
from exhume.perf.symbols.mapped import MappedFile, build_id_of
from exhume.store.columns import pack
from exhume.store.headlog import COMPRESSION_LEVEL
from exhume.store.ticks import FileEntry, State, encode_state

_NO_FILE = (
    "//anon",
    "/dev/zero",
    "/anon_hugepage",
    "/SYSV",
    "/memfd:",
    "[heap]",
    "[stack",
    "[anon",
)
VDSO = "[vdso]"
CGROUP_ORDER = ("", "memory", "name=systemd", "cpu", "pids")
"""Which hierarchy's path names a process, best first: the unified one, then v1's."""


class MapLine(Struct, frozen=True):
    """An executable line of /proc/PID/maps."""

    start: int
    end: int
    offset: int
    device: tuple[int, int]
    """Major and minor number."""
    inode: int
    path: str


class Scan(Struct, frozen=True):
    state: State
    to_capture: tuple[MappedFile, ...]
    """One mapping of each file, to read its symbols through."""


def file_key(identity: FileIdentity) -> str:
    """Names the symbol table of a mapped file: by build id, else by device and inode.

    A scan reads build ids from the files themselves, the kernel's records have none.
    """
    if identity.path == VDSO:
        return "vdso"
    if not identity.path.startswith("/") or identity.path.startswith(_NO_FILE):
        return ""
    if identity.build_id:
        return identity.build_id.hex()
    major, minor, inode, generation = identity.device_inode
    if not inode:
        return ""
    # File systems give an inode's number to the next file; its generation is another one then.
    return f"{major:x}-{minor:x}-{inode}" + (f"_{generation:x}" if generation else "")


def scan(host: Host) -> Scan:
    comm_rows: list[tuple[int, int, int, bytes]] = []
    parents: list[tuple[int, int, int]] = []
    map_rows: list[tuple[int, int, int, int, int, int]] = []
    cgroups: dict[int, str] = {}
    files: dict[tuple[tuple[int, int], int, str], FileEntry] = {}
    to_capture: dict[str, MappedFile] = {}
    for pid in host.pids():
        now = host.clock.monotonic_ns()
        process = f"{host.proc}/{pid}"
        parent = _parent_pid(process)
        if parent is None:
            continue  # it ended while we looked
        parents.append((now, pid, parent))
        comm_rows += [(now, pid, tid, comm) for tid, comm in _threads(process)]
        cgroup = read_cgroup(host, pid)
        if cgroup is not None:
            cgroups[pid] = cgroup
        for line in _maps(process):
            known = (line.device, line.inode, line.path)
            entry = files.get(known)
            if entry is None:
                build_id = build_id_of(host, pid, line.path, line.start, line.end)
                identity = FileIdentity(line.path, build_id or b"", (*line.device, line.inode, 0))
                key = file_key(identity)
                entry = files[known] = FileEntry(_hash(key, line.path), key, line.path)
                if key:
                    mapped = MappedFile(key, build_id, line.path, pid, line.start, line.end)
                    to_capture.setdefault(key, mapped)
            map_rows.append((now, pid, line.start, line.end - line.start, line.offset, entry.hash))
    state = State(
        comms=_comms(comm_rows),
        parent_pid=Statement(*np.array(parents, np.int64).reshape(-1, 3).T),
        mappings=_mappings(map_rows),
        files=tuple(files.values()),
        pid_cgroups=cgroups,
    )
    return Scan(state, tuple(to_capture.values()))


def run_scan(host: Host, started_ns: int) -> bytes:
    """In a child: a line (the time, what to capture as JSON), then the state as a packed frame."""
    found = scan(host)
    rows = [
        [f.key, (f.build_id or b"").hex(), f.path, f.pid, f.start, f.end] for f in found.to_capture
    ]
    payload = pack(
        encode_state(found.state, started_ns), zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    )
    return f"{started_ns:020d}{json.dumps(rows)}\n".encode() + payload


def unpack_scan(result: bytes) -> tuple[int, list[MappedFile], bytes]:
    """What `run_scan` packed: when, which files to capture, and the frame."""
    line, payload = result.split(b"\n", 1)
    files = [
        MappedFile(key, bytes.fromhex(build_id) or None, path, pid, start, end)
        for key, build_id, path, pid, start, end in json.loads(line[20:])
    ]
    return int(line[:20]), files, payload


def parse_maps(text: str) -> list[MapLine]:
    """Executable mappings only. Other lines are passed over: the process may be hostile."""
    found = []
    # Not splitlines: of all it cuts at, the kernel escapes only the newline in a file's name.
    for line in text.split("\n"):
        if line[line.find(" ") + 3 : line.find(" ") + 4] != "x":
            continue  # most are not, and thousands of processes have dozens of them
        parts = line.split(maxsplit=5)
        if len(parts) < 5:
            continue
        try:
            start, end = (int(part, 16) for part in parts[0].split("-"))
            major, minor = (int(part, 16) for part in parts[3].split(":"))
            offset, inode = int(parts[2], 16), int(parts[4])
        except ValueError:
            continue
        path = parts[5] if len(parts) > 5 else "//anon"
        numbers_fit = 0 <= start < end < 1 << 64 and 0 <= offset < 1 << 64
        numbers_fit &= min(major, minor, inode) >= 0
        if path != "[vsyscall]" and numbers_fit:
            found.append(MapLine(start, end, offset, (major, minor), inode, path))
    return found


def read_cgroup(host: Host, pid: int) -> str | None:
    """The path of a process's cgroup; None where it is gone or may not be seen."""
    try:
        text = host.read_proc(f"{pid}/cgroup")
    except OSError:
        return None
    return None if text is None else parse_cgroup(text)


@lru_cache(maxsize=256)  # thousands of processes, dozens of cgroups
def parse_cgroup(text: str) -> str | None:
    """Of all hierarchies the one that says most: the first of CGROUP_ORDER that is not the root."""
    paths: dict[str, str] = {}
    for line in text.split("\n"):
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            paths.update(dict.fromkeys(controllers.split(","), path))
    for name in CGROUP_ORDER:
        if paths.get(name, "/") != "/":
            return paths[name]
    return "/" if paths else None


def _parent_pid(process: str) -> int | None:
    # The name is in brackets and may itself hold brackets and spaces: the last one closes it.
    fields = _line(f"{process}/stat").rpartition(b")")[2].split(maxsplit=2)
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None


def _threads(process: str) -> list[tuple[int, bytes]]:
    try:
        tids = os.listdir(f"{process}/task")
    except OSError:
        return []
    found = []
    for tid in tids:
        name = _line(f"{process}/task/{tid}/comm")
        if name and tid.isdecimal():
            found.append((int(tid), name.removesuffix(b"\n")[: COMM_BYTES - 1]))
    return found


def _maps(process: str) -> list[MapLine]:
    try:
        return parse_maps(read_text(f"{process}/maps") or "")
    except OSError:
        return []


def _line(path: str) -> bytes:
    """A process's file; empty where the process is gone or hides it."""
    try:
        return read_line(path) or b""
    except OSError:
        return b""


def _hash(key: str, path: str) -> int:
    """Names a file within one recorder's life: keyed, so that no path can be made to collide.

    Not by hashlib: OpenSSL alone takes 3.5 MiB.
    """
    return hash((key, path)) % (1 << 64)


def _comms(rows: list[tuple[int, int, int, bytes]]) -> Comms:
    names: U8 = np.zeros((len(rows), COMM_BYTES), np.uint8)
    for index, row in enumerate(rows):
        names[index, : len(row[3])] = np.frombuffer(row[3], np.uint8)
    return Comms(
        time=np.array([row[0] for row in rows], np.int64),
        pid=np.array([row[1] for row in rows], np.int32),
        tid=np.array([row[2] for row in rows], np.int32),
        comm=names,
        is_exec=np.zeros(len(rows), np.bool_),
    )


def _mappings(rows: list[tuple[int, int, int, int, int, int]]) -> Mappings:
    return Mappings(
        time=np.array([row[0] for row in rows], np.int64),
        pid=np.array([row[1] for row in rows], np.int32),
        start=np.array([row[2] for row in rows], np.uint64),
        length=np.array([row[3] for row in rows], np.uint64),
        file_offset=np.array([row[4] for row in rows], np.uint64),
        file_hash=np.array([row[5] for row in rows], np.uint64),
    )
