"""The lines of a stack in perf-script text → frames.

ffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])
          57ac3 [unknown] (/bin/trainer)
   7f89cc45c5c3 Ljava/io/A;::flush->Ljava/io/B;::write+0x3 (/tmp/perf-10488.map)
         401b97 outer (inlined)
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from msgspec import Struct

from exhume.model.stack import Frame, FrameKind
from exhume.perf.symbolize import (
    KERNEL_MODULE,
    NO_FILE_FRAME,
    UNKNOWN_FRAME,
    UNKNOWN_KERNEL_FRAME,
)
from exhume.perf.symbols.demangle import demangle_all
from exhume.perf.symbols.mapped import JIT_MAP, is_made_code

MAX_LINE_BYTES = 4096
"""Of a longer line the rest is cut off."""
MAX_DEPTH = 1024
"""Frames of one stack; perf's own limit is kernel.perf_event_max_stack, 127 by default."""
REMEMBERED_LINES = 1 << 17
NAMELESS = (UNKNOWN_FRAME, UNKNOWN_KERNEL_FRAME, NO_FILE_FRAME)
"""Of a run of one of them the first stands for all."""

_DELETED = b" (deleted)"
_INLINED = b"inlined"
_UNKNOWN = "[unknown]"
# Of several guests each has a number: `[guest.kernel.kallsyms.1440]`.
_KERNEL = re.compile(r"\[(guest\.)?kernel(\.kallsyms(\.\d+)?|\.vmlinux)?(\.init\.text)?\]\S*")
_VMLINUX = re.compile(r"vmlinux[\w.+~-]*")
_KERNEL_FILE = re.compile(r"([\w.+~-]+?)\.ko(\.(gz|xz|zst|debug))?")
_BPF = re.compile(r"bpf_(prog|trampoline|dispatcher)_\w+")
# In brackets, and yet no module of the kernel.
_USER_BRACKETS = ("[vdso]", "[vvar]", "[heap]", "[stack", "[anon", "[uprobes]", "[vectors]")
_VSYSCALL = "[vsyscall]"
# Where the kernel's half begins, on x86-64 and arm64; garbage from stacks without frame pointers
# may lie anywhere below.
_KERNEL_HALF = 0xFFFF << 48
# On POWER it is at the beginning of this terabyte; no garbage begins with so many bits of it.
_POWER_KERNEL = 0xC00000
_OFFSET = re.compile(rb"\+0x([0-9a-f]{1,16})$")
# `perf script -F +srcline` writes these below a frame: `gcmodule.c:488`, `libc.so.6[25f33]`.
_SOURCE_LINE = re.compile(rb".*(:\d+|:\?|\[[0-9a-f]+\])( \(inlined\))?")
# Other fields have lines of their own below it: registers, instructions (`ilen: 3 insn: 48 89 e5`;
# of brstackinsn `main+0:` and `000000000040112a\tinsn: eb 05`), what BPF said, sizes of pages, and
# below records of --show-namespace-events the numbers of namespaces.
_OTHER_FIELD = re.compile(
    rb"ABI:\d.*|(ilen: .*)?insn:.*|ilen: .*|BPF (output|string):.*|[0-9a-f]{4}: .*|\[?\d+/\w+: .*"
    rb"|[0-9a-f]{16}\t.*|\S+\+\d+:.*|\.\.\. .*|(N/A|\d+[KMG])( (N/A|\d+[KMG]))?"
)
_FILE_ALONE = re.compile(rb"\([^()]*( \(deleted\))?\)")
# Of a sample without a stack all is on one line: behind the file `insn: 48 89`, `ABI:2 AX:0x3b`,
# `addb %al, (%rax)`, …
_FILE_AND_MORE = re.compile(rb"((?:.* )?\((?:/[^()]*|\[[^()]*\])\))\s+\S.*")
# `4004a0 main+0x10 (/bin/a) =>     7f2210 puts+0x0 (/lib/libc.so.6)`: a branch, and where it went.
_BRANCH = re.compile(rb"(.*?\)) => +[0-9a-f]+ .*")


# `less -S`, perf's own pager, ends a line that is wider than the screen with a mark.
_CUT_OFFSET = re.compile(rb"\+(0(x[0-9a-f]{0,16})?)?>$")
_CUT_FILES = (b" (/", b" ([")


# Nearly all: no blanks and brackets in symbol and file. What the others are takes longer to tell.
_USUAL = re.compile(rb"([0-9a-f]+) ([^ ()]+?)(?:\+0x[0-9a-f]+)? \(([^ ()+]+)\)")


