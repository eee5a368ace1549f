"""Opening files that belong to somebody else, below a root that belongs to somebody else.

A program chooses what its mappings are called and what its root contains. So: no symbolic link
leads out of the root, nothing but a regular file is opened (a FIFO would make us wait, a device may
do anything), and every descriptor is closed by the block that opened it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from exhume.perf.symbols.image import FileImage

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PROBE = os.O_PATH | os.O_CLOEXEC
_MAX_LINKS = 40
_MAX_PARTS = 512

# openat2(2), since Linux 5.6; one number on every architecture.
_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_IN_ROOT = 0x02, 0x10
# EPERM: seccomp profiles older than the call answer so.
_NO_OPENAT2 = (errno.ENOSYS, errno.EPERM)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class OpenFile(Struct, frozen=True):
    image: FileImage
    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    uid: int

    @property
    def key(self) -> str:
        """Names this very file where it has no build id."""
        return f"{self.device:x}-{self.inode:x}-{self.size_bytes:x}-{self.modified_ns:x}"


@contextmanager
def open_regular(path: Path) -> Iterator[OpenFile]:
    """A file by a path that is ours to trust, such as a link of the kernel's in /proc."""
    with _opened(lambda flags: os.open(path, flags)) as file:
        yield file


@contextmanager
def open_in_root(root: Path, path: str, *, follow: bool = True) -> Iterator[OpenFile]:
    """A file as a process with that root would see it; `follow`: the last part may be a link."""
    with ExitStack() as stack:
        root_fd = os.open(root, _PROBE | os.O_DIRECTORY)
        stack.callback(os.close, root_fd)
        last = 0 if follow else os.O_NOFOLLOW
        yield stack.enter_context(_opened(lambda flags: _open_below(root_fd, path, flags | last)))


@contextmanager
def _opened(opener: Callable[[int], int]) -> Iterator[OpenFile]:
    # First without opening it for real, so that no device or FIFO notices.
    probe = opener(_PROBE)
    try:
        expected = os.fstat(probe)
    finally:
        os.close(probe)
    if not stat.S_ISREG(expected.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    fd = opener(_READ)
    try:
        found = os.fstat(fd)
        if not os.path.samestat(expected, found):
            raise OSError(errno.ESTALE, "replaced while it was opened")
        yield OpenFile(
            image=FileImage(fd, found.st_size),
            device=found.st_dev,
            inode=found.st_ino,
            size_bytes=found.st_size,
            modified_ns=found.st_mtime_ns,
            uid=found.st_uid,
        )
    finally:
        os.close(fd)


def _open_below(root_fd: int, path: str, flags: int) -> int:
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise OSError(errno.EINVAL, "no name a file could have", path)
    try:
        return _openat2(root_fd, name, flags)
    except OSError as error:
        if error.errno not in _NO_OPENAT2:
            raise
    return _walk(root_fd, path, flags)


def _openat2(root_fd: int, name: bytes, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    for _ in range(4):  # EAGAIN: something was renamed while `..` was being followed
        fd = _libc().syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(root_fd),
            ctypes.c_char_p(name),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code != errno.EAGAIN:
            break
    raise OSError(code, os.strerror(code), os.fsdecode(name))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _walk(root_fd: int, path: str, flags: int) -> int:
    """openat2's RESOLVE_IN_ROOT for kernels without it: part by part, links read by hand."""
    parts = deque(path.split("/"))
    above: list[int] = []  # the directories between the root and where we are
    links = steps = 0
    try:
        while parts:
            part = parts.popleft()
            steps += 1
            if steps > _MAX_PARTS:
                raise OSError(errno.ENAMETOOLONG, "too many parts", path)
            if part in ("", "."):
                continue
            if part == "..":
                if above:
                    os.close(above.pop())
                continue
            here = above[-1] if above else root_fd
            fd = os.open(part, _PROBE | os.O_NOFOLLOW, dir_fd=here)
            above.append(fd)
            if not stat.S_ISLNK(os.fstat(fd).st_mode):
                if not any(rest not in ("", ".") for rest in parts):
                    return os.open(part, flags | os.O_NOFOLLOW, dir_fd=here)
                continue
            links += 1
            if links > _MAX_LINKS or (flags & os.O_NOFOLLOW and not parts):
                raise OSError(errno.ELOOP, "too many links", path)
            target = os.readlink("", dir_fd=fd)
            os.close(above.pop())
            if target.startswith("/"):
                while above:
                    os.close(above.pop())
            parts.extendleft(reversed(target.split("/")))
        raise OSError(errno.EISDIR, "a directory", path)
    finally:
        for fd in above:
            os.close(fd)
