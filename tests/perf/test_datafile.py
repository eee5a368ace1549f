from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume.perf.datafile as datafile
from exhume.errors import ParseError
from exhume.perf.datafile import PerfData, Share
from exhume.perf.records import comms
from tests.perf import datafile_encoder as made
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture, Event
from tests.perf.records_encoder import Bit, Sample, Shape, Who

FEATURES = {
    made.HOSTNAME: made.string("gpu-node-54"),
    made.OSRELEASE: made.string("5.4.0-1146-aws"),
    made.ARCH: made.string("x86_64"),
    made.NRCPUS: struct.pack("<II", 4, 2),
    made.CMDLINE: made.command("perf", "record", "-a"),
    made.BUILD_ID: made.build_id("/bin/a", b"\1" * 20) + made.build_id("/bin/b", b"\2" * 8),
    made.SAMPLE_TIME: enc.words(7, 9),
    made.CLOCK_DATA: made.clock_data(1, 2_000, 500),
}


def opened(data: bytes) -> PerfData:
    return PerfData(lambda: io.BytesIO(data), "perf.data")


def samples(
    count: int, shape: Shape = SHAPE, *, id_: int = 0, tid: int | None = None
) -> list[bytes]:
    """Threads from 6 on, or all the same."""
    return [
        enc.sample(
            shape, Sample(id=id_, ip=1, pid=5, tid=6 + i if tid is None else tid, time=1000 + i)
        )
        for i in range(count)
    ]


def tids(data: PerfData) -> list[int]:
    return [tid for walked in data.walks() for tid in walked.samples.tid.tolist()]


@pytest.mark.parametrize("form", ["file", "pipe", "injected"])
def test_header_events_and_samples_of_files_and_pipes_read_back(form: str) -> None:
    capture = Capture(samples(3), features=FEATURES)
    data = opened(getattr(capture, form)())
    assert tids(data) == [6, 7, 8]
    assert data.is_pipe == (form == "pipe")
    found = data.features
    assert (found.hostname, found.release, found.architecture) == (
        "gpu-node-54", "5.4.0-1146-aws", "x86_64",
    )  # fmt: skip
    assert found.cores == 2
    assert found.command == ("perf", "record", "-a")
    assert found.build_ids == {"/bin/a": b"\1" * 20, "/bin/b": b"\2" * 8}
    assert found.sample_time == (7, 9)
    assert found.clock is not None
    assert (found.clock.wall_ns, found.clock.clock_ns) == (2_000, 500)
    assert [event.name for event in data.events] == ["cpu-clock"]
    assert data.problems == []


def test_events_that_come_last_are_told_apart_and_missed_where_they_are_cut_off() -> None:
    shapes = [Shape(made.BITS | Bit.IDENTIFIER), Shape(made.BITS | Bit.IDENTIFIER | Bit.ADDR)]
    events = [Event(shape, config=2 * i, ids=(7 + i,)) for i, shape in enumerate(shapes)]
    records = [*samples(2, shapes[0], id_=7), *samples(3, shapes[1], id_=8)]
    whole = Capture(records, events, FEATURES).injected()
    data = opened(whole)
    assert [one for walked in data.walks() for one in walked.samples.event.tolist()] == [
        0,
        0,
        1,
        1,
        1,
    ]
    assert [event.ids for event in data.events] == [(7,), (8,)]
    for cut in (len(whole) - 1, len(whole) - 400, 150):
        with pytest.raises(ParseError, match="a description of an event"):
            opened(whole[:cut])


@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120, 128, 136, 200])
def test_attributes_of_every_age_are_understood(size: int) -> None:
    assert tids(opened(Capture(samples(2), [Event(attr_bytes=size)]).file())) == [6, 7]
    assert tids(opened(Capture(samples(2), [Event(attr_bytes=size)]).pipe())) == [6, 7]


