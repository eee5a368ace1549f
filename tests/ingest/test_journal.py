"""What the journal says of clocks, besides its lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest import log_made, made
from tests.ingest.log_made import AT_NS, BEFORE, BOOT_NS, NS, RESTART, journal_fields
from tests.ingest.made import by_name, do_import, write

UPTIME_US = (AT_NS - BOOT_NS) // 1000


def entries(
    since_boot_us: range, host: str = "node-1", *, kernel: bool = False
) -> list[dict[str, str]]:
    return [
        journal_fields(
            BEFORE if kernel else RESTART,
            kernel=kernel,
            __REALTIME_TIMESTAMP=str(BOOT_NS // 1000 + at),
            __MONOTONIC_TIMESTAMP=str(at),
            _SOURCE_MONOTONIC_TIMESTAMP=str(at - 500_000),
            _HOSTNAME=host,
        )
        for at in since_boot_us
    ]


def start_of_capture(folder: Path, journal: str | bytes) -> tuple[float, str]:
    """In seconds after it began, and by what. Its name says two seconds too early."""
    capture = write(folder / "perf-20261115-202008-5s.txt", made.script(5, start_ns=298 * NS))
    report = by_name(do_import(folder / "out", capture, write(folder / "j", journal)))
    one = report[Path(capture).name]
    assert one.window is not None
    return (one.window.start_ns - BOOT_NS) / NS - 298, one.clock


@pytest.mark.parametrize("form", [log_made.journal_json, log_made.journal_export])
def test_the_lines_of_a_unit_tie_the_kernels_clock_to_wall_time(
    tmp_path: Path, form: Callable[..., str | bytes]
) -> None:
    lines = entries(range(250_000_000, 300_000_000, 250_000))
    off, clock = start_of_capture(tmp_path, form(*lines))
    assert off == pytest.approx(0, abs=0.01)
    assert "50 readings of wall time and uptime in j" in clock, "one a second"


def test_lines_of_the_kernel_tie_it_better(tmp_path: Path) -> None:
    lines = entries(range(250_000_000, 300_000_000, 5_000_000))
    lines += entries(range(300_000_000, 310_000_000, 5_000_000), kernel=True)
    off, clock = start_of_capture(tmp_path, log_made.journal_json(*lines))
    assert off == pytest.approx(0.5, abs=0.01)
    assert "lines of a log with wall time and the kernel's own" in clock


@pytest.mark.parametrize(
    "lines",
    [
        [
            *entries(range(250_000_000, 300_000_000, 5_000_000)),
            *entries(range(200_000_000, 200_000_001), "node-2"),
        ],
        entries(range(1_000_000, 59_000_000, 5_000_000)),
    ],
    ids=["of two machines", "before the clock was set"],
)
def test_a_journal_that_may_mean_another_clock_ties_none(
    tmp_path: Path, lines: list[dict[str, str]]
) -> None:
    _, clock = start_of_capture(tmp_path, log_made.journal_json(*lines))
    assert "name" in clock
