"""Several buffers, walked one by one into one walk."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.arrays import U8
from exhume.perf.native import Gathering, Walked, Walker, count
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import KERNEL, Mapped, Sample, Shape, Who
from tests.perf.test_native import CHAINS, SAMPLES, SHAPES, check_samples


def gathered(shape: Shape, buffers: Sequence[U8], *, with_samples: bool = True) -> list[Walked]:
    """As many walks as it takes; what is in the buffers is changed as soon as it was added."""
    walker, found = Walker([shape.layout()]), []
    held: Gathering | None = None
    for buffer in buffers:
        copy, bounds = buffer.copy(), count(buffer)
        if held is not None and not held.has_room(bounds):
            found.append(held.walked())
            held = None
        held = held or Gathering(walker, bounds, 3)
        held.add(copy, with_samples=with_samples)
        copy[:] = 0xFF
    return [*found, held.walked()] if held else found


@given(SHAPES, st.lists(st.lists(SAMPLES, max_size=12), min_size=1, max_size=8), st.booleans())
@settings(deadline=None, max_examples=60)
def test_buffers_walked_one_by_one_hold_what_they_hold_together(
    shape: Shape, parts: list[list[Sample]], with_samples: bool
) -> None:
    others = [
        enc.comm(shape, 1, 2, b"a name", Who(time=1)),
        enc.mmap2(shape, Mapped(path=b"/usr/lib/libc.so.6", build_id=b"\7" * 20), Who(time=2)),
        enc.lost(shape, 1, Who(cpu=1)),
    ]
    buffers = [enc.as_array(*(enc.sample(shape, s) for s in part), *others) for part in parts]
    walks = gathered(shape, buffers, with_samples=with_samples)
    assert len(walks) >= -(-len(parts) // 3)
    samples = [sample for part in parts for sample in part if with_samples]
    for walk in walks:
        own, samples = samples[: len(walk.samples)], samples[len(walk.samples) :]
        check_samples([shape] * len(own), [walk], own)
    assert samples == []
    assert sum(walk.consumed for walk in walks) == sum(map(len, buffers))
    told = [
        walk.records.buffer[at : at + size].tobytes()
        for walk in walks
        for at, size in zip(walk.records.offset.tolist(), walk.records.size.tolist(), strict=True)
    ]
    assert told == others * len(parts)
    alone = Walker([shape.layout()]).walk(enc.as_array(*others)).records
    for name in ("type", "misc", "time", "pid", "tid", "cpu", "file_hash"):
        column = [one for walk in walks for one in getattr(walk.records, name).tolist()]
        assert column == getattr(alone, name).tolist() * len(parts)


def test_what_lies_across_the_end_is_counted_with_what_is_before_it() -> None:
    records = [enc.sample(CHAINS, Sample(chain=(KERNEL, i))) for i in range(4)]
    size = len(records[0])
    buffer = enc.as_array(*records)
    for until in range(1, len(buffer) + 20):
        found = count(buffer, (), until)
        assert found.consumed == min(-(-until // size) * size, len(buffer))
        assert found.samples * size == found.consumed