@pytest.mark.parametrize("bit", [Bit.IDENTIFIER, Bit.ID])
@pytest.mark.parametrize("form", ["file", "pipe"])
def test_samples_of_several_events_are_told_apart(bit: Bit, form: str) -> None:
    shape = Shape(made.BITS | bit)
    events = [
        Event(shape, type=0, config=0, ids=(10, 11)),
        Event(shape, type=0, config=1, ids=(20, 21)),
    ]
    records = [*samples(2, shape, id_=11), *samples(3, shape, id_=20)]
    capture = Capture(records, events)
    data = opened(capture.file() if form == "file" else capture.pipe())
    found = np.concatenate([walked.samples.event for walked in data.walks()])
    assert found.tolist() == [0, 0, 1, 1, 1]
    assert [event.name for event in data.events] == ["cycles", "instructions"]


def test_the_trailer_is_read_by_the_layout_of_its_own_event() -> None:
    small = Shape(int(Bit.IDENTIFIER | Bit.TID | Bit.TIME))
    large = Shape(int(Bit.IDENTIFIER | Bit.TID | Bit.TIME | Bit.CPU | Bit.STREAM_ID))
    records = [
        enc.comm(small, 1, 1, b"a", Who(time=77, id=1)),
        enc.comm(large, 2, 2, b"b", Who(time=88, id=2, cpu=3)),
    ]
    data = opened(Capture(records, [Event(small, ids=(1,)), Event(large, ids=(2,))]).file())
    (walked,) = data.walks()
    assert walked.records.time.tolist() == [77, 88]


def test_events_are_called_what_perf_record_was_told() -> None:
    events = [Event(ids=(1,)), Event(config=9, ids=(2,))]
    named = made.event_names([("cpu-clock:u", events[0]), ("dummy:HG", events[1])])
    capture = Capture(samples(1), events, {made.EVENT_DESC: named})
    assert [e.name for e in opened(capture.file()).events] == ["cpu-clock:u", "dummy:HG"]


def test_an_event_update_of_a_pipe_renames_its_event() -> None:
    update = enc.record(78, 0, enc.words(2, 7) + b"cycles:ppp\0\0\0\0\0\0")
    data = opened(Capture([update, *samples(1)], [Event(ids=(7,))]).pipe())
    assert tids(data) == [6]
    assert data.events[0].name == "cycles:ppp"


@pytest.mark.parametrize("kind", [81, 83])
@pytest.mark.parametrize("portions", [1, 3, 50])
@pytest.mark.parametrize("form", ["file", "pipe"])
def test_compressed_records_may_be_cut_anywhere(kind: int, portions: int, form: str) -> None:
    inside = made.compressed(b"".join(samples(40)), portions, kind=kind)
    capture = Capture([*samples(1, tid=1), *inside, made.FINISHED_ROUND, *samples(1, tid=2)])
    data = opened(capture.file() if form == "file" else capture.pipe())
    assert tids(data) == [1, *range(6, 46), 2]
    assert data.problems == []


def test_a_record_may_be_longer_than_what_we_know_of_it() -> None:
    longer = [enc.record(9, 1, one[8:] + bytes(24)) for one in samples(2)]
    assert tids(opened(Capture([*longer, *samples(1)]).file())) == [6, 7, 6]


def test_payloads_behind_records_are_passed_over() -> None:
    payload = b"\xff" * 4096
    tracing = enc.record(66, 0, struct.pack("<II", len(payload), 0)) + payload
    aux = enc.record(71, 0, enc.words(len(payload), 0, 0, 0, 0)) + payload
    records = [tracing, *samples(1, tid=1), aux, *samples(1, tid=2)]
    for data in (Capture(records).pipe(), Capture(records).file()):
        assert tids(opened(data)) == [1, 2]


@pytest.mark.parametrize("payload", [bytes(300_000), b"".join(samples(3000, tid=99))])
def test_a_payload_larger_than_the_buffer_is_passed_over(
    payload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 1 << 10)
    aux = enc.record(71, 0, enc.words(len(payload), 0, 0, 0, 0)) + payload
    assert tids(opened(Capture([aux, *samples(2)]).file())) == [6, 7]


def test_features_of_a_pipe_need_no_size_that_is_a_multiple_of_8() -> None:
    capture = Capture(samples(2), features={made.HOSTNAME: struct.pack("<I", 3) + b"vm\0"})
    data = opened(capture.pipe())
    assert tids(data) == [6, 7]
    assert data.features.hostname == "vm"


