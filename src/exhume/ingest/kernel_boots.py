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
    before_ns: int = 0
    """How far the one before it came."""
    last_ns: int = 0
    known: int = 0
    """Lines that an earlier one has too, at the same microsecond."""
    new: int = 0
    """And others, up to where the one before it ended."""
    told: KernelHints = field(default_factory=KernelHints)

    @property
    def is_repeated(self) -> bool:
        """It is the one before it, once more: two boots have hardly a time in common."""
        return self.known > self.new


class Boots(Struct, frozen=True):
    """What must be known of a whole log before its lines can be placed."""

    repeated: frozenset[int] = frozenset()
    """Which starts of the clock are none of the machine: somebody appended a log to itself."""
    shifts_ns: tuple[int, ...] = (0,)
    """What to add to the times of each boot."""


class BootTracker(Struct):
    """Told each line of a log, in its order: which boot it is of."""

    repeated: frozenset[int] = frozenset()
    boots: list[_Boot] = field(default_factory=lambda: [_Boot()])
    again: int = 0
    """Lines that were there already."""
    _starts: int = 0
    _seen: set[int] = field(default_factory=set)
    _last_ns: int = 0
    _went_back: bool = False

    def saw(self, at_ns: int, text: str) -> int | None:
        """The number of the boot; None where the line was there already."""
        is_back = at_ns < self._last_ns - _BACK_NS
        self._last_ns = at_ns
        if is_back and at_ns < _EARLY_NS:
            self._starts += 1
            self._went_back = self._starts in self.repeated
            if not self._went_back:
                self.boots.append(_Boot(self.boots[-1].last_ns))
        elif is_back:
            self._went_back = True
        key = hash((at_ns, text))
        is_known = key in self._seen
        if is_known and self._went_back:
            self.again += 1
            return None
        boot = self.boots[-1]
        if is_known:
            # Before the clock runs, all boots of a kernel say the same at 0.000000.
            boot.known += at_ns > 0
        else:
            boot.told.look(at_ns, text)
            if len(self._seen) < _KEPT:
                self._seen.add(key)
                boot.new += at_ns <= boot.before_ns
        boot.last_ns = max(boot.last_ns, at_ns)
        return len(self.boots) - 1


def boots_of(lines: Iterable[tuple[int, str]]) -> Boots:
    """Where the log does not say when a boot was, it ended when the next one began."""
    tracker = BootTracker()
    for at_ns, text in lines:
        tracker.saw(at_ns, text)
    repeated = frozenset(i for i, boot in enumerate(tracker.boots) if boot.is_repeated)
    *earlier, last = _joined(tracker.boots)
    found = [0]
    end = last.told.claim()
    for boot in reversed(earlier):
        claim = boot.told.claim()
        meets = found[0] - boot.last_ns
        known = claim.offset_ns - end.offset_ns if claim is not None and end is not None else meets
        found.insert(0, min(known, meets))
    return Boots(repeated, tuple(found))


def _joined(boots: Iterable[_Boot]) -> list[_Boot]:
    found: list[_Boot] = []
    for boot in boots:
        if found and boot.is_repeated:
            found[-1].last_ns = max(found[-1].last_ns, boot.last_ns)
            found[-1].told.join(boot.told)
        else:
            found.append(boot)
    return found