class _Line(Struct, frozen=True):
    frames: tuple[Frame, ...]
    """Leaf first; more than one where a compiler put its inlined calls into the name."""
    is_inlined: bool = False
    """Its module is that of the frame below, into which the compiler put it."""


_NO_FRAME = _Line(())


class StackReader:
    """Remembers lines: stacks differ, their lines mostly do not."""

    def __init__(self) -> None:
        self._lines: dict[bytes, _Line] = {}
        self.odd = 0
        """Lines that are no frames."""

    def read(self, text: bytes) -> list[Frame]:
        """Root first. Runs of nameless frames are folded into one."""
        found: list[Frame] = []
        inlined: list[Frame] = []
        for raw in text.split(b"\n", MAX_DEPTH)[:MAX_DEPTH]:
            if not raw:
                continue
            line = self._line(raw)
            if line.is_inlined:
                inlined += line.frames
                continue
            for frame in line.frames:
                if inlined:
                    found += [_moved(one, frame) for one in inlined]
                    inlined = []
                is_repeated = found and found[-1] is frame
                if not (is_repeated and frame in NAMELESS):
                    found.append(frame)
        found += inlined
        found.reverse()
        return found

    def frame(self, raw: bytes) -> Frame | None:
        """What a line says, where that is one frame, and the same in any stack."""
        line = self._line(raw)
        return line.frames[0] if len(line.frames) == 1 and not line.is_inlined else None

    def _line(self, raw: bytes) -> _Line:
        known = self._lines.get(raw)
        if known is not None:
            return known
        if len(self._lines) >= REMEMBERED_LINES:
            self._lines.clear()
        text = raw.strip()[:MAX_LINE_BYTES]
        line = self._lines[raw] = _parse(text)
        if not line.frames and text and not _is_no_frame(text):
            self.odd += 1
        return line


def _is_no_frame(text: bytes) -> bool:
    """Is it known for what else it is?"""
    return bool(_SOURCE_LINE.fullmatch(text) or _OTHER_FIELD.fullmatch(text))


def has_more_than_frames(text: bytes) -> bool:
    """Are there lines of `-F +insn,+iregs,+phys_addr` and the like below a stack?

    perf begins the lines of frames with a tab, all others with spaces.
    """
    if not text.startswith(b"\t"):
        return False
    # Tabs are few in a line and spaces many: nearly all stacks are known by their tabs.
    return text.count(b"\n\t") < text.count(b"\n", 0, -1) and b"\n " in text


def frames_only(text: bytes) -> bytes:
    """Without them. Where tools changed tabs in some lines, a frame still ends with its file."""
    if not has_more_than_frames(text):
        return text
    lines = text.split(b"\n")
    return b"\n".join(
        line for line in lines if not line.startswith(b" ") or line.rstrip().endswith(b")")
    )


def _moved(frame: Frame, into: Frame) -> Frame:
    kind = into.kind if into.kind == FrameKind.KERNEL else FrameKind.USER
    return Frame(frame.name, into.module, kind)


def _parse(line: bytes) -> _Line:
    usual = _USUAL.fullmatch(line)
    if usual and usual[3] != _INLINED:
        name = usual[2].decode("utf-8", "replace")
        return _Line(tuple(_frames(int(usual[1], 16), name, usual[3])))
    digits, _, rest = line.partition(b" ")
    try:
        address = int(digits, 16)
    except ValueError:
        return _NO_FRAME
    symbol, dso = _split(rest.strip())
    if dso == _INLINED and not symbol:
        return _NO_FRAME
    symbol = symbol or _UNKNOWN.encode()  # `-F ip`, `-F ip,dso`
    name = _without_offset(symbol).decode("utf-8", "replace")
    if dso == _INLINED:
        return _Line((Frame(name, "", FrameKind.USER),), is_inlined=True)
    file, in_file = _file_and_offset(dso)
    return _Line(tuple(_frames(address, name, file, in_file)))


def _file_and_offset(dso: bytes) -> tuple[bytes, int | None]:
    """`-F +dsoff` writes where in the file: `/bin/ls+0x727c`, `/bin/ls (deleted)+0x727c`."""
    found = _OFFSET.search(dso)
    if found is None:
        return dso.removesuffix(_DELETED), None
    return dso[: found.start()].removesuffix(_DELETED), int(found[1], 16)


def _without_offset(text: bytes) -> bytes:
    return _OFFSET.sub(b"", text) if b"+0x" in text else text


