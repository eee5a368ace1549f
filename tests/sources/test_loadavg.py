from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources import loadavg


def test_running_threads_are_told() -> None:
    found = loadavg.parse("0.16 0.03 0.01 4/79 179\n")
    assert (found.one_minute, found.running_count, found.threads_count) == (0.16, 4, 79)
    (reading,) = loadavg.readings(found)
    assert (reading.field, reading.values.tolist()) == ("system.running", [4])


@pytest.mark.parametrize("text", ["", "0.16 0.03", "0.16 0.03 0.01 4 179", "x 0 0 4/79 1"])
def test_what_is_torn_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        loadavg.parse(text)


@given(st.text(max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    with suppress(ParseError):
        assert loadavg.parse(text).running_count >= 0
