from __future__ import annotations

from exhume.store.queries.presence import presence
from tests.store.make import at
from tests.store.queries.test_holds import APP, OTHER, USER, recorded, stay


def test_seconds_with_a_good_part_of_the_core_are_joined() -> None:
    samples = stay(2, 3, thread=APP) + stay(9, 1, thread=APP) + stay(6, 2, USER, OTHER)
    found = presence(recorded(samples), 1, ("app", "other"), at(0, 20))
    assert found == {"app": (at(2, 3), at(9, 1)), "other": (at(6, 2),)}


def test_a_small_part_of_a_second_is_no_presence() -> None:
    recording = recorded(stay(2, 0.2) + stay(3, 0.5))
    assert presence(recording, 1, ("app",), at(0, 20)) == {"app": (at(3, 1),)}
    few = presence(recording, 1, ("app",), at(0, 20), least_share=0.1)
    assert few == {"app": (at(2, 2),)}


def test_another_core_or_window_and_who_is_not_there_have_none() -> None:
    recording = recorded(stay(2, 3))
    assert presence(recording, 0, ("app",), at(0, 20)) == {"app": ()}
    assert presence(recording, 1, ("app",), at(10, 5)) == {"app": ()}
    assert presence(recording, 1, ("nobody",), at(0, 20)) == {"nobody": ()}
