"""Core time in and below functions of the kernel."""

from __future__ import annotations

from exhume.store.queries.frame_users import frame_users
from tests.store.make import SECOND, at
from tests.store.queries.test_holds import APP, OTHER, READ, USER, WRITE, recorded, stay


def test_only_stacks_with_such_a_function_count_by_name_and_window() -> None:
    recording = recorded(
        stay(0, 2, READ, APP)
        + stay(2, 1, WRITE, APP)
        + stay(3, 1, USER)
        + stay(0, 3, READ, OTHER, 0)
    )
    found = frame_users(recording, lambda name: name == "k_sys_read", [at(0, 1), at(1.5, 3)])
    assert found == {"app": round(1.5 * SECOND), "other": round(2.5 * SECOND)}


def test_a_function_of_the_program_is_not_the_kernels() -> None:
    assert frame_users(recorded(stay(0, 2, READ)), lambda name: name == "main", [at(0, 2)]) == {}
