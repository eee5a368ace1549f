"""/proc/stat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.fields import CPU_MODES
from exhume.model.series import MISSING
from exhume.sources import cpu
from tests.sources.garble import garbled, survives
from tests.sources.trees import SIZES, Machine, Tree, stat


@pytest.mark.parametrize("cores", SIZES)
def test_every_core_has_its_own_row(tmp_path: Path, cores: int) -> None:
    times = cpu.read(Tree(tmp_path, Machine(cores)).build().host)
    assert times is not None
    assert times.cores.tolist() == list(range(cores))
    assert times.values.shape == (cores, len(CPU_MODES))
    assert times.values[1].tolist() == [100 + column for column in range(10)]
    assert times.context_switches_total == 398939
    assert times.boot_time_seconds == 1794775446
    assert (times.running_count, times.blocked_count) == (3, 1)


def test_columns_that_an_old_kernel_lacks_are_missing_not_zero() -> None:
    times = cpu.parse(stat(Machine(2, is_old=True)).encode())
    assert times.values[1].tolist() == [100, 101, 102, 103, 104, 105, 106, *[MISSING] * 3]


def test_columns_that_a_future_kernel_adds_are_left_out() -> None:
    text = b"cpu  1 2 3 4 5 6 7 8 9 10 11\ncpu0 1 2 3 4 5 6 7 8 9 10 11\n"
    assert cpu.parse(text).values.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]


def test_a_core_that_is_off_has_no_row_and_its_neighbours_keep_their_numbers() -> None:
    times = cpu.parse(stat(Machine(4, offline=(1, 2))).encode())
    assert times.cores.tolist() == [0, 3]
    assert times.values[1, 0] == 300


def test_a_kernel_without_the_file_gives_none(tmp_path: Path) -> None:
    assert cpu.read(Host(proc=tmp_path)) is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"cpu  1 2 3 4\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3 4 5\ncpu1 1 2 3 4 5 6\ncpu2 1 2 3 4\n",
        b"cpu  1 2 3 4\ncpu1 1 2 3 4\ncpu0 1 2 3 4\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3 99999999999999999999\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt many\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2",
    ],
)
def test_what_is_no_stat_file_is_refused_with_its_place(text: bytes) -> None:
    with pytest.raises(ParseError, match="proc/stat"):
        cpu.parse(text)


@given(garbled(stat(Machine(3)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    times = survives(cpu.parse, text)
    if isinstance(times, cpu.CpuTimes):
        assert times.values.shape == (len(times.cores), len(CPU_MODES))
        assert np.all((times.values >= 0) | (times.values == MISSING))


def test_readings_are_by_core_number() -> None:
    readings = cpu.readings(cpu.parse(stat(Machine(4, offline=(1,))).encode()))
    by_field = {reading.field: reading for reading in readings}
    assert by_field["cpu.system"].instances == ("0", "2", "3")
    assert by_field["cpu.system"].values.tolist() == [2, 202, 302]
    assert by_field["system.forks"].values.tolist() == [9575]


@pytest.mark.kernel
def test_the_real_kernel_counts_time_on_this_core() -> None:
    first = cpu.read(Host())
    for _ in range(2_000_000):
        pass
    second = cpu.read(Host())
    assert first is not None
    assert second is not None
    assert first.cores.tolist() == second.cores.tolist()
    assert second.values[:, :3].sum() > first.values[:, :3].sum()
