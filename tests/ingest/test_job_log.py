from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from exhume.ingest.log_reader import log_name
from tests.ingest import log_made, made
from tests.ingest.log_made import NS, events, format_of, read
from tests.ingest.made import do_import, write

AT = 1_794_774_010
"""2026-11-15 20:20:10 UTC"""
UTC = "2026-11-15T20:20:10Z"
LATE = "health check timed out after 7.8s"


@pytest.mark.parametrize(
    ("line", "victim", "level"),
    [
        (f"2026-11-15T20:20:10Z ERROR {LATE}", "app-health", 3),
        (f"2026-11-15 20:20:10,000 WARNING probe.py:12 -- {LATE}", "app-health", 4),
        (f"[2026-11-15 20:20:10,000 E 123 456] health.cc:1: {LATE}", "app-health", 3),
        (f"(Prober pid=351, ip=10.0.0.1) 2026-11-15 20:20:10,000 {LATE}", "Prober", 6),
        (f"\x1b[36m(raylet)\x1b[0m [2026-11-15 20:20:10,000 E 1 2] a.cc:1: {LATE}", "raylet", 3),
        (f"2026/11/15 20:20:10 [error] 12#0: *1 {LATE}", "app-health", 3),
        (f"2026/11/15 20:20:10 main.go:12: {LATE}", "app-health", 6),
        (f"[Sun Nov 15 20:20:10.000000 2026] [core:error] [pid 1:tid 2] {LATE}", "app-health", 3),
        (f"E1115 20:20:10.000000   12345 probe.go:123] {LATE}", "app-health", 3),
        (f"1794774010.000 {LATE}", "app-health", 6),
        (f"2026-11-15T20:20:10.000000000Z stderr F {LATE}", "app-health", 6),
        (f"2026-11-15T20:20:10Z prober[77]: {LATE}", "prober", 6),
        (f'time="2026-11-15T20:20:10Z" level=error msg="{LATE}"', "app-health", 3),
        (json.dumps({"time": UTC, "msg": LATE, "level": "error"}), "app-health", 3),
        (json.dumps({"ts": AT, "message": LATE, "logger": "prober"}), "prober", 6),
        (json.dumps({"ts": AT * 1e3, "msg": "bad", "err": LATE}), "app-health", 6),
        ("10.0.0.7: " + json.dumps({"ts": AT * 1e3, "msg": LATE}), "app-health", 6),
        ("api-1  | " + json.dumps({"time": UTC, "msg": LATE, "level": "error"}), "app-health", 3),
        ("[pod/api-5d/main] " + json.dumps({"msg": LATE, "ts": AT}), "app-health", 6),
        (f"2026-11-15 20:20:10,000\tERROR worker.py:409 -- {LATE}", "app-health", 3),
        (f"2026-11-15T20:20:10.000Z\tERROR\tcontroller\t{LATE}", "app-health", 3),
        (f"[rank0]:[E1115 20:20:10.000000 P.cpp:629] {LATE}", "app-health", 3),
        (f"26/11/15 20:20:10 WARN Prober: {LATE}", "app-health", 4),
        (f" 1%|  | 1/9\r2026-11-15 20:20:10 ERROR {LATE}", "app-health", 3),
        (f"level=error ts=1794774010.0 msg='{LATE}'", "app-health", 3),
        (json.dumps({"name": "api", "level": 50, "msg": LATE, "time": UTC, "v": 0}), "api", 3),
        (json.dumps({"short_message": LATE, "timestamp": AT, "level": 3}), "app-health", 3),
        (json.dumps({"t": {"$date": UTC}, "s": "W", "msg": LATE}), "app-health", 4),
        (json.dumps({"textPayload": LATE, "timestamp": UTC, "severity": "ERROR"}), "app-health", 3),
        (json.dumps({"jsonPayload": {"message": LATE}, "timestamp": UTC}), "app-health", 6),
        (json.dumps({"@t": UTC, "@mt": LATE, "@l": "Error"}), "app-health", 3),
        (json.dumps({"log": LATE + "\n", "stream": "stderr", "time": UTC}), "app-health", 6),
    ],
)
def test_a_late_line_of_any_program_is_an_event_with_its_victim(
    line: str, victim: str, level: int, tmp_path: Path
) -> None:
    path = tmp_path / "app-health-20261115.log"
    assert format_of(path, f"{line}\n") == "job log"
    (event,) = events(read(path, f"{line}\n"))
    assert event.time_ns == AT * NS
    assert (event.kind, event.subject) == ("job-log", victim)
    assert event.fields["victim"] == victim
    assert event.fields["signature"] == "job.health_check"
    # The line is written when it is over: it began that long before.
    assert event.fields["late_seconds"] == 7.8
    assert event.fields["level"] == level


