"""Several things can be wrong at once: each harm that has a cause of its own names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from exhume.diagnose.four_tests import widened
from exhume.diagnose.judge import MOST_SUSPECTS
from exhume.model.case import Case, Suspect, Symptom

_MOSTLY = 0.5


class Told(Struct, frozen=True):
    """Harm, and what was made of it."""

    like: tuple[Symptom, ...]
    case: Case

    @property
    def core(self) -> int | None:
        symptom = self.case.symptom
        return _core(self.like) if symptom is None else symptom.victim.core


def unexplained(
    groups: Sequence[tuple[Symptom, ...]], known: Sequence[Told]
) -> tuple[Symptom, ...] | None:
    """The worst harm that is not the same trouble again; another kind, or on another core, before
    more of what was looked at already."""
    apart = [group for group in groups if not any(_is_same(group, one) for one in known)]
    seen = {(one.like[0].kind, one.core) for one in known}
    new = [group for group in apart if (group[0].kind, _core(group)) not in seen]
    return next(iter([*new, *apart]), None)


def _is_same(group: Sequence[Symptom], known: Told) -> bool:
    """At the same time, and on no other core: then what explains the one explains the other."""
    if known.case.verdict.root_cause is None:
        return False
    core = _core(group)
    if core is not None and known.core is not None and core != known.core:
        return False
    near = [widened(one.window) for one in known.like]
    together = [one for one in group if any(one.window.overlaps(other) for other in near)]
    return len(together) >= _MOSTLY * len(group)


def _core(group: Sequence[Symptom]) -> int | None:
    named = Counter(one.victim.core for one in group if one.victim.core is not None)
    return named.most_common(1)[0][0] if named else None


def together(main: Told, besides: Sequence[Told]) -> Case:
    """The verdict stays the worst one's; its suspects are followed by the causes of the rest."""
    own = main.case.suspects
    others = [one.case.suspects[0] for one in besides if one.case.verdict.root_cause is not None]
    # Of harm that nothing explains well the first is but a guess.
    first = own[:1] if main.case.verdict.root_cause is not None else ()
    listed = [*first, *others, *own[len(first) :]]
    return replace(main.case, suspects=tuple(_once(listed))[:MOST_SUSPECTS])


def _once(suspects: Sequence[Suspect]) -> Iterator[Suspect]:
    """The first of those that accuse the same of the same."""
    seen: set[tuple[str, str]] = set()
    for one in suspects:
        key = one.kind, one.culprit.name
        if key not in seen:
            seen.add(key)
            yield one
