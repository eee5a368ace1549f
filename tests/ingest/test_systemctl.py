from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.ingest import systemctl
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.ingest.systemctl import parse_list, parse_show
from tests.ingest import made
from tests.ingest.test_snapshots import NS, START, mark, read, values

LIST = """  UNIT                 LOAD   ACTIVE     SUB          DESCRIPTION
● ecs.service          loaded activating auto-restart Amazon ECS - container agent
  docker.service       loaded active     running      Docker Application Container Engine
● bad.service          loaded failed     failed       Something that ended
  -.mount              loaded active     mounted      Root Mount

LOAD   = Reflects whether the unit definition was properly loaded.
3 loaded units listed.
"""
SHOW = """Type=simple
Restart=on-failure
NRestarts={restarts}
MainPID=0
Result=exit-code
ExecMainStartTimestampMonotonic={start}
ExecMainExitTimestampMonotonic={end}
ExecMainStatus=1
Id=ecs.service
ActiveState=activating
SubState=auto-restart

Id=docker.service
ActiveState=active
SubState=running
NRestarts=0
Result=success
"""


def test_a_list_tells_states() -> None:
    units = {unit.name: unit for unit in parse_list(LIST.encode())}
    assert set(units) == {"ecs.service", "docker.service", "bad.service"}
    assert units["ecs.service"].sub_state == "auto-restart"
    assert units["bad.service"].result == "failed"
    with pytest.raises(ParseError):
        parse_list(LIST.split("\n", 1)[0].encode())


def test_lists_make_the_same_fields_and_events_as_a_live_systemd(tmp_path: Path) -> None:
    up = LIST.replace("● ecs.service          loaded activating auto-restart",
                      "  ecs.service          loaded active     running     ")  # fmt: skip
    down = LIST.replace(
        "loaded active     running      Docker", "loaded failed     failed       Docker"
    )
    pieces = read(tmp_path, mark(0) + LIST + mark(10) + up + mark(20) + down, "systemctl.log")
    assert values(pieces, "unit.active")["ecs.service"] == [0, 1, 0]
    events = [event for piece in pieces for event in piece.events]
    assert [(event.kind, event.subject, event.time_ns) for event in events] == [
        ("unit-waiting", "ecs.service", START * NS),
        ("unit-seen", "bad.service", START * NS),
        ("unit-start", "ecs.service", (START + 10) * NS),
        ("unit-failed", "docker.service", (START + 20) * NS),
        ("unit-waiting", "ecs.service", (START + 20) * NS),
    ]


def test_show_counts_restarts_at_their_own_times(tmp_path: Path) -> None:
    text = "".join(
        mark(10 * n, f" uptime={1000 + 10 * n}")
        + SHOW.format(restarts=5 + n, start=(996 + 10 * n) * 10**6, end=(998 + 10 * n) * 10**6)
        for n in range(4)
    )
    pieces = read(tmp_path, text, "show.log")
    assert values(pieces, "unit.restarts")["ecs.service"] == [5, 6, 7, 8]
    assert values(pieces, "unit.active") == {"ecs.service": [0] * 4, "docker.service": [1] * 4}
    events = [event for piece in pieces for event in piece.events]
    starts = [event.time_ns for event in events if event.kind == "unit-start"]
    failed = [event.time_ns for event in events if event.kind == "unit-failed"]
    assert starts == [(START + 10 * n - 4) * NS for n in (1, 2, 3)]
    assert failed == [(START + 10 * n - 2) * NS for n in (1, 2, 3)]


def test_without_uptime_the_time_is_the_walls_or_that_of_the_look() -> None:
    said = SHOW.format(restarts=1, start=996, end=998)
    (unit, _) = parse_show(said.encode(), "", None)
    assert (unit.main_start_us, unit.main_exit_us) == (None, None)
    said += "\nExecMainStartTimestamp=Sun 2026-11-15 20:15:17 UTC\nId=a.service\n"
    *_, last = parse_show(said.encode(), "", None)
    assert (last.name, last.main_start_us) == ("a.service", START * 10**6)


def test_a_unit_that_does_not_say_its_name_has_that_of_the_file(tmp_path: Path) -> None:
    text = mark(0) + "NRestarts=3\n" + mark(10) + "NRestarts=4\n"
    pieces = read(tmp_path, text, "ecs.service.log")
    assert values(pieces, "unit.restarts") == {"ecs.service": [3, 4]}
    unknown = read(tmp_path, text, "x.log")
    assert unknown[-1].facts.problems


@given(st.binary(max_size=300))
def test_no_listing_is_too_odd(text: bytes) -> None:
    for parse in (parse_list, lambda data: parse_show(data, "", None)):
        for data in (text, LIST.encode()[:100] + text, SHOW.encode()[:100] + text):
            with suppress(ParseError):
                parse(data)


def test_numbers_of_any_length_do_no_harm() -> None:
    text = f"Id=a.service\nNRestarts={'9' * 400}\nExecMainStartTimestampMonotonic={'9' * 400}\n"
    (unit,) = systemctl.parse_show(text.encode(), "", lambda us: us)
    assert unit.restarts_total is None


def test_a_list_without_its_header_or_with_colours_tells_the_same(tmp_path: Path) -> None:
    rows = "".join(LIST.splitlines(keepends=True)[1:4])
    coloured = LIST.replace("●", "\x1b[0;1;31m●\x1b[0m").replace(
        "  UNIT", "\x1b[0;1;4m  UNIT\x1b[0m"
    )
    for text in (
        rows,
        coloured,
        rows.replace("● ", ""),
        LIST.replace("●", "*"),
        rows.replace("●", "*"),
    ):  # without a locale
        pieces = read(tmp_path, mark(0) + text, "systemctl.log")
        assert pieces[-1].facts.problems == ()
        found = values(pieces, "unit.active")
        assert {name: found[name] for name in found if name != "-.mount"} == {
            "ecs.service": [0], "docker.service": [1], "bad.service": [0],
        }  # fmt: skip


def test_a_list_of_nothing_failed_is_whole(tmp_path: Path) -> None:
    text = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n0 loaded units listed. Pass --all to see more.\n"
    assert read(tmp_path, mark(0) + text)[-1].facts.problems == ()


def test_a_list_without_its_header_may_begin_with_what_is_no_service(tmp_path: Path) -> None:
    text = (
        "  proc-sys-fs-binfmt_misc.automount   loaded active waiting   Executable File Formats\n"
        "  sys-devices-virtio0-net-eth0.device loaded active plugged   Virtio network device\n"
        "● bad.service                         loaded failed failed    Something that ended\n"
    )
    path = tmp_path / "units.txt"
    path.write_text(text)
    found = recognise(Source.of(path))
    assert found is not None
    assert found.read is not None
    events = [
        e for piece in found.read(Source.of(path), made.context(tmp_path)) for e in piece.events
    ]
    assert [event.subject for event in events] == ["bad.service"]


def test_the_first_look_tells_of_what_is_down(tmp_path: Path) -> None:
    text = "".join(mark(10 * n) + SHOW.format(restarts=5, start=0, end=0) for n in range(3))
    events = [event for piece in read(tmp_path, text, "show.log") for event in piece.events]
    assert [(event.kind, event.time_ns) for event in events] == [("unit-waiting", START * NS)]
    assert events[0].fields["restarts_total"] == 5
    events = [event for piece in read(tmp_path, mark(0) + LIST, "l.log") for event in piece.events]
    assert ("unit-seen", "bad.service", "failed") in [(e.kind, e.subject, e.text) for e in events]
