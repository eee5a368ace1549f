"""Copies of stacks (`perf record --call-graph dwarf`), against what perf itself makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhume.ingest.dumped_stacks import DumpedStacks, Unwound
from exhume.perf.dataorder import Epoch
from tests.ingest.made import by_name, do_import, stacks, write
from tests.perf import datafile_encoder as made_data
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import Capture, Event
from tests.perf.recorded import PERF
from tests.perf.records_encoder import Bit, Mapped, Sample, Shape
from tests.perf.symbols.real_programs import compiled

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
static volatile long sink;
static int compare(const void *a, const void *b) {
    sink++;
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void sorts(int n) {
    int values[64];
    for (int i = 0; i < 64; i++) values[i] = rand();
    qsort(values, 64, sizeof *values, compare);
    sink += values[n & 63];
}
__attribute__((noinline)) static void asks(int n) {
    struct stat found;
    for (int i = 0; i < 5; i++) stat("/proc/self/status", &found);
    sink += n;
}
__attribute__((noinline)) static void deeper(int n) {
    if (n > 0) deeper(n - 1);
    else sorts(n), asks(n);
    sink++;
}
__attribute__((noinline)) static void of_any_size(int n) {
    char room[n * 16 + 16];
    memset(room, n, sizeof room);
    deeper(n);
    sink += room[n];
}
int main(void) {
    time_t end = time(NULL) + 2;
    while (time(NULL) < end)
        for (int i = 0; i < 12; i++) deeper(i), of_any_size(i);
}
"""
_KERNEL = 1 << 63
_SAMPLE = re.compile(r"\s*(\d+)\s+(\d+)\.(\d{9}):")

Chains = dict[tuple[int, int], list[int]]
"""By thread and time, addresses within their page, innermost first: perf shows where in its file
something lay, and return addresses one byte earlier."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if PERF is None or shutil.which("gcc") is None:
        pytest.skip("perf and gcc are needed")
    folder = tmp_path_factory.mktemp("dumped")
    program = compiled(folder, "deep", SOURCE, "-O2", "-fomit-frame-pointer")
    path = folder / "perf.data"
    command = [PERF, "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf"]
    done = subprocess.run(
        [*command, "-o", path, "--", program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"perf record does not work here: {done.stderr}")
    return path


def told_by_perf(path: Path) -> Chains:
    assert PERF is not None
    done = subprocess.run(
        [PERF, "script", "-f", "--ns", "-F", "tid,time,ip", "--no-inline", "-i", path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: Chains = {}
    for line in done.stdout.splitlines():
        if match := _SAMPLE.match(line):
            chain = found[int(match[1]), int(match[2]) * 10**9 + int(match[3])] = []
        elif line.strip() and (address := int(line.split()[0], 16)) < _KERNEL:
            chain.append(address & 0xFFF)
    return found


def chains_in(epoch: Epoch) -> Iterator[tuple[tuple[int, int], list[int]]]:
    words = np.concatenate(epoch.words)
    rows = zip(epoch.samples.tid.tolist(), epoch.samples.time.tolist(), epoch.stack, strict=True)
    for tid, time, stack in rows:
        start = epoch.word_start[stack]
        chain = [w for w in words[start : start + epoch.word_count[stack]].tolist() if w < _KERNEL]
        yield (tid, time), [(word - (at > 0)) & 0xFFF for at, word in enumerate(chain)]


@pytest.mark.kernel
def test_every_chain_is_the_one_that_perf_unwinds(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Chains = {}
    unwound = DumpedStacks.unwound

    def noted(names: DumpedStacks, epoch: Epoch) -> Epoch:
        made = unwound(names, epoch)
        found.update(chains_in(made))
        return made

    monkeypatch.setattr(DumpedStacks, "unwound", noted)
    one = by_name(do_import(tmp_path / "out", str(capture)))["perf.data"]
    wanted = told_by_perf(capture)
    if not any(len(chain) > 4 for chain in wanted.values()):
        pytest.skip("this perf was built without a library that unwinds")
    assert len(wanted) > 100
    assert found.keys() == wanted.keys()
    # perf gives up now and then while a program is being loaded; there ours may know more.
    differ = [key for key, chain in wanted.items() if found[key][: len(chain)] != chain]
    assert len(differ) <= len(wanted) // 100
    assert any("--call-graph dwarf" in note for note in one.notes)
    names = {name for stack in stacks(tmp_path / "out") for name in stack}
    assert {"main", "of_any_size", "deeper", "sorts", "asks", "compare"} <= names


# Registers 0 to 8 of x86-64, as perf numbers them: the last three are frame and stack pointer, ip.
DWARF = Shape(made_data.BITS | Bit.REGS_USER | Bit.STACK_USER, regs_user=0xFF0FFF)
SP = 0x7FFF_0000


def captured(stack: Sequence[int], frame_pointer: int) -> Capture:
    """Ten samples of a program whose file is not here."""
    registers = (0, 0, 0, 0, 0, 0, frame_pointer, SP, 0x40_0123)
    records = [
        enc.comm(DWARF, 70, 70, b"worker"),
        enc.mmap2(DWARF, Mapped(pid=70, start=0x40_0000, path=b"/opt/worker")),
        *(
            enc.sample(
                DWARF,
                Sample(
                    ip=0x40_0123, pid=70, tid=70, time=1000 * at, misc=enc.MISC_USER,
                    registers=registers, user_stack=enc.words(*stack),
                ),
            )
            for at in range(1, 11)
        ),
        made_data.FINISHED_ROUND,
    ]  # fmt: skip
    return Capture(records, [Event(shape=DWARF)])


def test_without_the_programs_file_frame_pointers_may_lead_on(tmp_path: Path) -> None:
    stack = [9, SP + 24, 0x40_0200, SP + 40, 0x40_0300, 0, 0x40_0400]
    path = write(tmp_path / "perf.data", captured(stack, SP + 8).file())
    one = by_name(do_import(tmp_path / "out", path))["perf.data"]
    assert one.kept == 10
    (chain,) = stacks(tmp_path / "out")
    assert len(chain) == 1 + 4, "the process and its frames"
    assert not any("not at all" in note for note in one.notes)


def test_where_nothing_leads_on_the_note_says_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path / "perf.data", captured([1, 2, 3], 0).file())
    one = by_name(do_import(tmp_path / "out", path))["perf.data"]
    assert one.kept == 10
    (note,) = [note for note in one.notes if "--call-graph dwarf" in note]
    assert "0 % to their outermost function, 100 % not at all" in note
    assert "--symfs" in note


@given(st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_captures_do_no_harm(data: st.DataObject) -> None:
    whole = bytearray(captured([9, SP + 24, 0x40_0200, 0, 0x40_0300], SP + 8).file())
    for _ in range(data.draw(st.integers(0, 20))):
        whole[data.draw(st.integers(400, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(400, len(whole)))
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "perf.data", bytes(whole[:cut]))
        report = do_import(Path(folder) / "out", path)
        assert len(report.inputs) == 1


def test_the_note_says_how_far_it_went() -> None:
    assert Unwound().note() == ""
    assert Unwound(1000, 990, 1).note().endswith("99 % to their outermost function")
    note = (Unwound(50, 10, 30) + Unwound(50, 10, 30)).note()
    assert "20 % to their outermost function, 60 % not at all" in note
    assert "--symfs" in note
