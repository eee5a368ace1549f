from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from exhume.ingest.boot_clocks import Anchor
from exhume.ingest.inputs import expand
from exhume.ingest.manifest import Finished, Manifest, has_log_of
from exhume.ingest.piece import Claim, ClockKind, Trust
from exhume.ingest.report import ZONE_IN_DOUBT, InputReport
from exhume.model.window import Window
from exhume.store import layout
from tests.ingest.made import write


def finished(path: Path, id_: str) -> Finished:
    report = InputReport(
        str(path), "perf.data", "imported", 5, 4, 2, Window(1, 2), "measured", ("n",), ("p",)
    )
    measured = Claim(5, Trust.MEASURED, "measured")
    anchor = Anchor("node", ClockKind.KERNEL_LOG, measured, (7, (1 << 64) - 1), 9)
    return Finished(
        id_, str(path.resolve()), 3, 4, "node", "", report, (anchor,), (1, (1 << 64) - 1),
        told=Window(10, 20),
    )  # fmt: skip


def test_what_was_finished_is_known_the_next_time(tmp_path: Path) -> None:
    write(tmp_path / "a", "one")
    ((one,), _) = expand([str(tmp_path / "a")], tmp_path / "out")
    made = finished(one.path, one.id)
    Manifest(tmp_path).add(made)
    again = Manifest(tmp_path)
    assert again.of(one) == made
    assert not again.was_other(one)
    write(tmp_path / "a", "one and more")
    ((grown,), _) = expand([str(tmp_path / "a")], tmp_path / "out")
    assert again.of(grown) is None
    assert again.was_other(grown)


def test_a_log_tells_of_the_time_from_its_first_line_to_when_it_was_written(tmp_path: Path) -> None:
    note = replace(finished(tmp_path / "a", "a" * 16), modified_ns=30)
    layout.import_path(tmp_path).mkdir()
    Manifest(layout.import_path(tmp_path)).add(note)
    for root in (tmp_path, tmp_path / "node"):
        assert has_log_of(root, "node", Window(5, 11))
        assert has_log_of(root, "node", Window(25, 40)), "it was silent, and yet there"
        assert not has_log_of(root, "node", Window(5, 10)), "not begun"
        assert not has_log_of(root, "node", Window(30, 40)), "written before"
        assert not has_log_of(root, "other", Window(5, 11))


def test_a_log_that_may_be_of_another_zone_is_no_witness(tmp_path: Path) -> None:
    """An out-of-memory kill at 11:50 of an unknown zone, and a capture of 19:50 UTC: that nobody
    was harmed is not known."""
    note = replace(finished(tmp_path / "a", "a" * 16), modified_ns=30)
    doubt = f"{ZONE_IN_DOUBT}, the nearest is 8.0 h off"
    note = replace(note, report=replace(note.report, notes=("12 of 20 lines", doubt)))
    layout.import_path(tmp_path).mkdir()
    Manifest(layout.import_path(tmp_path)).add(note)
    assert not has_log_of(tmp_path, "node", Window(15, 40))


def test_a_line_that_a_crash_cut_off_is_not_there(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.add(finished(tmp_path / "a", "a" * 16))
    manifest.add(finished(tmp_path / "b", "b" * 16))
    path = next(tmp_path.glob("manifest*"))
    path.write_bytes(path.read_bytes()[:-20])
    assert [one.id for one in Manifest(tmp_path).all()] == ["a" * 16]
    path.write_bytes(b"\xff\x00 nonsense\n[1]\n{}\n" + path.read_bytes())
    assert [one.id for one in Manifest(tmp_path).all()] == ["a" * 16]


def test_what_an_older_version_finished_is_known(tmp_path: Path) -> None:
    made = finished(tmp_path / "a", "a" * 16)
    Manifest(tmp_path).add(made)
    path = next(tmp_path.glob("manifest*"))
    line = json.loads(path.read_bytes())
    line["anchor"] = line.pop("anchors")[0]
    path.write_text(json.dumps(line) + "\n")
    assert Manifest(tmp_path).all() == [made]
