from __future__ import annotations

import pickle

import pytest

from exhume.errors import ExhumeError, ParseError


@pytest.mark.parametrize(
    "error",
    [
        ExhumeError("it is broken", todo="mend it", exit_code=70),
        ParseError("perf.data", "offset 7", "a record", todo="copy it again"),
        ParseError("mpstat.txt", 12, "a table"),
    ],
)
def test_an_error_of_another_process_says_the_same(error: ExhumeError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)
