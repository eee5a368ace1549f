"""Followed log files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources.log_files import LogFollower, load_signatures


def _lines(follower: LogFollower) -> list[str]:
    found = follower.read()
    return list(found.lines) if found else []


def test_only_what_is_added_from_now_on_counts(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("old\n")
    follower = LogFollower(log)
    assert _lines(follower) == []
    with log.open("a") as file:
        file.write("one\ntw")
    assert _lines(follower) == ["one"]
    with log.open("a") as file:
        file.write("o\n")
    assert _lines(follower) == ["two"]
    follower.close()


def test_a_file_that_appears_later_is_read_from_its_start(tmp_path: Path) -> None:
    follower = LogFollower(tmp_path / "job.log")
    assert follower.read() is None
    (tmp_path / "job.log").write_text("first\n")
    assert _lines(follower) == ["first"]


def test_a_rotated_file_is_read_to_its_end_and_then_its_successor(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.touch()
    follower = LogFollower(log)
    follower.read()
    log.write_text("last of the old\n")
    log.rename(tmp_path / "job.log.1")
    log.write_text("first of the new\n")
    assert _lines(follower) == ["last of the old", "first of the new"]


def test_a_file_truncated_in_place_starts_anew(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.touch()
    follower = LogFollower(log)
    follower.read()
    log.write_text("a long line before the cut\n")
    follower.read()
    log.write_text("new\n")
    assert _lines(follower) == ["new"]


def test_a_flood_costs_a_bounded_read_and_says_what_it_skipped(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.touch()
    follower = LogFollower(log, max_bytes=100)
    follower.read()
    log.write_text("".join(f"line {number:04}\n" for number in range(100)))
    found = follower.read()
    assert found is not None
    assert found.skipped_bytes == 900
    assert found.lines[-1] == "line 0099"
    assert all(len(line) == 9 for line in found.lines), "no half lines"


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_pieces_make_up_the_same_lines_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    log = tmp_path_factory.mktemp("log") / "job.log"
    log.touch()
    follower = LogFollower(log)
    follower.read()
    found: list[str] = []
    for piece in pieces:
        with log.open("ab") as file:
            file.write(piece)
        found += _lines(follower)
    follower.close()
    *complete, _ = b"".join(pieces).split(b"\n")
    assert found == [line.decode("utf-8", "replace") for line in complete if line]


def test_a_users_signatures_are_loaded_or_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    with pytest.raises(ParseError, match=r"mine\.toml"):
        load_signatures(file)
    file.write_text(
        "[[signature]]\nid = 'my.fault'\nclass = 'job'\nliteral = 'fault'\n"
        "pattern = 'fault (?P<code>\\d+)'\nmeaning = 'It broke.'\n"
    )
    (signature,) = load_signatures(file)
    assert signature.id == "my.fault"


def test_after_a_pipe_in_its_place_the_file_is_read_on(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("old\n")
    follower = LogFollower(log)
    assert _lines(follower) == []
    log.rename(tmp_path / "aside")
    os.mkfifo(log)
    with pytest.raises(OSError, match="seek"):
        follower.read()
    log.unlink()
    log.write_text("new\n")
    assert _lines(follower) == ["new"]
    follower.close()
