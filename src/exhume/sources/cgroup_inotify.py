"""Births and removals of cgroups by inotify, where there is no tracefs to ask.

cgroupfs supports it on v1 and v2, but a watch covers one directory only: those that have children
are watched, up to a limit. Nobody says when a removed cgroup is let go.
"""

from __future__ import annotations

import ctypes
import os
import struct

from msgspec import Struct, field

from exhume.host import Host
from exhume.sources.cgroup_tree import Hierarchy, children, find

MAX_WATCHES = 1024
_CREATE, _DELETE, _ISDIR, _IGNORED, _OVERFLOW = 0x100, 0x200, 0x40000000, 0x8000, 0x4000
_EVENT = struct.Struct("<iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class CgroupInotify(Struct):
    host: Host
    lost: int = 0
    """Times the kernel's queue ran over."""
    _fd: int = -1
    _folders: dict[int, str] = field(default_factory=dict)
    _root: str = ""

    def read(self) -> list[tuple[str, str]] | None:
        """(`mkdir` or `rmdir`, path below the root) since the last call; None without cgroups."""
        if self._fd < 0 and not self._open():
            return None
        found: list[tuple[str, str]] = []
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return found
            found += self._events(data)

    def _open(self) -> bool:
        tree = find(self.host, "memory")
        if tree is None:
            return False
        fd = int(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if fd < 0:
            raise OSError(ctypes.get_errno(), "inotify is not to be had")
        self._fd, self._root = fd, str(tree.root)
        self._watch_below(tree)
        return True

    def _watch_below(self, tree: Hierarchy) -> None:
        waiting = [str(tree.root)]
        while waiting and len(self._folders) < MAX_WATCHES:
            folder = waiting.pop(0)
            self._watch(folder)
            # A leaf gets no watch; should it get children, its own parent's watch tells.
            waiting += [child for child in children(folder) if any(True for _ in children(child))]

    def _watch(self, folder: str) -> None:
        if len(self._folders) < MAX_WATCHES:
            wd = int(_libc.inotify_add_watch(self._fd, os.fsencode(folder), _CREATE | _DELETE))
            if wd >= 0:
                self._folders[wd] = folder

    def _events(self, data: bytes) -> list[tuple[str, str]]:
        found = []
        at = 0
        while at + _EVENT.size <= len(data):
            wd, mask, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].split(b"\0", 1)[0]
            at += _EVENT.size + length
            if mask & _OVERFLOW:
                self.lost += 1
            elif mask & _IGNORED:
                self._folders.pop(wd, None)
            elif mask & _ISDIR and wd in self._folders:
                path = f"{self._folders[wd]}/{name.decode('utf-8', 'replace')}"
                what = "mkdir" if mask & _CREATE else "rmdir"
                found.append((what, path.removeprefix(self._root)))
        return found

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._folders.clear()
