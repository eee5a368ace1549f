"""Cron's lines in a log, from the file to `exhume units`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exhume.cli.main import main
from exhume.store.queries.events import events
from exhume.store.queries.units import lifecycles
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import

START = int(datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp())
COMMANDS = ("/usr/local/bin/agent --once --token=s3cret", "cd / && run-parts /etc/cron.hourly")


def stamp(at: int) -> str:
    return datetime.fromtimestamp(START + at, UTC).isoformat(timespec="microseconds")


def lines(minutes: int) -> str:
    found = []
    for minute in range(minutes):
        for number, command in enumerate(COMMANDS if minute % 60 == 17 else COMMANDS[:1]):
            who = f"CRON[{1000 + 2 * minute + number}]"
            found.append(f"{stamp(60 * minute + 1)} node-1 {who}: (root) CMD ({command})\n")
    return "".join(found)


def journal(minutes: int) -> str:
    return "".join(
        json.dumps(
            {
                "__REALTIME_TIMESTAMP": str((START + 60 * minute + 1) * 1_000_000),
                "_HOSTNAME": "node-1",
                "SYSLOG_IDENTIFIER": "CRON",
                "SYSLOG_PID": str(1000 + 2 * minute),
                "PRIORITY": "6",
                "MESSAGE": f"(root) CMD ({COMMANDS[0]})",
            }
        )
        + "\n"
        for minute in range(minutes)
    )


def recorded(folder: Path, **files: str) -> Recording:
    paths = [made.write(folder / name.replace("_", "."), text) for name, text in files.items()]
    do_import(folder / "out", *paths)
    return Recording.open(folder / "out")


def test_what_cron_starts_is_scheduled_with_its_pace_and_no_crash_loop(tmp_path: Path) -> None:
    recording = recorded(tmp_path, syslog=lines(60))
    (agent, parts) = lifecycles(recording, recording.window()).lifecycles
    assert (agent.kind, agent.name, agent.detail, agent.mark) == (
        "unit", "agent", "cron", "scheduled",
    )  # fmt: skip
    assert (agent.starts, agent.pace_seconds) == (60, 60.0)
    assert agent.starts_per_hour == pytest.approx(60, rel=0.05)
    assert agent.success_percent_of_known_ends is None
    assert (parts.name, parts.starts, parts.mark) == ("run-parts", 1, "healthy")


def test_the_table_says_who_starts_it_and_how_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path, syslog=lines(60))
    assert main(["units", "--data", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "cron job  agent" in said
    assert "Cron starts agent every 1 m" in said
    assert "crash" not in said


def test_a_line_in_syslog_and_journal_is_one_start(tmp_path: Path) -> None:
    recording = recorded(tmp_path, syslog=lines(15), journal_json=journal(15))
    (agent,) = lifecycles(recording, recording.window()).lifecycles
    assert agent.starts == 15


def test_a_log_of_weeks_has_what_cron_started_where_anything_else_is_told(tmp_path: Path) -> None:
    """Of three days: a segment for each ten minutes of them would take long, and tell nothing."""
    lockup = "kernel: watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [a:7]"
    harm = f"{stamp(36 * 3600)} node-1 {lockup}\n"
    copies = "".join(
        f"### {START + 48 * 3600 + 60 * n}.000\nnr_descendants 9\nnr_dying_descendants {n}\n"
        for n in range(30)
    )
    log = made.write(tmp_path / "syslog", lines(3 * 24 * 60) + harm)
    report = do_import(tmp_path / "out", log, made.write(tmp_path / "copies", copies))
    notes = made.by_name(report)["syslog"].notes
    assert any("what cron started is kept where other lines" in note for note in notes)
    recording = Recording.open(tmp_path / "out")
    assert len(recording.views()) == 4
    agent = lifecycles(recording, recording.window()).lifecycles[0]
    assert agent.name == "agent"
    assert 35 <= agent.starts <= 40
    assert agent.starts_per_hour == pytest.approx(60, rel=0.1)


def test_of_a_log_of_weeks_alone_the_end_tells_what_cron_starts(tmp_path: Path) -> None:
    recording = recorded(tmp_path, syslog=lines(3 * 24 * 60))
    assert len(recording.views()) == 2 * 24 * 6
    agent = lifecycles(recording, recording.window()).lifecycles[0]
    assert (agent.name, agent.starts) == ("agent", 2 * 24 * 60)


def test_nothing_of_a_command_is_kept_but_the_name_of_its_program(tmp_path: Path) -> None:
    recording = recorded(tmp_path, syslog=lines(60))
    told = events(recording, recording.window())
    assert {event.subject for event in told} == {"agent", "run-parts"}
    assert not any("token" in str(event) or "s3cret" in str(event) for event in told)
    kept = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"s3cret" in path.read_bytes() for path in kept)
