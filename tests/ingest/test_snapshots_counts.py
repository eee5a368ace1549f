"""A number alone: the command that counted it, or the file's name, says of what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from tests.ingest import made
from tests.ingest.test_snapshots import mark, read, values


@pytest.mark.parametrize(
    "command",
    [
        "find /sys/fs/cgroup/memory -type d | wc -l",
        "+ find /sys/fs/cgroup/memory -type d",
        "sudo find . -type d | wc -l",
    ],
)
def test_the_command_alone_above_a_count_tells_what_was_counted(
    tmp_path: Path, command: str
) -> None:
    dates = [f"Sun Nov 15 20:15:{second} UTC 2026\n" for second in (17, 27)]
    text = "".join(f"{date}{command}\n{240}\n" for date in dates)
    path = Path(made.write(tmp_path / "count.log", text))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copies"
    assert values(read(tmp_path, text), "memcg.live") == {"": [240, 240]}


@pytest.mark.parametrize("prompt", ["sh-4.2# ", "gpu-7$ ", "/ # ", "/proc/self # ", "~ $ "])
def test_a_prompt_of_any_shell_ends_what_is_above_it(tmp_path: Path, prompt: str) -> None:
    text = (
        f"{prompt}cat /proc/cgroups\n#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
        f"memory\t5\t22563\t1\n{prompt}find /sys/fs/cgroup/memory -type d | wc -l\n240\n{prompt}\n"
    )
    found = recognise(Source.of(Path(made.write(tmp_path / "session.txt", text))))
    assert found is not None
    assert found.name == "/proc copy"
    pieces = read(tmp_path, mark(0) + text)
    assert pieces[-1].facts.problems == ()
    told = (values(pieces, "memcg.tracked"), values(pieces, "memcg.live"))
    assert told == ({"": [22563]}, {"": [240]})


@pytest.mark.parametrize(
    ("name", "is_told"),
    [("find-type-d-memory.txt", True), ("find_type_d.log", True), ("find.log", False)],
)
def test_a_command_in_the_name_tells_what_was_counted(
    tmp_path: Path, name: str, is_told: bool
) -> None:
    pieces = read(tmp_path, mark(0) + "3\n" + mark(10) + "4\n", name)
    assert values(pieces, "memcg.live") == ({"": [3, 4]} if is_told else {})


def test_directories_elsewhere_are_no_cgroups(tmp_path: Path) -> None:
    text = mark(0) + "find /var/log -type d | wc -l\n240\n"
    assert values(read(tmp_path, text, "x.log"), "memcg.live") == {}


@pytest.mark.parametrize(
    ("command", "hierarchy", "is_taken"),
    [
        ("find /sys/fs/cgroup/memory/ -type d | wc -l", 9, True),
        ("find /sys/fs/cgroup/memory/docker -type d | wc -l", 9, False),
        ("ls -l -F /sys/fs/cgroup/memory/docker/ | grep / | wc -l", 9, False),
        ("ls /sys/fs/cgroup/memory | wc -l", 9, False),
        ("ls -lR /sys/fs/cgroup/memory | grep -c ^d | wc -l", 9, True),
        ("find /sys/fs/cgroup -type d | wc -l", 9, False),
        ("find /sys/fs/cgroup -type d | wc -l", 0, True),
    ],
)
def test_a_count_of_some_cgroups_is_not_taken_for_all_that_live(
    tmp_path: Path, command: str, hierarchy: int, is_taken: bool
) -> None:
    block = f"memory\t{hierarchy}\t22563\t1\n# {command}\n61\n"
    pieces = read(tmp_path, mark(0) + block)
    assert values(pieces, "memcg.live") == ({"": [61]} if is_taken else {})
    told = any("counts them" in note for note in pieces[-1].facts.notes)
    assert told is not is_taken


def test_a_container_may_be_called_like_a_command(tmp_path: Path) -> None:
    table = "NAMES    STATUS\nray-1    Up 3 hours\nhead     Up 3 hours\nweb      Up 2 hours\n"
    assert values(read(tmp_path, mark(0) + table), "container.total") == {"": [3]}
