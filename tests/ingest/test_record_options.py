from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.record_options import cores_asked, is_of_all, is_of_some, record_options


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-F 99 -ag -- sleep 1", {"F": "99", "a": "", "g": ""}),
        ("-agF 99 -o a ./train -p 7", {"a": "", "g": "", "F": "99", "o": "a"}),
        ("-F99 -C0-3 --cpu=4,5", {"F": "99", "C": "4,5"}),
        ("--call-graph dwarf,65528 --all-cpus", {"call-graph": "dwarf,65528", "a": ""}),
        ("-Iax,bx -I -b -W -z3 -a", {"I": "", "b": "", "W": "", "z": "3", "a": ""}),
        ("--switch-output=60s --delay 5 -a", {"switch-output": "60s", "D": "5", "a": ""}),
        ("-e cycles:u -e", {"e": ""}),
        ("sleep 60 -a", {}),
    ],
)
def test_options_are_told_from_values_and_from_what_perf_ran(
    words: str, options: dict[str, str]
) -> None:
    assert record_options(f"/usr/bin/perf record {words}") == options


@pytest.mark.parametrize(
    ("value", "cores"),
    [
        ("0-3,7", {0, 1, 2, 3, 7}),
        ("39", {39}),
        ("3-1", set()),
        ("0-99999", set()),
        ("1,x", set()),
        ("", set()),
    ],
)
def test_cores_are_those_that_perf_was_told(value: str, cores: set[int]) -> None:
    assert cores_asked({"C": value}) == cores


@given(st.text(max_size=60))
def test_any_command_is_of_all_or_of_some_or_of_neither(text: str) -> None:
    options = record_options(f"perf record {text}")
    assert not (is_of_all(options) and is_of_some(options))
    assert len(cores_asked(options)) <= 4096
