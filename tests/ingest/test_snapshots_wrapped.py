"""Tables that a terminal broke."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.recognise import recognise
from exhume.ingest.snapshots_wrapped import unwrapped
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.test_snapshots import mark, read

HEADER = (
    "CONTAINER ID   IMAGE                     COMMAND                  CREATED          "
    "STATUS                         PORTS                  NAMES\n"
)
ROWS = (
    '3f1d2c4b5a69   example/agent:latest      "/agent"                 12 seconds ago   '
    "Restarting (5) 3 seconds ago                          agent\n"
    'a1b2c3d4e5f6   example/proxy:2.9.0       "/home/proxy/bin/ser…"   3 weeks ago      '
    "Up 3 weeks (healthy)           0.0.0.0:80->80/tcp     proxy\n"
    'b1b2c3d4e5f6   example/web:1.25          "/docker-entrypoint.…"   5 months ago     '
    "Exited (137) 4 hours ago                              web\n"
)
CGROUPS = "/proc/cgroups\n#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t5\t352\t1\n"


def broken(text: str, width: int) -> str:
    lines = text.split("\n")
    return "\n".join(
        "\n".join(line[at : at + width] for at in range(0, max(1, len(line)), width))
        for line in lines
    )


@pytest.mark.parametrize("width", [50, 60, 72, 80, 100, 120, 132])
@pytest.mark.parametrize("is_trimmed", [False, True])
def test_a_listing_that_a_terminal_broke_is_read(
    tmp_path: Path, width: int, is_trimmed: bool
) -> None:
    table = broken(HEADER + ROWS, width)
    if is_trimmed:
        table = "".join(f"{line.rstrip()}\n" for line in table.splitlines())
    path = made.write(tmp_path / "listing.txt", table)
    found = recognise(Source.of(Path(path)))
    assert found is not None
    assert found.name == "/proc copy"
    text = "".join(mark(at) + table + CGROUPS for at in (0, 10))
    pieces = read(tmp_path, text)
    assert pieces[-1].facts.problems == ()
    assert pieces[-1].facts.notes == ("copies: 2 of docker ps, 2 of cgroups",)
    seen = {
        event.subject: (event.fields["state"], event.fields.get("exit_code"))
        for piece in pieces
        for event in piece.events
        if event.kind == "container-seen"
    }
    assert seen == {"agent": ("restarting", 5), "proxy": ("running", None), "web": ("exited", 137)}


def test_what_is_whole_stays_as_it_is() -> None:
    for text in (HEADER + ROWS + CGROUPS, CGROUPS, HEADER[:60], "CONTAINER ID   IMAGE\n"):
        assert unwrapped(text.encode()) == text.encode()


@given(st.lists(st.sampled_from((HEADER, ROWS, CGROUPS, "\n", "x", "é…")), max_size=9),
       st.integers(1, 200))  # fmt: skip
def test_no_text_is_too_odd(parts: list[str], width: int) -> None:
    once = unwrapped(broken("".join(parts), width).encode())
    assert unwrapped(once) == once or b"CONTAINER ID" in once