@pytest.mark.parametrize(
    "text",
    [
        "zombies.csv,header\n1794774010,1,2\n1794774020,2,3\n",
        "1794774010 1 2 3\n1794774020 2 3 4\n",
        "2026-11-15T20:20:10Z\t5\tab\n2026-11-15T20:20:20Z\t6\tab\n",
        "epoch,count\n2026-11-15T20:20:10Z,5\n2026-11-15T20:20:20Z,6\n",
        "A letter of 2026-11-15 20:20:10.\nIt has many lines.\n" + "And more of them.\n" * 20,
        "20:15:18     CPU    %usr   %nice\n20:15:19     all   22.61    0.00\n",
        "{}\n[]\nnull\n",
        '{"a": 1, "b": {"time": "2026-11-15T20:20:10Z"}}\n',
    ],
)
def test_tables_and_letters_are_no_logs(text: str, tmp_path: Path) -> None:
    assert format_of(tmp_path / "x", text) != "job log"


def test_a_traceback_happened_when_the_line_above_it_did(tmp_path: Path) -> None:
    text = """Starting up, no time yet
ray.exceptions.OwnerDiedError: early
2026-11-15 20:20:08,000 INFO worker.py:1 -- fine
2026-11-15 20:20:10,500 ERROR worker.py:409 -- Unhandled error
Traceback (most recent call last):
  File "train.py", line 12, in main
    ray.get(refs)
ray.exceptions.ObjectFetchTimedOutError: Failed to retrieve object 1df82a0f913a.
ray.exceptions.ActorDiedError: The actor died unexpectedly
"""
    found = events(read(tmp_path / "driver.log", text))
    assert [(e.time_ns / NS - AT, e.fields["signature"]) for e in found] == [
        (-2, "ray.owner_died"),
        (0.5, "ray.object_fetch_timeout"),
        (0.5, "ray.actor_died"),
    ]
    assert found[1].fields["object"] == "1df82a0f913a"


def test_a_crash_loop_of_thousands_of_lines_imports_quickly_and_counts_right(
    tmp_path: Path,
) -> None:
    lines = []
    for n in range(5_500):
        at = n * 15_000 + 20 * 3_600_000_000 + 15 * 60_000_000
        clock = f"{at // 3_600_000_000:02}:{at // 60_000_000 % 60:02}:{at // 1_000_000 % 60:02}"
        lines.append(
            f"2026-11-15T{clock}.{at % 1_000_000 // 1000:03}Z supervisor[1]: agentd.service: "
            f"Main process {n + 180} exited, code=exited, status=1/FAILURE after 9ms; "
            f"restart counter is at {n + 1}.\n"
        )
    path = tmp_path / "supervisor.log"
    made.write(path, "".join(lines))
    began = time.process_time()
    pieces = read(path, "".join(lines))
    assert time.process_time() - began < 2
    starts = [event for event in events(pieces) if event.kind == "unit-start"]
    fails = [event for event in events(pieces) if event.kind == "unit-failed"]
    assert sum(event.count for event in starts) == sum(event.count for event in fails) == 5_500
    assert len(starts) <= 84, "one a second"
    assert {event.subject for event in starts} == {"agentd.service"}
    assert fails[0].fields["lifetime_seconds"] == 0.009
    (block,) = pieces[0].blocks
    assert (block.field, block.instances) == ("unit.restarts", ("agentd.service",))
    assert (block.values[0, 0], block.values[-1, 0]) == (0, 5_500), "the first one counts, too"