def _split(rest: bytes) -> tuple[bytes, bytes]:
    """Symbol and file: `operator()(int) const (/opt/a b (deleted))`. The file may be missing."""
    if b") => " in rest and (branch := _BRANCH.fullmatch(rest)):
        rest = branch[1]
    if more := _FILE_AND_MORE.fullmatch(rest):
        rest = more[1]
    elif not rest.endswith(b")"):
        return _without_cut_file(rest), b""
    if rest.startswith(b"(") and _FILE_ALONE.fullmatch(rest):
        return b"", rest[1:-1]
    before = len(rest) - len(_DELETED) - 1 if rest.endswith(_DELETED + b")") else len(rest)
    at = rest.rfind(b" (", 0, before)
    # A file name with brackets of its own: go on to where they are even.
    while at > 0 and rest.count(b"(", at) != rest.count(b")", at):
        at = rest.rfind(b" (", 0, at)
    if at > 0:
        return rest[:at].rstrip(), rest[at + 2 : -1]
    return rest, b""


def _without_cut_file(rest: bytes) -> bytes:
    """The symbol of a line that lacks its end: the text was cut off, or copied from a screen."""
    at = max(map(rest.rfind, _CUT_FILES))
    if at > 0 and rest.find(b")", at) < 0:
        return rest[:at].rstrip()
    return _CUT_OFFSET.sub(b"", rest)


class _Place(Struct, frozen=True):
    """What a file says of the frames in it."""

    kernel: str | None
    """As `kernel_module` says."""
    module: str
    is_jit_map: bool
    unknown: Frame | None
    """All code without a symbol; None where its address tells it apart."""


@lru_cache(1 << 12)
def _place(file: bytes, is_high: bool) -> _Place:
    """`is_high`: in the kernel's half. Few files are asked for again and again."""
    path = file.decode("utf-8", "replace")
    kernel = _kernel_module(path, is_high)
    module = PurePosixPath(path).name or path
    unknown = None
    if kernel is not None:
        unknown = UNKNOWN_KERNEL_FRAME
    elif path in ("", _UNKNOWN):
        unknown = UNKNOWN_FRAME
    elif is_made_code(path):
        unknown = NO_FILE_FRAME
    return _Place(kernel, module, JIT_MAP.fullmatch(module) is not None, unknown)


def _frames(address: int, name: str, file: bytes, in_file: int | None = None) -> list[Frame]:
    """`in_file`: where in the file the code is, which is the same in each process."""
    place = _place(file, _is_high(address))
    kernel, module = place.kernel, place.module
    if name.endswith("_[k]"):
        name, kernel = name.removesuffix("_[k]"), kernel or KERNEL_MODULE
    if name == _UNKNOWN:
        unknown = UNKNOWN_KERNEL_FRAME if kernel is not None else place.unknown
        where = address if in_file is None else in_file
        return [unknown or Frame(f"{module}+{where:#x}", module, FrameKind.UNKNOWN)]
    if kernel is not None:
        return [Frame(name, kernel, FrameKind.KERNEL)]
    names = [name]
    if place.is_jit_map and "->" in name:
        # perf-map-agent writes what was inlined behind the method it was inlined into.
        names = [part for part in reversed(name.split("->")) if part]
    elif name.startswith(("_Z", "_R")):
        names = demangle_all(names)
    return [Frame(one, module, FrameKind.USER) for one in names]


def kernel_module(path: str, address: int) -> str | None:
    """`kernel`, the name of one of its modules, or None where the file is no part of the kernel."""
    return _kernel_module(path, _is_high(address))


def _is_high(address: int) -> bool:
    return address >= _KERNEL_HALF or address >> 40 == _POWER_KERNEL


def _kernel_module(path: str, is_high: bool) -> str | None:
    if path == _UNKNOWN or not path:
        return KERNEL_MODULE if is_high else None
    if _KERNEL.fullmatch(path):
        return KERNEL_MODULE
    name = PurePosixPath(path).name
    if _VMLINUX.fullmatch(name):
        return KERNEL_MODULE
    if found := _KERNEL_FILE.fullmatch(name):
        return found[1].replace("-", "_")
    if _BPF.fullmatch(name):
        return "bpf"
    if name.startswith("[") and name.endswith("]") and "/" not in path:
        # No module has a space in its name: `[JIT app cache]` of Android.
        if name == _VSYSCALL or name.startswith(_USER_BRACKETS) or " " in name:
            return None
        return name[1:-1].replace("-", "_") or KERNEL_MODULE
    # The kernel's image has many names: `/proc/kcore`, `/root/.debug/.build-id/ab/cd…/elf`.
    return KERNEL_MODULE if is_high else None
