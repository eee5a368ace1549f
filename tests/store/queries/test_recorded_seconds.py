"""Rates an hour of one recording are counted over the same time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exhume.model.window import Window
from exhume.store.queries.recorded_seconds import recorded_seconds
from exhume.store.queries.units import lifecycles
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import

NS = 1_000_000_000
START = int(datetime(2026, 11, 15, 8, tzinfo=UTC).timestamp())
HOUR = 3600


def log(every: int, hours: float, since: int = 0) -> str:
    """A supervisor that starts `agent` every so many seconds."""
    lines = []
    for at in range(since + 3, since + round(hours * HOUR), every):
        said = datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%d %H:%M:%S,000")
        lines.append(f"{said} INFO spawned: 'agent' with pid {at}\n")
        lines.append(f"{said} INFO exited: agent (exit status 1; not expected)\n")
    return "".join(lines)


def counts(every: int, since: int, until: int) -> str:
    return "".join(
        f"### {START + at}.000\nnr_descendants 9\nnr_dying_descendants {1000 + at // every}\n"
        for at in range(since, until, 60)
    )


def recorded(folder: Path, *texts: str) -> Recording:
    files = [made.write(folder / f"{n}.log", text) for n, text in enumerate(texts)]
    do_import(folder / "out", *files)
    return Recording.open(folder / "out")


def test_starts_and_zombies_an_hour_are_of_the_same_hours(tmp_path: Path) -> None:
    """Each start leaves one. From the last line in ten minutes to the next there is no segment."""
    recording = recorded(tmp_path, log(45, 4), counts(45, 3 * HOUR, 4 * HOUR))
    window = recording.window()
    (agent,) = lifecycles(recording, window).lifecycles
    answer = zombies(recording, window)
    assert answer.growth is not None
    assert agent.starts_per_hour == pytest.approx(answer.growth.per_hour, rel=0.01)
    assert agent.starts_per_hour == pytest.approx(80, rel=0.01)
    assert answer.recorded_seconds == pytest.approx(window.seconds)
    assert agent.zombies_per_start == pytest.approx(1, rel=0.03)


def test_a_log_with_a_line_now_and_then_tells_of_the_hours_between(tmp_path: Path) -> None:
    recording = recorded(tmp_path, log(1500, 10))
    (agent,) = lifecycles(recording, recording.window()).lifecycles
    assert agent.starts_per_hour == pytest.approx(2.5, rel=0.1)
    inside = Window((START + 1600) * NS, (START + 2000) * NS)
    assert recorded_seconds(recording, inside) == pytest.approx(400)


def test_between_two_logs_nothing_was_recorded(tmp_path: Path) -> None:
    both = log(45, 0.5), log(45, 0.5, since=2 * HOUR)
    recording = recorded(tmp_path, *both)
    assert recorded_seconds(recording, recording.window()) == pytest.approx(HOUR, abs=120)
