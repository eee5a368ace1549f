from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.main import main
from exhume.errors import ParseError
from exhume.ingest import docker_ps, snapshots
from exhume.ingest.docker_ps import DockerLooks
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.event import Event
from tests.ingest import made
from tests.ingest.test_snapshots import NS, START, mark

AGENT = "amazon/amazon-ecs-agent:latest"
HEADER = (
    f"{'CONTAINER ID':<15}{'IMAGE':<33}{'COMMAND':<11}{'CREATED':<21}{'STATUS':<40}"
    f"{'PORTS':<10}NAMES"
)
COMMAND = '"/agent…"'
AT = START * NS


def line(
    identity: str, created: str, status: str, name: str = "ecs-agent", image: str = AGENT
) -> str:
    return f"{identity:<15}{image:<33}{COMMAND:<11}{created:<21}{status:<40}{'':<10}{name}"


def table(*lines: str) -> bytes:
    return "\n".join([HEADER, *lines, ""]).encode()


def test_a_table_is_read_by_where_its_columns_stand() -> None:
    text = table(
        line("3f1d2c4b5a69", "12 seconds ago", "Up 3 seconds"),
        line("0123456789ab", "About a minute ago", "Exited (137) 5 seconds ago", "job", "ray:2"),
        line("aaaaaaaaaaaa", "3 weeks ago", "Up 3 weeks (Paused)", "old"),
        line("bbbbbbbbbbbb", "2 hours ago", "Restarting (1) Less than a second ago", "loop"),
        line("cccccccccccc", "5 minutes ago", "Created", "new"),
    )
    rows = docker_ps.parse(text, AT)
    one = rows[0].container
    assert (one.id, one.name, one.image, one.state) == (
        "3f1d2c4b5a69",
        "ecs-agent",
        AGENT,
        "running",
    )
    assert (one.created_wall_ns, rows[0].changed_ns) == (AT - 12 * NS, AT - 3 * NS)
    assert (rows[1].container.state, rows[1].container.exit_code) == ("exited", 137)
    assert rows[1].container.created_wall_ns == AT - 60 * NS
    assert [row.container.state for row in rows[2:]] == ["paused", "restarting", "created"]
    assert rows[3].changed_ns == AT


def test_an_agent_removed_and_run_anew_is_another_id_each_time() -> None:
    looks = DockerLooks()
    events: list[Event] = []
    for number in range(6):
        identity = f"{number:012x}"
        text = table(
            line(identity, "4 seconds ago", "Up 3 seconds"),
            line("ffffffffffff", "2 days ago", "Up 2 days", "ray"),
        )
        events += looks.look(text, AT + number * 10 * NS)[1]
    starts = [event for event in events if event.kind == "container-start"]
    assert [event.subject for event in starts] == ["ecs-agent"] * 6
    assert [event.time_ns for event in starts] == [AT + (10 * n - 3) * NS for n in range(6)]
    assert len({event.fields["id"] for event in starts}) == 6
    gone = [event for event in events if event.kind == "container-exit"]
    assert [(event.subject, event.text) for event in gone] == [("ecs-agent", "gone")] * 5
    seen = [event.subject for event in events if event.kind == "container-seen"]
    assert seen == ["ecs-agent", "ray"]


def test_one_table_alone_tells_what_ended_in_the_last_hour() -> None:
    text = table(
        *(
            line(f"{n:012x}", f"{10 * n + 8} seconds ago", f"Exited (1) {10 * n + 5} seconds ago")
            for n in range(3)
        )
    )
    _, events = DockerLooks().look(text, AT)
    ends = [event for event in events if event.kind == "container-exit"]
    assert [event.time_ns for event in ends] == [AT - 5 * NS, AT - 15 * NS, AT - 25 * NS]
    assert [event.fields["exit_code"] for event in ends] == [1, 1, 1]
    starts = [event for event in events if event.kind == "container-start"]
    assert [event.time_ns for event in starts] == [AT - 8 * NS, AT - 18 * NS, AT - 28 * NS]


def test_a_table_with_a_torn_row_is_refused() -> None:
    with pytest.raises(ParseError):
        docker_ps.parse(table("3f1d2c"), AT)
    with pytest.raises(ParseError):
        docker_ps.parse(b"CONTAINER ID   IMAGE\n", AT)


@given(st.text(max_size=200))
def test_no_row_is_too_odd(text: str) -> None:
    with suppress(ParseError):
        docker_ps.parse(f"{HEADER}\n{text}".encode(), AT)


