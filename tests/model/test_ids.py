from __future__ import annotations

from exhume.model.ids import told_id


def test_a_number_that_the_kernel_gives_is_told() -> None:
    assert [told_id(number) for number in (0, 1, 4_194_304)] == [0, 1, 4_194_304]


def test_one_that_was_made_up_and_one_of_a_task_that_was_gone_are_not() -> None:
    assert [told_id(number) for number in (-1, -2, -1_234_567)] == [None, None, None]
