from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf.symbols.names import MAX_NAME_BYTES, gather, kallsyms_lines, name_ends

NAME = st.text(st.characters(codec="ascii", exclude_characters="\n\t"), min_size=1, max_size=12)
LINE = st.tuples(
    st.integers(0, 2**64 - 1), st.sampled_from("tTwWdDbr"), NAME, st.sampled_from(["", "a", "bpf"])
)


@given(st.lists(LINE, min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_lines_come_back_as_they_were_written(rows: list[tuple[int, str, str, str]]) -> None:
    text = "".join(
        f"{address:016x} {kind} {name}" + (f"\t[{module}]" if module else "") + "\n"
        for address, kind, name, module in rows
    ).encode()
    lines = kallsyms_lines(text, 16)
    assert not isinstance(lines, int)
    assert lines.address.tolist() == [address for address, *_ in rows]
    assert bytes(lines.kind).decode() == "".join(kind for _, kind, *_ in rows)
    run, before = 0, ""
    for row, (_, kind, name, module) in enumerate(rows):
        is_code = kind in "tTwW"
        if is_code:
            run, before = run + (module != before), module
            assert text[lines.name[row] : lines.name_end[row]] == name.encode()
        assert lines.run[row] == run
        assert text[lines.line_end[row]] == ord("\n")


@given(st.binary(max_size=200), st.sampled_from([8, 16]))
@settings(max_examples=80, deadline=None)
def test_any_text_is_lines_or_a_line_that_is_wrong(data: bytes, digits: int) -> None:
    text = data + b"\n"
    found = kallsyms_lines(text, digits)
    if isinstance(found, int):
        assert 1 <= found <= text.count(b"\n")
    else:
        assert len(found.address) == text.count(b"\n")
        assert found.name_end.max() < len(text)


def test_a_last_line_without_an_end_is_refused_and_not_read_behind() -> None:
    assert kallsyms_lines(b"ffffffff81000000 T a\nffffffff81000010 T b", 16) == 2


@given(st.lists(st.binary(max_size=9), max_size=20), st.randoms())
@settings(max_examples=40, deadline=None)
def test_names_are_gathered_in_any_order(
    names: list[bytes],
    random: np.random.RandomState,  # hypothesis' own, which has a shuffle too
) -> None:
    order = list(range(len(names)))
    random.shuffle(order)
    size = np.array([len(name) for name in names], np.int64)
    begin = np.cumsum(size) - size
    picked = np.array(order, np.int64)
    to = np.cumsum(size[picked]) - size[picked]
    out = np.empty(int(size.sum()), np.uint8)
    gather(b"".join(names), begin[picked], size[picked], to, out)
    assert out.tobytes() == b"".join(names[one] for one in order)


@pytest.mark.parametrize(
    ("begin", "size", "to"), [(-1, 1, 0), (3, 2, 0), (0, -1, 0), (0, 2, 3), (0, 1, -1), (9, 9, 9)]
)  # fmt: skip
def test_a_name_outside_of_its_blob_is_refused(begin: int, size: int, to: int) -> None:
    ones = np.array([[begin], [size], [to]], np.int64)
    with pytest.raises(ValueError, match="not in the blob"):
        gather(b"abcd", ones[0], ones[1], ones[2], np.zeros(4, np.uint8))


@given(st.binary(max_size=60), st.lists(st.integers(-5, 70), max_size=10))
@settings(max_examples=60, deadline=None)
def test_a_name_ends_at_its_nul_or_with_the_blob(blob: bytes, starts: list[int]) -> None:
    ends = name_ends(blob, np.array(starts, np.int64)).tolist()
    for start, end in zip(starts, ends, strict=True):
        nul = blob.find(b"\0", start) if 0 <= start < len(blob) else -1
        assert end == (nul if nul >= 0 else len(blob))


def test_names_without_an_end_take_no_longer_than_names_may() -> None:
    blob, starts = b"x" * (8 << 20), np.zeros(20_000, np.int64)
    began = time.process_time()
    ends = name_ends(blob, starts)
    assert time.process_time() - began < 2, "all of it for each would be 160 GB"
    assert set(ends.tolist()) == {MAX_NAME_BYTES}
