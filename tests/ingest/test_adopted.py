"""Files that come one after the other: who is of which node may show only later."""

from __future__ import annotations

from pathlib import Path

import pytest

import exhume.ingest.placing as placing
from exhume.ingest.nodes import NAMELESS
from tests.ingest import made
from tests.ingest.made import NS, do_import, segments, total, write

STARTED_NS = 1794773717 * NS
LATER = 15 * NS


def nodes(root: Path) -> set[str]:
    return {one.origin.node for one in segments(root)}


@pytest.mark.parametrize("later_ns", [LATER, 2000 * NS])
def test_a_file_that_names_its_node_later_names_that_of_those_before(
    later_ns: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = write(tmp_path / "a.txt", made.script())
    named = write(tmp_path / "b.txt", made.script(start_ns=later_ns, host="gpu-7"))
    last = write(tmp_path / "c.txt", made.script(start_ns=2 * later_ns))
    (alone,) = do_import(out, first, offset_ns=STARTED_NS).recordings
    assert (alone.node, alone.path) == (NAMELESS, str(out))
    for files in [(first, named), (named,), (last,)]:
        (one,) = do_import(out, *files, offset_ns=STARTED_NS).recordings
        assert (one.node, one.path) == ("gpu-7", str(out))
    assert nodes(out) == {"gpu-7"}
    assert total(out) == 300
    assert sorted(one.name for one in out.iterdir()) == ["import", "segments"]


def test_the_node_of_what_was_imported_can_be_told_later(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = write(tmp_path / "a.txt", made.script())
    do_import(out, path)
    (one,) = do_import(out, path, node="gpu-7").recordings
    assert (one.node, one.path, nodes(out)) == ("gpu-7", str(out), {"gpu-7"})


def test_what_is_of_nobody_stays_so_beside_files_of_several_nodes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    do_import(out, write(tmp_path / "a.txt", made.script()))
    both = [write(tmp_path / f"{n}.txt", made.script(host=f"gpu-{n}")) for n in (7, 8)]
    found = do_import(out, *both).recordings
    assert {one.path for one in found} == {str(out / "gpu-7"), str(out / "gpu-8")}
    assert nodes(out) == {NAMELESS}


def test_killed_before_it_noted_what_it_wrote_it_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = write(tmp_path / "a.txt", made.script())
    named = write(tmp_path / "b.txt", made.script(start_ns=LATER, host="gpu-7"))

    class Killed(BaseException):
        """Stands for a kill: nothing catches it."""

    def dying(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as now:
        now.setattr(placing.Placing, "finished", dying)
        with pytest.raises(Killed):
            do_import(out, first, offset_ns=STARTED_NS)
    assert nodes(out) == {NAMELESS}
    (one,) = do_import(out, first, named, offset_ns=STARTED_NS).recordings
    assert (one.node, nodes(out), total(out)) == ("gpu-7", {"gpu-7"}, 200)
