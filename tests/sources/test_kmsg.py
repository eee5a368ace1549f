"""/dev/kmsg."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import kmsg
from exhume.sources.kmsg import KmsgReader
from tests.sources.garble import garbled, survives

LINE = (
    b"4,1234,5678901,-;ena 0000:00:05.0 eth0: TX q 5 is paused\n SUBSYSTEM=pci\n DEVICE=+pci:0000\n"
)


def test_a_record_has_level_facility_sequence_time_text_and_fields() -> None:
    record = kmsg.parse(LINE)
    assert (record.level, record.facility, record.sequence) == (4, 0, 1234)
    assert record.kernel_log_ns == 5_678_901_000
    assert record.text == "ena 0000:00:05.0 eth0: TX q 5 is paused"
    assert record.fields == {"SUBSYSTEM": "pci", "DEVICE": "+pci:0000"}


def test_a_user_space_line_has_facility_one_whatever_it_claims() -> None:
    record = kmsg.parse(b"12,575,2709478260,-;<0>Kernel panic\n")
    assert (record.facility, record.level) == (1, 4)


def test_what_the_kernel_escaped_is_put_back() -> None:
    assert kmsg.parse(rb"6,1,2,-;a\x0ab \xc3\xa4 \x5cx41 \xzz" + b"\n").text == "a\nb ä \\x41 \\xzz"


def test_a_semicolon_in_the_text_and_new_header_columns_do_no_harm() -> None:
    assert kmsg.parse(b"6,1,2,-,caller=T1;a;b\n").text == "a;b"


@pytest.mark.parametrize("data", [b"", b"no record", b"6,1;x", b"a,b,c;x", b"6,1,-2,-;x"])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="dev/kmsg"):
        kmsg.parse(data)


@given(garbled(LINE))
def test_garbage_is_a_parse_error_or_well_formed(data: bytes) -> None:
    survives(kmsg.parse, data)


class FakeDevice:
    """One record a read, as the device does; an error number is raised."""

    def __init__(self, records: list[bytes | int]) -> None:
        self.records = records

    def read(self, fd: int, size: int) -> bytes:
        if not self.records:
            raise BlockingIOError
        record = self.records.pop(0)
        if isinstance(record, int):
            raise OSError(record, os.strerror(record))
        return record


def _reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: list[bytes | int], **options: int
) -> KmsgReader:
    (tmp_path / "kmsg").touch()
    monkeypatch.setattr(os, "read", FakeDevice(records).read)
    return KmsgReader(Host(dev=tmp_path), **options)  # type: ignore[arg-type]


def _record(sequence: int, priority: int = 4) -> bytes:
    return b"%d,%d,1000,-;line %d\n" % (priority, sequence, sequence)


def test_lines_of_user_space_are_not_believed_without_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records: list[bytes | int] = [_record(1), _record(2, priority=12), _record(3)]
    batch = _reader(tmp_path, monkeypatch, list(records)).read()
    assert batch is not None
    assert [record.sequence for record in batch.records] == [1, 3]
    assert batch.lost == 0, "what is not believed is not lost"
    batch = _reader(tmp_path, monkeypatch, list(records), trust_user=True).read()
    assert batch is not None
    assert [record.sequence for record in batch.records] == [1, 2, 3]


def test_overwritten_records_are_counted_by_the_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = _reader(tmp_path, monkeypatch, [_record(10), errno.EPIPE, _record(15), b"junk"])
    batch = reader.read()
    assert batch is not None
    assert (batch.lost, batch.broken, len(batch.records)) == (4, 1, 2)
    assert not batch.has_more


def test_what_was_stored_before_is_not_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records: list[bytes | int] = [_record(number) for number in range(5, 9)]
    batch = _reader(tmp_path, monkeypatch, records, next_sequence=7).read()
    assert batch is not None
    assert [record.sequence for record in batch.records] == [7, 8]
    assert batch.lost == 0
    batch = _reader(tmp_path, monkeypatch, [_record(30)], next_sequence=7).read()
    assert batch is not None
    assert batch.lost == 23, "overwritten while nobody was there to read"


def test_a_flood_is_read_in_bounded_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = _reader(tmp_path, monkeypatch, [_record(number) for number in range(100)])
    first, second = reader.read(limit=60), reader.read(limit=60)
    assert first is not None
    assert second is not None
    assert (len(first.records), first.has_more) == (60, True)
    assert (len(second.records), second.has_more, second.lost) == (40, False, 0)


def test_no_device_is_none(tmp_path: Path) -> None:
    assert KmsgReader(Host(dev=tmp_path)).read() is None


@pytest.mark.kernel
def test_a_real_line_is_seen_at_once_and_only_with_the_switch() -> None:
    path = Host().kmsg_path()
    if not os.access(path, os.R_OK | os.W_OK):
        pytest.skip("needs read and write access to /dev/kmsg")
    trusting, strict = KmsgReader(Host(), trust_user=True), KmsgReader(Host())
    trusting.read(10**6)
    strict.read(10**6)
    text = f"exhume test {os.getpid()} {time.monotonic_ns()}"
    with open(path, "w") as device:
        device.write(f"<2>{text}\n")
    seen, unseen = trusting.read(), strict.read()
    assert seen is not None
    assert unseen is not None
    assert text in [record.text for record in seen.records]
    assert text not in [record.text for record in unseen.records]
    trusting.close()
    strict.close()


@pytest.mark.kernel
def test_the_real_log_replays_from_boot_in_order() -> None:
    reader = KmsgReader(Host())
    try:
        batch = reader.read(10**6)
    except PermissionError:
        pytest.skip("needs CAP_SYSLOG")
    assert batch is not None
    sequences = [record.sequence for record in batch.records]
    assert sequences == sorted(set(sequences))
    assert batch.broken == 0
    reader.close()
