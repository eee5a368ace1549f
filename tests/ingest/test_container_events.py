"""docker events and podman events, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest import container_events
from exhume.ingest.container_events import is_events
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.event import Event
from exhume.model.window import Window
from exhume.store.queries.events import events
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import

ID = "3f1d2c4b5a69" + "0" * 52
AT = 1_773_446_700_500_000_000  # 2026-03-14T00:05:00.5Z
DOCKER = f"""\
2026-03-14T01:05:00.400000000+01:00 container create {ID} (image=corp/beacon:1, name=beacon)
2026-03-14T01:05:00.450000000+01:00 network connect aa11 (container={ID}, name=bridge, type=bridge)
2026-03-14T01:05:00.500000000+01:00 container start {ID} (image=corp/beacon:1, name=beacon)
2026-03-14T01:05:01.500000000+01:00 container exec_die: /bin/x {ID} (exitCode=0, image=corp/beacon:1)
2026-03-14T01:05:03.500000000+01:00 container die {ID} (execDuration=3, exitCode=137, image=corp/beacon:1, name=beacon)
"""  # noqa: E501
PODMAN = f"""\
2026-03-14 00:05:00.5 +0000 UTC container start {ID} (image=corp/beacon:1, name=beacon)
2026-03-14 00:05:03.5 +0000 UTC container died {ID} (image=corp/beacon:1, name=beacon)
"""


def told_json(action: str, second: int, **more: str) -> str:
    attributes = {"image": "corp/beacon:1", "name": "beacon"} | more
    return json.dumps(
        {
            "status": action, "Type": "container", "Action": action,
            "Actor": {"ID": ID, "Attributes": attributes}, "timeNano": AT + second * 10**9,
        }
    ) + "\n"  # fmt: skip


JSON = told_json("create", 0) + told_json("start", 0) + told_json("die", 3, exitCode="137")


def read(folder: Path, text: str) -> list[Event]:
    path = folder / "events.txt"
    path.write_text(text)
    found = container_events.read(Source.of(path), made.context(folder))
    return [event for piece in found for event in piece.events]


@pytest.mark.parametrize(("text", "code"), [(DOCKER, 137), (PODMAN, None), (JSON, 137)])
def test_each_start_and_end_is_told_at_its_own_time(
    tmp_path: Path, text: str, code: int | None
) -> None:
    told = read(tmp_path, text)
    known = recognise(Source.of(tmp_path / "events.txt"))
    assert known is not None
    assert known.name == "container events"
    assert [(e.kind, e.subject, e.time_ns - AT) for e in told] == [
        ("container-start", "beacon", 0),
        ("container-exit", "beacon", 3 * 10**9),
    ]
    assert (told[1].fields.get("exit_code"), told[0].fields["id"]) == (code, ID)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-14T00:05:00Z container runtime is down\n2026-03-14T00:05:01Z ERROR timed out\n",
        "2026-03-14 00:05:00,500 INFO container start\n",
    ],
)
def test_a_log_that_speaks_of_containers_is_none(text: str) -> None:
    assert not is_events(text.encode(), Path("x.log"))


def test_a_start_that_a_look_saw_too_counts_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "events.txt").write_text(DOCKER)
    row = "3f1d2c4b5a69   corp/beacon:1   4 seconds ago   Exited (137) 1 second ago   beacon\n"
    head = "CONTAINER ID   IMAGE           CREATED         STATUS                      NAMES\n"
    (tmp_path / "in" / "ps.txt").write_text(f"### {AT // 10**9 + 4}\n{head}{row}")
    do_import(tmp_path / "out", str(tmp_path / "in"))
    window = Window(AT - 10**12, AT + 10**12)
    recording = Recording.open(tmp_path / "out")
    starts = events(recording, window, kinds=("container-start", "container-exit"))
    assert [e.fields.get("told_by") for e in starts] == ["docker", "docker"]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_not(data: bytes) -> None:
    is_events(data, Path("x"))
    is_events(DOCKER.encode() + data, Path("x"))


@pytest.mark.parametrize(
    "text",
    [
        DOCKER + f"2026-03-14T01:05:03.500000000+01:00 container oom {ID} (image=a, name=beacon)\n",
        PODMAN + f"2026-03-14 00:05:03.5 +0000 UTC container oom {ID} (image=a, name=beacon)\n",
        told_json("start", 0) + told_json("oom", 3),
    ],
)
def test_who_ran_out_of_memory_is_told(tmp_path: Path, text: str) -> None:
    (one,) = [event for event in read(tmp_path, text) if event.kind == "job-log"]
    assert (one.subject, one.fields["signature"]) == ("beacon", "container.oom")
    assert one.time_ns == AT + 3 * 10**9
