from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.ingest.inputs import expand, folders_inside
from tests.ingest.made import write


def names(given: list[str], besides: Path = Path("/nowhere")) -> list[tuple[str, bool]]:
    found, _ = expand(given, besides)
    return [(one.path.name, one.is_named) for one in found]


def test_folders_and_patterns_stand_for_the_files_in_them(tmp_path: Path) -> None:
    for name in ("b.data", "a.data", ".hidden", "inner/c.data"):
        write(tmp_path / name, name)
    assert names([str(tmp_path)]) == [("a.data", False), ("b.data", False)]
    assert names([str(tmp_path / "*.data")]) == [("a.data", False), ("b.data", False)]
    everywhere = [("a.data", False), ("b.data", False), ("c.data", False)]
    assert names([str(tmp_path / "**" / "*.data")]) == everywhere
    assert names([str(tmp_path / "b.data"), str(tmp_path)]) == [("a.data", False), ("b.data", True)]


def test_where_the_import_goes_to_is_no_input(tmp_path: Path) -> None:
    write(tmp_path / "a.data", "a")
    write(tmp_path / "out" / "segments" / "x", "x")
    assert names([str(tmp_path), str(tmp_path / "out" / "segments")], tmp_path / "out") == [
        ("a.data", False)
    ]


def test_files_may_lie_where_the_import_goes_to(tmp_path: Path) -> None:
    for name in ("a.log", "import/manifest", "segments/x", "gpu-7/b.log", "gpu-7/segments/x"):
        write(tmp_path / name, name)
    write(tmp_path / "gpu-8" / "segments" / "x", "x")
    given = [str(tmp_path), str(tmp_path / "**" / "*")]
    assert names(given, tmp_path) == [("a.log", False), ("b.log", False)]
    assert folders_inside([str(tmp_path)], tmp_path) == (str(tmp_path / "gpu-7"),)
    (tmp_path / "a.log").unlink()
    assert names([str(tmp_path)], tmp_path) == [("b.log", False)]


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    _, missing = expand([str(tmp_path / "nothing")], tmp_path / "out")
    assert [(one.path.name, one.why) for one in missing] == [("nothing", "no such file")]
    with pytest.raises(ExhumeError, match="no file is like"):
        expand([str(tmp_path / "*.data")], tmp_path / "out")


def test_what_is_no_file_in_a_folder_is_passed_over_and_told(tmp_path: Path) -> None:
    write(tmp_path / "a.data", "a")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    found, missing = expand([str(tmp_path)], tmp_path / "out")
    assert [one.path.name for one in found] == ["a.data"]
    assert sorted((one.path.name, one.why, one.is_named) for one in missing) == [
        ("gone", "no such file", False), ("pipe", "not a file", False),
    ]  # fmt: skip


def test_a_folder_of_nothing_but_folders_stands_for_what_is_in_them(tmp_path: Path) -> None:
    for name in ("perf/a.data", "logs/03/b.log", "logs/04/c.log", ".git/x", "old/segments/1/d"):
        write(tmp_path / "in" / name, name)
    (tmp_path / "in" / "logs" / "03" / "truth").mkdir()
    given, out = [str(tmp_path / "in")], tmp_path / "in" / "out"
    write(out / "segments" / "e.log", "ours")
    found, missing = expand(given, out)
    assert [one.path.name for one in found] == ["b.log", "c.log", "a.data"]
    assert missing == []
    assert folders_inside(given, out) == (str(tmp_path / "in/logs/03/truth"),)
    (tmp_path / "in" / "notes").write_text("x")
    assert [one.path.name for one in expand(given, out)[0]] == ["notes"]
    inside = [Path(one).name for one in folders_inside(given, out)]
    assert inside == ["logs", "old", "perf"]


@pytest.mark.parametrize("given", ["", "shut"])
def test_a_folder_that_one_may_not_look_into_costs_only_itself(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "open" / "a.data", "a")
    write(tmp_path / "shut" / "b.data", "b")
    listed = Path.iterdir

    def denied(folder: Path) -> Iterator[Path]:
        if folder.name == "shut":
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", denied)  # root may look into all of them
    found, missing = expand([str(tmp_path / given)], Path("/nowhere"))
    assert [one.path.name for one in found] == ([] if given else ["a.data"])
    assert [one.path.name for one in missing] == ["shut"]
    assert missing[0].why.startswith("no permission to read it")
    assert folders_inside([str(tmp_path / given)], Path("/nowhere")) == ()


def test_folders_that_lead_to_themselves_end(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "c.log", "c")
    (tmp_path / "a" / "b" / "again").symlink_to(tmp_path / "a")
    (tmp_path / "d").symlink_to(tmp_path / "a")
    assert expand([str(tmp_path)], tmp_path / "out")[0] == []
    (tmp_path / "d").unlink()
    found, _ = expand([str(tmp_path)], tmp_path / "out")
    assert [one.path.name for one in found] == ["c.log"]


def test_a_link_that_leads_to_itself_is_told_and_the_others_count(tmp_path: Path) -> None:
    write(tmp_path / "a.data", "a")
    (tmp_path / "loop.data").symlink_to("loop.data")
    (tmp_path / "gone.data").symlink_to("nothing")
    for given in ([str(tmp_path)], [str(tmp_path / "*.data")]):
        found, missing = expand(given, tmp_path / "out")
        assert [one.path.name for one in found] == ["a.data"]
        told = {one.path.name: one.why for one in missing}
        assert set(told) == {"loop.data", "gone.data"}
        assert "symbolic links" in told["loop.data"]


def test_a_copy_has_the_same_id_and_a_longer_file_another(tmp_path: Path) -> None:
    write(tmp_path / "a", b"x" * 200_000)
    write(tmp_path / "b", b"x" * 200_000)
    write(tmp_path / "c", b"x" * 200_001)
    write(tmp_path / "d", b"x" * 199_999 + b"y")
    ids = [one.id for one in expand([str(tmp_path)], tmp_path / "out")[0]]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
