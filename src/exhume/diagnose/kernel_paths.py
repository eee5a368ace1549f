"""What the kernel functions in somebody's stacks say it was doing: `paths.toml` is the data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from msgspec import Struct


class Functions(Struct, frozen=True):
    """Names of kernel functions, some by how they begin."""

    exact: frozenset[str]
    starts: tuple[str, ...]

    def has(self, function: str) -> bool:
        # A clone by the compiler keeps its name before the dot: `shrink_node.constprop.0`.
        plain = function.partition(".")[0]
        return plain in self.exact or bool(self.starts and plain.startswith(self.starts))


class KernelPath(Struct, frozen=True):
    id: str
    functions: Functions
    meaning: str

    def has(self, function: str) -> bool:
        return self.functions.has(function)


class Match(Struct, frozen=True):
    path: KernelPath
    function: str
    """The function that gave it away: of those that fit, the one in most stacks."""
    share: float
    """Of the samples; at least those that have that function."""


@lru_cache(maxsize=1)
def kernel_paths() -> tuple[KernelPath, ...]:
    return tuple(
        KernelPath(entry["id"], functions_of(entry["frames"]), entry["meaning"])
        for entry in read_paths()["path"]
    )


def read_paths() -> dict[str, Any]:
    text = files("exhume.diagnose").joinpath("paths.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def functions_of(names: Sequence[str]) -> Functions:
    """A trailing * stands for any ending."""
    return Functions(
        frozenset(name for name in names if not name.endswith("*")),
        tuple(name[:-1] for name in names if name.endswith("*")),
    )


def match(frames: Mapping[str, float], path_id: str) -> Match | None:
    """`frames`: functions with the share of samples that have them."""
    path = next(one for one in kernel_paths() if one.id == path_id)
    fitting = [(share, name) for name, share in frames.items() if path.has(name)]
    if not fitting:
        return None
    share, name = max(fitting, key=lambda one: (one[0], one[1]))
    return Match(path, name, share)


def matches(frames: Mapping[str, float], least_share: float = 0.3) -> tuple[Match, ...]:
    """All paths that a good part of the samples are on, in the order of the data."""
    found = (match(frames, path.id) for path in kernel_paths())
    return tuple(one for one in found if one is not None and one.share >= least_share)