def test_the_loop_shows_in_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(
        mark(10 * n)
        + table(line(f"{n:012x}", "6 seconds ago", "Exited (1) 2 seconds ago")).decode()
        for n in range(30)
    )
    path = made.write(tmp_path / "docker_ps.log", text)
    assert [p.events[:1] for p in snapshots.read(Source.of(Path(path)), made.context(tmp_path))]
    made.do_import(tmp_path / "out", path, node="gpu-7")
    words = [
        "units",
        "--data",
        str(tmp_path / "out"),
        "--from",
        str(START),
        "--to",
        str(START + 600),
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "ecs-agent" in out
    assert "crash loop" in out
    assert "at least every 10 s" in " ".join(out.split())  # which is how often somebody looked


@pytest.mark.parametrize(
    "text",
    [
        "CONTAINER ID   NAMES       STATUS\n3f1d2c4b5a69   ecs-agent   Up 3 seconds\n",
        "NAMES       STATUS         IMAGE\necs-agent   Up 3 seconds   agent:1\n",
        "NAMES       STATUS         STATE\necs-agent   Up 3 seconds   running\n",
        '{"Command":"x","CreatedAt":"2026-11-15 20:15:05 +0000 UTC","ID":"3f1d2c4b5a69",'
        '"Image":"agent:1","Names":"ecs-agent","RunningFor":"12 seconds ago",'
        '"Status":"Up 3 seconds"}\n',
        # somebody has changed a word
        "CONTAINER ID   IMAGE     COMMAND   CREATED          STATUS         PORTS     NAMES\n"
        '3f1d2c4b5a69   registry.example.com/agent:1     "/a"   12 seconds ago   Up 3 seconds   '
        "  ecs-agent\n",
    ],
)
def test_tables_with_columns_of_ones_own_and_lines_that_were_changed(
    tmp_path: Path, text: str
) -> None:
    path = Path(made.write(tmp_path / "docker.txt", text))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copy"
    (row,) = docker_ps.parse(text.encode(), AT)
    assert (row.container.name, row.container.state) == ("ecs-agent", "running")
    assert row.changed_ns == AT - 3 * NS


def test_a_table_of_crictl_counts_attempts() -> None:
    text = (
        "CONTAINER       IMAGE     CREATED          STATE     NAME    ATTEMPT   POD ID          "
        "POD\n"
        "3f1d2c4b5a69a   e4ca3ba   12 seconds ago   Running   agent   17        f84dd361f8dc5   "
        "ds-x\n"
    )
    (row,) = docker_ps.parse(text.encode(), AT)
    one = row.container
    assert (one.name, one.state, one.restarts_total, one.pod_name) == (
        "agent",
        "running",
        17,
        "ds-x",
    )
    assert one.created_wall_ns == AT - 12 * NS


@pytest.mark.parametrize(
    "warning",
    [
        "",
        "WARN[0000] runtime connect using default endpoints: [unix:///run/crio/crio.sock].\n",
        "WARNING: Error loading config file: /root/.docker/config.json\n",
        'time="2026-11-15T20:15:17Z" level=warning msg="the cgroupv2 manager is set"\n',
    ],
)
def test_a_session_with_an_older_crictl_is_read_with_its_prompts(
    tmp_path: Path, warning: str
) -> None:
    text = (
        f"[root@node-3:~]$ crictl ps -a\n{warning}"
        "CONTAINER ID        IMAGE               CREATED             STATE               NAME"
        "                ATTEMPT             POD ID\n"
        "3f1d2c4b5a69a       e4ca3ba1d2c4b       12 seconds ago      Exited              agent"
        "               17                  f84dd361f8dc5\n"
        "[root@node-3:~]$\n"
        "[root@node-3:~]$ crictl pods\n"
        "POD ID              CREATED             STATE               NAME                ATTEMPT\n"
        "f84dd361f8dc5       3 days ago          Ready               agent-wcb8r         0\n"
    )
    source = Source.of(Path(made.write(tmp_path / "crictl.txt", text)))
    found = recognise(source)
    assert found is not None
    assert found.name == "/proc copy"
    pieces = list(snapshots.read_bare(source, made.context(tmp_path)))
    assert pieces[-1].facts.problems == ()
    told = {(event.kind, event.subject) for piece in pieces for event in piece.events}
    assert ("container-exit", "agent") in told


def test_a_container_of_crictl_that_runs_was_started_when_it_was_created() -> None:
    text = (
        "CONTAINER       IMAGE     CREATED         STATE     NAME    ATTEMPT   POD ID\n"
        "3f1d2c4b5a69a   e4ca3ba   9 minutes ago   Running   agent   6         f84dd361f8dc5\n"
    )
    _, events = DockerLooks().look(text.encode(), AT)
    (start,) = [event for event in events if event.kind == "container-start"]
    assert start.time_ns == AT - 540 * NS


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (
            '700d344a8928   kops:1.13   "/usr/bin/…"   5 seconds ago    Up 4 seconds   bell\n'
            'f00d344a8928   kops:1.13   "/usr/bin/…"   35 seconds ago   Exited (2) 30 seconds ago'
            "   80/tcp   cat\n",
            ["bell", "cat"],
        ),
        ("3f1d2c4b5a69a   e4ca3ba   12 seconds ago   Exited   agent   17   f84dd36\n", ["agent"]),
        (
            "3f1d2c4b5a69a   e4ca3ba   2 hours ago   Running   agent   17   f84dd36   ds-x   dev\n",
            ["agent"],
        ),
    ],
)
def test_what_grep_leaves_of_a_table_has_no_header(
    tmp_path: Path, rows: str, names: list[str]
) -> None:
    source = Source.of(Path(made.write(tmp_path / "ps.txt", f"# docker ps -a | grep x\n{rows}")))
    found = recognise(source)
    assert found is not None
    assert found.name == "/proc copy"
    pieces = list(snapshots.read_bare(source, made.context(tmp_path)))
    assert pieces[-1].facts.problems == ()
    assert [row.container.name for row in docker_ps.parse(rows.encode(), AT)] == names


