"""/proc/PID/stat."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import process_stat
from tests.sources.garble import garbled, survives
from tests.sources.trees import process_stat as text_of


@given(st.binary(min_size=0, max_size=15).filter(lambda comm: b"\0" not in comm))
def test_a_name_may_hold_anything_even_the_end_of_a_name(comm: bytes) -> None:
    line = text_of(7, "COMM", "R", 39, 0, 5, 6, 100).encode().replace(b"COMM", comm)
    stat = process_stat.parse(line)
    assert (stat.pid, stat.state, stat.core, stat.user_jiffies) == (7, "R", 39, 5)
    assert process_stat.state_of(line) == "R"


def test_only_the_kernel_can_mark_a_kernel_thread() -> None:
    assert process_stat.parse(
        text_of(2, "a", "S", 0, 0x00200040, 0, 0, 0).encode()
    ).is_kernel_thread
    assert not process_stat.parse(text_of(2, "a", "S", 0, 0x40, 0, 0, 0).encode()).is_kernel_thread


@pytest.mark.parametrize(
    ("priority", "policy", "expected"),
    [(0, 0, 0), (50, 1, 50), (99, 2, 99), (0, 3, 0), (0, 6, 100)],
    ids=["other", "fifo", "round robin", "batch", "deadline"],
)
def test_a_deadline_thread_is_above_every_real_time_priority(
    priority: int, policy: int, expected: int
) -> None:
    line = text_of(7, "a", "R", 0, 0, 0, 0, 0, (priority, policy))
    assert process_stat.parse(line.encode()).real_time_priority == expected


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.booleans())
def test_the_short_form_agrees_with_the_long_one(user: int, system: int, is_kernel: bool) -> None:
    flags = 0x00200000 if is_kernel else 0
    line = text_of(7, ") R 1 2", "D", 3, flags, user, system, 99).encode()
    long, short = process_stat.parse(line), process_stat.parse_usage(line)
    assert (short.state, short.start_jiffies) == (long.state, long.start_jiffies) == ("D", 99)
    assert short.used_jiffies == long.user_jiffies + long.system_jiffies == user + system
    assert short.is_kernel_thread == long.is_kernel_thread == is_kernel


@pytest.mark.parametrize("text", [b"", b"1 (a) S 1 2 3", b"1 a S 1", b"(a) S " + b"1 " * 60])
def test_what_is_no_stat_line_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="proc/PID/stat"):
        process_stat.parse(text)


@given(garbled(text_of(7, "bash", "S", 3, 0, 1, 2, 3).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(process_stat.parse, text)
    survives(process_stat.parse_usage, text)
    survives(process_stat.state_of, text)


def test_a_process_that_is_gone_gives_none(tmp_path: Path) -> None:
    assert process_stat.read(Host(proc=tmp_path), 1) is None


@pytest.mark.kernel
def test_the_real_kernel_says_that_we_are_running() -> None:
    stat = process_stat.read(Host(), os.getpid())
    assert stat is not None
    assert (stat.pid, stat.state) == (os.getpid(), "R")
    assert not stat.is_kernel_thread
