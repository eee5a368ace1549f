"""What walks dead memory cgroups: by the functions that were seen, not by the kernel's version.

The version only says whether that function lets others run meanwhile. `paths.toml` is the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from exhume.derive.zombies import version_of
from exhume.diagnose.kernel_paths import Functions, functions_of, read_paths

_LEAST_SHARE = 0.3


class Walker(Struct, frozen=True):
    functions: Functions
    what: str
    lets_run: bool | None
    before: tuple[int, int] | None
    mended: str

    def lets_run_on(self, kernel: str) -> bool | None:
        """Does it let others run as it goes? None where that is not known."""
        version = version_of(kernel)
        if version is None or (self.before is not None and version >= self.before):
            return None
        return self.lets_run


@lru_cache(maxsize=1)
def walkers() -> tuple[Walker, ...]:
    return tuple(
        Walker(
            functions_of(entry["frames"]),
            entry["what"],
            entry.get("lets_run"),
            tuple(entry["before"]) if "before" in entry else None,
            entry.get("mended", ""),
        )
        for entry in read_paths()["walker"]
    )


def walker_in(frames: Mapping[str, float]) -> Walker | None:
    """`frames`: functions with the share of samples that have them. None where they don't tell."""
    return next(
        (
            one
            for one in walkers()
            if any(share >= _LEAST_SHARE and one.functions.has(f) for f, share in frames.items())
        ),
        None,
    )