def test_a_row_without_a_header_that_is_torn_is_refused() -> None:
    with pytest.raises(ParseError, match="image, age and status"):
        docker_ps.parse(b'700d344a8928   kops:1.13   "/usr/bin/x"   5 seconds ago   Up 4\n', AT)


def test_what_a_restart_policy_starts_anew_keeps_its_id_and_is_told() -> None:
    looks = DockerLooks()
    statuses = ("Up 3 seconds", "Up 2 seconds", "Restarting (1) 4 seconds ago", "Up 9 seconds")
    found: list[tuple[str, int]] = []
    for number, status in enumerate(statuses):
        at = AT + number * 10 * NS
        _, events = looks.look(table(line("3f1d2c4b5a69", "2 days ago", status)), at)
        found += [(e.kind, (e.time_ns - AT) // NS) for e in events if e.kind != "container-seen"]
    # At the last look it may have begun just before the one before.
    assert found == [("container-start", -3), ("container-start", 8), ("container-exit", 16)]


def test_what_ends_anew_was_started_though_no_look_saw_it_alive() -> None:
    looks = DockerLooks()
    found: list[tuple[str, int]] = []
    for number, status in enumerate(("4 seconds", "3 seconds", "13 seconds", "2 seconds")):
        text = table(line("3f1d2c4b5a69", "2 days ago", f"Restarting (1) {status} ago"))
        _, events = looks.look(text, AT + number * 10 * NS)
        found += [(e.kind, (e.time_ns - AT) // NS) for e in events if e.kind != "container-seen"]
    # It was down at the look before: it can't have begun earlier.
    assert found == [
        ("container-exit", -4), ("container-start", 0), ("container-exit", 7),
        ("container-start", 20), ("container-exit", 28),
    ]  # fmt: skip


def test_one_that_is_always_about_to_be_restarted_is_a_crash_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = b"".join(
        mark(10 * number).encode()
        + table(line("3f1d2c4b5a69", "2 days ago", f"Restarting (1) {2 + number % 3} seconds ago"))
        for number in range(60)
    )
    path, data = made.write(tmp_path / "ps.txt", text), str(tmp_path / "data")
    assert main(["import", str(path), "--into", data]) == 0
    capsys.readouterr()
    assert main(["units", "--data", data, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["lifecycles"]
    assert (one["name"], one["mark"], one["starts"]) == ("ecs-agent", "crash loop", 59)
    assert one["success_percent_of_known_ends"] == 0


def test_hours_are_rounded_and_prove_no_restart() -> None:
    looks = DockerLooks()
    for number, status in enumerate(("Up 3 hours", "Up 2 hours", "Up About a minute")):
        text = table(line("3f1d2c4b5a69", "2 days ago", status))
        _, events = looks.look(text, AT + number * 10 * NS)
        assert [event.kind for event in events if event.kind != "container-seen"] == []


def test_what_began_again_or_ended_lately_shows_in_the_first_look_though_it_is_old() -> None:
    text = table(
        line("3f1d2c4b5a69", "3 weeks ago", "Restarting (1) 42 seconds ago"),
        line("aaaaaaaaaaaa", "3 weeks ago", "Up 12 seconds", "api"),
        line("bbbbbbbbbbbb", "3 weeks ago", "Exited (137) 5 minutes ago", "cache"),
        line("cccccccccccc", "3 weeks ago", "Exited (0) 2 weeks ago", "old"),
        line("dddddddddddd", "3 weeks ago", "Up 3 weeks", "web"),
    )
    _, events = DockerLooks().look(text, AT)
    told = [event for event in events if event.kind != "container-seen"]
    assert [(event.kind, event.subject, event.time_ns) for event in told] == [
        ("container-exit", "ecs-agent", AT - 42 * NS),
        ("container-start", "api", AT - 12 * NS),
        ("container-exit", "cache", AT - 300 * NS),
    ]
    # Since when it had run nobody says.
    assert not any("created_wall_ns" in event.fields for event in told)


def test_states_of_crictl_that_are_old_or_odd_cost_no_listing() -> None:
    states = ("CONTAINER_RUNNING", "CONTAINER_EXITED", "ContainerCreating")
    cells = [
        ("CONTAINER ID", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID"),
        *(
            ("471d75b135b5b", "2c96c7c7", "2 hours ago", one, "etcd", "1", "d2dd8")
            for one in states
        ),
    ]
    text = "\n".join("".join(f"{cell:<20}" for cell in row) for row in cells)
    found = docker_ps.parse(text.encode(), AT)
    assert [row.container.state for row in found] == ["running", "exited", "unknown"]
