from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources import core_schedstat

# Ubuntu 5.4.0-1146-aws, with two of three cores on line.
TEXT = """version 15
timestamp 4294893273
cpu0 0 0 79 19 40 19 2668369192 734249026 1008
domain0 00000000,00000003 13 13 0 0 0 0 0 13 4 4 0 0 0 0 0 4 2 1 0 551 1 0 1 0 0 0 0 0 0 0
cpu2 0 0 216 64 86 85 3167120023 188671584 810
domain0 00000000,00000003 61 61 0 9704 0 0 0 57 2 2 0 1529 0 0 0 1 18 12 5 36168 3 0 0 0 0
"""


def test_the_wait_for_each_core_is_told() -> None:
    waits = core_schedstat.parse(TEXT)
    assert [(one.core, one.run_delay_ns) for one in waits] == [(0, 734249026), (2, 188671584)]
    (reading,) = core_schedstat.readings(waits)
    assert (reading.field, reading.instances) == ("cpu.run_delay_ns", ("0", "2"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version 14\n" + TEXT[11:],
        "version 15\n",
        TEXT.replace(" 1008", ""),
        TEXT + "cpu0 1 2\n",
    ],
)
def test_what_is_old_or_torn_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        core_schedstat.parse(text)


@given(st.text(max_size=100), st.integers(0, 300))
def test_no_text_is_too_odd(damage: str, place: int) -> None:
    with suppress(ParseError):
        waits = core_schedstat.parse(TEXT[:place] + damage + TEXT[place:])
        assert all(one.run_delay_ns >= 0 for one in waits)
