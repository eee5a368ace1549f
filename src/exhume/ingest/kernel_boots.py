"""Several boots in one log of a console: the kernel's clock starts anew with each of them.

The times of all become those of the last one's clock, so that the earlier ones lie before its zero.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from exhume.ingest.kernel_pairs import KernelHints

NS = 1_000_000_000
_BACK_NS = 10 * NS
"""While a machine boots, cores that wake up late speak of times seconds ago."""
_EARLY_NS = 5 * NS
"""Where the clock goes back to less than this it has started anew."""
_KEPT = 200_000


class _Boot(Struct):
    last_ns: int = 0
    told: KernelHints = field(default_factory=KernelHints)


class BootTracker(Struct):
    """Told each line of a log, in its order: which boot it is of."""

    boots: list[_Boot] = field(default_factory=lambda: [_Boot()])
    again: int = 0
    """Lines that were there already: somebody appended a log to itself."""
    _seen: set[int] = field(default_factory=set)
    _last_ns: int = 0
    _went_back: bool = False

    def saw(self, at_ns: int, text: str) -> int | None:
        """The number of the boot; None where the line was there already."""
        is_back = at_ns < self._last_ns - _BACK_NS
        self._went_back |= is_back
        key = hash((at_ns, text))
        if self._went_back and key in self._seen:
            self._last_ns = at_ns
            self.again += 1
            return None
        if len(self._seen) < _KEPT:
            self._seen.add(key)
        if is_back and at_ns < _EARLY_NS:
            self.boots.append(_Boot())
        self._last_ns = at_ns
        boot = self.boots[-1]
        boot.last_ns = max(boot.last_ns, at_ns)
        boot.told.look(at_ns, text)
        return len(self.boots) - 1


def shifts_ns(lines: Iterable[tuple[int, str]]) -> tuple[int, ...]:
    """What to add to the times of each boot. Where the log does not say when one was, it ended
    when the next one began."""
    tracker = BootTracker()
    for at_ns, text in lines:
        tracker.saw(at_ns, text)
    *earlier, last = tracker.boots
    found = [0]
    end = last.told.claim()
    for boot in reversed(earlier):
        claim = boot.told.claim()
        meets = found[0] - boot.last_ns
        known = claim.offset_ns - end.offset_ns if claim is not None and end is not None else meets
        found.insert(0, min(known, meets))
    return tuple(found)