def test_local_times_without_a_zone_go_where_the_other_files_are(tmp_path: Path) -> None:
    capture = write(
        tmp_path / "perf-node-1-20261115-202000-20s.data",
        made.capture(20, start_ns=500 * NS, cores=1).file(),
    )
    lines = [f"2026-11-15 12:20:{s:02},000 INFO fine\n" for s in range(10)]
    lines.append(f"2026-11-15 12:20:10,000 ERROR {LATE}\n")
    log = write(tmp_path / "app.log", "".join(lines))
    do_import(tmp_path / "out", capture, log)
    found = [e for s in made.segments(tmp_path / "out") for e in s.events() if e.kind == "job-log"]
    assert [event.time_ns // NS for event in found] == [AT]


@pytest.mark.parametrize("east_hours", [0, -8, 9])
def test_times_of_day_go_to_the_day_and_the_zone_in_which_the_other_files_are(
    tmp_path: Path, east_hours: int
) -> None:
    """The log was copied days later."""
    capture = write(
        tmp_path / "perf-node-1-20261115-202000-20s.data",
        made.capture(20, start_ns=500 * NS, cores=1).file(),
    )
    hour = (20 + east_hours) % 24
    lines = [f"[{hour:02}:20:{s:02}] INFO: fine\n" for s in range(10)]
    log = write(tmp_path / "app.log", "".join([*lines, f"[{hour:02}:20:10] ERROR: {LATE}\n"]))
    os.utime(log, (AT + 4 * 86_400, AT + 4 * 86_400))
    report = do_import(tmp_path / "out", capture, log)
    found = [e for s in made.segments(tmp_path / "out") for e in s.events() if e.kind == "job-log"]
    assert [event.time_ns // NS for event in found] == [AT]
    assert "guessed" in made.by_name(report)["app.log"].clock


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app-health.log", "app-health"),
        ("supervisor.log.gz", "supervisor"),
        ("syslog-20261116.xz", "syslog"),
        ("app.2026-11-15.log.1", "app"),
        ("driver_20261115-201517.txt", "driver"),
        ("log", "log"),
        (".log", ".log"),
    ],
)
def test_a_logs_name_is_that_of_its_file_without_endings(name: str, expected: str) -> None:
    assert log_name(Path(name)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu-7.app-health.log", "app-health"),
        ("gpu-7.example.com_app.log.1", "app"),
        ("app-health-GPU-7.log", "app-health"),
        ("gpu-71-app.log", "gpu-71-app"),
        ("worker-main.log", "worker-main"),
        ("worker.main.log", "main"),
        ("gpu-7.log", "gpu"),
    ],
)
def test_a_node_in_a_logs_name_is_no_part_of_whose_it_is(name: str, expected: str) -> None:
    assert log_name(Path(name), ("gpu-7.example.com", "worker")) == expected


def test_what_stands_before_a_stamp_may_be_anybodys(tmp_path: Path) -> None:
    line = "\x1b]0;evil\x07(" + "(" * 200 + f") 2026-11-15T20:20:10Z {LATE}\n"
    found = log_made.format_of(tmp_path / "a.log", line * 3)
    assert found in ("job log", "")


def test_the_stream_that_a_container_runtime_notes_is_no_part_of_the_text(tmp_path: Path) -> None:
    (event,) = events(read(tmp_path / "a", f"{UTC} stderr F {LATE}\n"))
    assert event.text == LATE


def test_an_entry_of_the_journal_that_somebody_forwarded_is_the_kernels(tmp_path: Path) -> None:
    entry = {"@timestamp": UTC, "_TRANSPORT": "kernel", "PRIORITY": "3", "MESSAGE": log_made.PAUSED}
    (event,) = events(read(tmp_path / "a", json.dumps(entry) + "\n"))
    assert (event.kind, event.subject, event.fields["level"]) == ("kernel-log", "eth0", 3)
    faked = json.dumps({**entry, "SYSLOG_FACILITY": "1"}) + "\n"
    assert not events(read(tmp_path / "b", faked))


def test_a_log_that_is_mostly_dumps_is_a_log(tmp_path: Path) -> None:
    dump = "".join(f"[state-dump] - num things {n}: 0\n" for n in range(50))
    text = "".join(
        f"[2026-11-15 20:{20 + n}:10,000 I 1 2] (raylet) node_manager.cc:538: state\n{dump}"
        for n in range(12)
    )
    text += f"[2026-11-15 20:40:10,000 E 1 2] (raylet) a.cc:1: {LATE}\n"
    path = tmp_path / "raylet.out"
    assert format_of(path, text) == "job log"
    (event,) = events(read(path, text))
    assert event.time_ns == (AT + 20 * 60) * NS
    letters = "".join(
        f"2026-11-{30 - n} 20:20:10 was a day.\n" + "It has many lines.\n" * 50 for n in range(12)
    )
    assert format_of(path, letters) == ""


def test_a_traceback_is_no_rest_of_the_line_above_it(tmp_path: Path) -> None:
    said = "ray.exceptions.RayActorError: The actor died unexpectedly."
    text = f"{UTC} {said}\nTraceback (most recent call last):\n  File 'a.py', line 1\n"
    (event,) = events(read(tmp_path / "a", text))
    assert event.text == said


def test_lines_like_the_kernels_that_nothing_says_are_its_are_told(tmp_path: Path) -> None:
    """The log of several nodes, as pdsh puts it together."""
    line = f"n1: Nov 15 20:20:10 n1 kernel: [  298.261679] {log_made.PAUSED}\n"
    *_, told = read(tmp_path / "a.log", line * 3)
    assert told.facts is not None
    assert "grep -o" in told.facts.notes[-1]
    *_, told = read(tmp_path / "b.log", f"{UTC} all is well\n" * 3)
    assert told.facts is not None
    assert told.facts.notes == ("0 of 3 lines mean something",)
