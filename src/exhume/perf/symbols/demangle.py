"""Names as people wrote them: C++, Rust of both kinds; C and Go names pass untouched.

In pure Python, 10 to 100 µs a name: each distinct name of a segment is worked out once. The
libraries at hand are no help: libstdc++'s and LLVM's demanglers print a hostile name of 500 bytes
as 2^40 characters, and PyPI's symbolic has lost its demangler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from exhume.perf.symbols.mangled import itanium, rust_legacy, rust_v0

MAX_CHARS = 512
# A mangled name this long is cut before it is read; few compilers make one.
_MAX_MANGLED_CHARS = 4096
# What optimisers append to the copies they make of a function. To a reader it is that function.
_CLONE = re.compile(
    r"(?:\.(?:constprop|part|isra|cold|lto_priv|llvm|localalias|clone|warm|unlikely|hot|resolver)"
    r"(?:\.\d+)*)+$"
)
_ANGLES = re.compile(r"operator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?)|->|[<>]")


def demangle(name: str, *, kernel: bool = False) -> str:
    """Never raises and never returns more than MAX_CHARS. `kernel`: suffixes tell, they stay."""
    name = name[:_MAX_MANGLED_CHARS]
    base = (_CLONE.sub("", name) or name) if "." in name else name
    suffix = name[len(base) :] if kernel else ""
    if base.endswith("@plt"):
        base, suffix = base[:-4], "@plt"
    text: str | None = None
    if base.startswith("_R"):
        text = rust_v0.demangle(base)
    elif base.startswith("_Z"):
        text = rust_legacy.demangle(base) or itanium.demangle(base)
    return shorten((base if text is None else text) + suffix)


def demangle_all(names: Iterable[str], *, kernel: bool = False) -> list[str]:
    """Each distinct name is worked out once."""
    known: dict[str, str] = {}
    found = []
    for name in names:
        text = known.get(name)
        if text is None:
            text = known[name] = demangle(name, kernel=kernel)
        found.append(text)
    return found


def shorten(text: str) -> str:
    """To MAX_CHARS: the innermost template arguments go first, they say least."""
    for depth in (4, 3, 2, 1):
        if len(text) <= MAX_CHARS:
            return text
        text = _without_arguments(text, depth)
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 3] + "..."


def _without_arguments(text: str, max_depth: int) -> str:
    """`a<b<c> >` at depth 1 is `a<...>`."""
    out: list[str] = []
    depth, at = 0, 0
    for match in _ANGLES.finditer(text):
        if depth < max_depth:
            out.append(text[at : match.start()])
        at = match.end()
        sign = match[0]
        if sign == "<":
            depth += 1
            out.append("<..." if depth == max_depth else "<" if depth < max_depth else "")
        elif sign == ">" and depth > 0:
            out.append(">" if depth <= max_depth else "")
            depth -= 1
        elif depth < max_depth:
            out.append(sign)
    if depth < max_depth:
        out.append(text[at:])
    return "".join(out)