def test_a_file_that_is_still_being_written_is_read_up_to_its_end() -> None:
    data = opened(Capture(samples(3), features=FEATURES).file(is_closed=False))
    assert tids(data) == [6, 7, 8]
    assert "not closed" in data.problems[0]


def test_what_perf_says_at_its_end_is_no_record() -> None:
    talk = b"[ perf record: Woken up 1 times to write data ]\n"
    data = opened(Capture(samples(2)).pipe() + talk)
    assert tids(data) == [6, 7]
    assert data.problems == []


def test_the_other_byte_order_is_named() -> None:
    with pytest.raises(ParseError, match="byte order") as caught:
        opened(b"2ELIFREP" + bytes(96))
    assert "perf script" in caught.value.todo


@pytest.mark.parametrize("data", [b"", b"PERF", b"PERFILE2", b"ELF" * 40, b"PERFILE2" + bytes(96)])
def test_what_is_no_perf_data_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ParseError, match=r"perf\.data, offset"):
        opened(data)


def test_a_record_without_a_size_ends_the_reading_and_tells_where() -> None:
    good = b"".join(samples(2))
    data = opened(Capture([good, bytes(64)]).file())
    assert tids(data) == [6, 7]
    begin = len(Capture([]).file())
    assert f"offset {begin + len(good)}" in data.problems[0]


@pytest.mark.parametrize(
    ("behind", "told"),
    [
        (Capture(samples(2)).pipe(), "another capture begins here"),
        (b"\x01\x02\x03\x04\x00\x00\x20\x00" + bytes(24), "found 01 02 03 04"),
    ],
)
def test_what_is_no_record_by_its_type_ends_the_reading_and_tells_where(
    behind: bytes, told: str
) -> None:
    first = Capture(samples(2)).pipe()
    data = opened(first + behind)
    assert tids(data) == [6, 7]
    (problem,) = data.problems
    assert problem.startswith(f"offset {len(first)}: ")
    assert told in problem


def test_samples_whose_lengths_do_not_add_up_are_counted_and_passed_over() -> None:
    broken = enc.record(9, 1, bytes(24))
    data = opened(Capture([*samples(1), broken, *samples(1)]).file())
    walks = list(data.walks())
    assert [len(walked.samples) for walked in walks] == [2]
    assert [walked.bad for walked in walks] == [1]


def everything() -> Sequence[bytes]:
    return [
        *samples(3),
        enc.comm(SHAPE, 5, 5, b"name", Who(time=1)),
        made.old_mmap(SHAPE, 5, 0x1000, 0x1000, 0, b"/bin/true"),
        enc.mmap2(SHAPE, enc.Mapped()),
        *made.compressed(b"".join(samples(4)), 2),
        made.FINISHED_ROUND,
        enc.fork(SHAPE, (5, 4, 5, 4), 9),
        enc.lost(SHAPE, 12),
        *samples(2),
    ]


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_cut_at_every_record_the_rest_reads_as_a_prefix(form: str) -> None:
    capture = Capture(everything(), features=FEATURES)
    whole = capture.file() if form == "file" else capture.pipe()
    expected = tids(opened(whole))
    empty = Capture([], features=FEATURES)
    at = len(empty.pipe()) if form == "pipe" else len(Capture([]).file())
    for record in [b"", *capture.records]:
        at += len(record)
        for cut in (at, at + 3, at + 9):
            found = tids(opened(whole[:cut]))
            assert found == expected[: len(found)]
    assert len(expected) == 9


def test_cut_in_what_stands_behind_the_data_it_says_once_what_is_not_known() -> None:
    whole = Capture(samples(3), features=FEATURES).file()
    told = set()
    for cut in range(len(Capture(samples(3)).file()), len(whole)):
        data = opened(whole[:cut])
        assert tids(data) == [6, 7, 8]
        (problem,) = data.problems
        assert problem.startswith("what stands behind its data is cut off")
        assert ("which machine" in problem) == (not data.features.hostname)
        assert ("what its clock means" in problem) == (data.features.clock is None)
        told.add(problem)
    assert len(told) == 3


