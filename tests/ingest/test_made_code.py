from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.made_code import note
from tests.ingest import made
from tests.ingest.test_assemble_perf import named, piece_of
from tests.ingest.test_assemble_script import piece_of as piece_of_text
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import USER, Mapped, Sample

AT = 0x7F00_0000


def capture(path: bytes) -> bytes:
    """Ten samples of a process in code that is mapped so, each at a place of its own."""
    samples = [
        Sample(ip=AT + at, pid=70, tid=70, time=made.NS + at, chain=(USER, AT + at, AT + 9 * at))
        for at in range(1, 11)
    ]
    records = [
        enc.comm(SHAPE, 70, 70, b"node"),
        enc.mmap2(SHAPE, Mapped(pid=70, start=AT, path=path)),
        *(enc.sample(SHAPE, one) for one in samples),
    ]
    return Capture(records).file()


@pytest.mark.parametrize("path", [b"//anon", b"[heap]", b"/memfd:doublemapper (deleted)", b""])
def test_code_of_a_jit_without_a_map_is_one_frame_and_a_note(tmp_path: Path, path: bytes) -> None:
    piece = piece_of(tmp_path, capture(path))
    assert named(piece) == [("node", "[anon]")] * 10
    assert any("100% of its samples are in code that a JIT made" in n for n in piece.facts.notes)


def test_with_its_map_there_is_nothing_to_say(tmp_path: Path) -> None:
    path = Path(made.write(tmp_path / "perf-70.map", f"{AT:x} 1000 fib\n"))
    piece = piece_of(tmp_path, capture(b"//anon"), perf_maps=(path,))
    assert named(piece) == [("node", "fib", "fib")] * 10
    assert not any("JIT" in one for one in piece.facts.notes)


def test_a_file_keeps_its_places(tmp_path: Path) -> None:
    names = named(piece_of(tmp_path, capture(b"/opt/node")))
    assert names[0] == ("node", "node+0x8", "node+0x1")
    assert len(set(names)) == 10


def test_few_samples_are_not_worth_a_word() -> None:
    assert not note(0, 0)
    assert not note(4, 100)
    assert note(5, 100).startswith("5% of its samples")


@pytest.mark.parametrize("where", ["//anon", "[heap]", "/memfd:doublemapper (deleted)"])
def test_text_of_such_a_capture_says_so_too(tmp_path: Path, where: str) -> None:
    lines = (
        f"node 70/70 [000] 5.{at:06d}: 1000000 cpu-clock:\n"
        f"\t  7f0000{at:02x} [unknown] ({where})\n\n"
        for at in range(10, 20)
    )
    piece = piece_of_text(tmp_path, "".join(lines))
    assert named(piece) == [("node", "[anon]")] * 10
    (said,) = (one for one in piece.facts.notes if "JIT" in one)
    assert said.startswith("100% of its samples")
    assert "in /tmp when `perf script` runs" in said


def test_text_with_names_has_nothing_to_say_of_it(tmp_path: Path) -> None:
    assert not any("JIT" in one for one in piece_of_text(tmp_path, made.script(1.0)).facts.notes)
