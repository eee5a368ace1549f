"""Events of one capture whose samples do not say of which they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.ingest.mixed_events import note, refused
from exhume.perf.datafeatures import attr_of
from exhume.perf.datafile import PerfEvent
from tests.ingest.made import NS, do_import, write
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Bit, Sample, Shape

B = encoder.BITS
FAULTS, DUMMY = 2, 9


def event(bits: int, *ids: int, config: int = 0, name: str = "cpu-clock") -> PerfEvent:
    made = encoder.Event(Shape(bits), config=config)
    return PerfEvent(name, attr_of(made.attr()), ids)


@pytest.mark.parametrize(
    ("first", "second", "is_noted", "is_refused"),
    [
        ((B | Bit.IDENTIFIER, 1), (B | Bit.IDENTIFIER | Bit.ADDR, 2), False, False),
        ((B | Bit.ID, 1), (B | Bit.ID | Bit.RAW, 2), False, False),
        ((B, 1), (B, 2), True, False),
        ((B | Bit.ID,), (B | Bit.ID,), True, False),
        ((B, 1), (B | Bit.ADDR, 2), True, True),
        ((B | Bit.ID, 1), (B | Bit.ID | Bit.ADDR, 2), True, True),
        ((B | Bit.IDENTIFIER, 1), (B | Bit.ID, 2), True, True),
    ],
)
def test_samples_are_told_apart_by_an_id_at_one_place(
    first: tuple[int, ...], second: tuple[int, ...], is_noted: bool, is_refused: bool
) -> None:
    events = [event(*first), event(*second, config=FAULTS, name="page-faults")]
    assert (note(events) != "", refused("x.data", events) is not None) == (is_noted, is_refused)


def test_one_event_and_those_without_samples_need_no_id() -> None:
    listener = event(B | Bit.ADDR, config=DUMMY, name="dummy:u")
    for events in ([], [event(B)], [event(B), listener]):
        assert note(events) == ""
        assert refused("x.data", events) is None


@pytest.mark.parametrize("other", [B, B | Bit.ADDR])
@pytest.mark.parametrize("form", ["file", "pipe"])
def test_of_events_that_nothing_tells_apart_it_is_said_or_none_is_read(
    other: int, form: str, tmp_path: Path
) -> None:
    shapes = [Shape(B), Shape(other)]
    events = [encoder.Event(shape, config=FAULTS * i) for i, shape in enumerate(shapes)]
    records = [
        enc.sample(shape, Sample(pid=9, tid=9, time=5 * NS + i * 10**7))
        for i in range(50)
        for shape in shapes
    ]
    capture = encoder.Capture(records, events)
    path = write(tmp_path / "x.data", capture.file() if form == "file" else capture.pipe())
    (one,) = do_import(tmp_path / "out", path).inputs
    if other == B:
        assert (one.state, one.kept) == ("imported", 100)
        assert "events they are (cpu-clock, page-faults): all count as cpu-clock" in one.notes[-1]
    else:
        assert one.state == "failed"
        assert "expected samples that say of which they are" in one.problems[0]
        assert "--sample-identifier" in one.problems[0]