@pytest.mark.parametrize("never", [(1 << 63, 500), (2_000, 1 << 62)])
def test_a_clock_that_was_never_read_tells_nothing(never: tuple[int, int]) -> None:
    features = FEATURES | {made.CLOCK_DATA: made.clock_data(1, *never)}
    data = opened(Capture(samples(3), features=features).file())
    assert tids(data) == [6, 7, 8]
    assert data.features.clock is None
    assert "section 29 of the header is cut off or damaged" in data.problems


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_no_damage_makes_the_reader_fail_or_hang(data: st.DataObject) -> None:
    capture = Capture(everything(), features=FEATURES)
    whole = bytearray(data.draw(st.sampled_from([capture.file(), capture.pipe()])))
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.sampled_from([0, 1, 8, 64, 66, 71, 80, 81, 127, 255]))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        found = opened(bytes(whole[: cut or len(whole)]))
        total = sum(len(walked.samples) for walked in found.walks())
    except ParseError:
        return
    assert total <= len(whole)


@given(st.binary(max_size=400))
@settings(deadline=None)
def test_any_bytes_behind_a_pipes_header_are_harmless(data: bytes) -> None:
    for head in (b"", Capture(samples(1)).pipe()[16:]):
        whole = struct.pack("<8sQ", b"PERFILE2", 16) + head + data
        with suppress(ParseError):
            list(opened(whole).walks())


@given(
    st.integers(0, 60),
    st.integers(1, 5),
    st.sampled_from([400, 3000, 1 << 20]),
    st.sampled_from([300, 1 << 18]),
    st.booleans(),
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_shares_have_each_sample_once_and_are_told_all_that_may_concern_them(
    monkeypatch: pytest.MonkeyPatch,
    rounds: int,
    of: int,
    chunk_bytes: int,
    step_bytes: int,
    is_cut_off: bool,
) -> None:
    monkeypatch.setattr(datafile, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(datafile, "STEP_BYTES", step_bytes)
    records: list[bytes] = []
    for number in range(rounds):
        records.append(enc.comm(SHAPE, number, number, b"x", Who(time=number)))
        records += samples(1 + number % 3, tid=number)
        records.append(made.FINISHED_ROUND)
    whole = Capture(records, features=FEATURES).file()
    whole = whole[: len(whole) - 300] if is_cut_off and rounds > 10 else whole
    expected = tids(opened(whole))
    found = []
    for number in range(of):
        own, told = [], []
        for walked in opened(whole).walks(Share(number, of)):
            own += walked.samples.tid.tolist()
            told += comms(walked.records).pid.tolist()
        # Names of the round after the last sample may be older than it; later ones are not.
        needed = own[-1] + 2 if own and number < of - 1 else 0
        assert told == list(range(len(told)))
        assert len(told) >= min(needed, expected[-1] + 1 if expected else 0)
        if number == of - 1:
            assert len(told) == len(comms_of(whole))
        found += own
    assert found == expected


def comms_of(whole: bytes) -> list[int]:
    return [pid for walked in opened(whole).walks() for pid in comms(walked.records).pid.tolist()]


def test_shares_take_less_the_more_they_have_to_pass_over() -> None:
    cuts = (100, *Share(0, 4).cuts(100, 4100), 4100)
    sizes = [end - begin for begin, end in pairwise(cuts)]
    assert sizes == sorted(sizes, reverse=True)
    assert Share().cuts(100, 4100) == ()
    for small in range(8):
        assert list(Share(0, 4).cuts(0, small)) == sorted(Share(0, 4).cuts(0, small))


def test_only_what_every_share_can_read_is_shared() -> None:
    plain = Capture(samples(3))
    records = sum(map(len, plain.records))
    assert opened(plain.file()).data_bytes == records
    assert opened(plain.pipe()).data_bytes is None
    assert opened(Capture(samples(3), features={27: enc.words(0, 0)}).file()).data_bytes is None
    timeless = Shape(made.BITS & ~Bit.TIME)
    assert opened(Capture([], [Event(timeless)]).file()).data_bytes is None
