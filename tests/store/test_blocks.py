from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.series import MISSING, Block
from exhume.store.blocks import BlockBuilder

Second = dict[str, dict[str, int]]
"""Of each field the instances and their values."""

SECONDS = st.lists(
    st.dictionaries(
        st.sampled_from(["cpu.user", "net.bytes", "self.rss"]),
        st.dictionaries(st.sampled_from(["0", "1", "eth0", ""]), st.integers(0, 99), min_size=1),
    ),
    max_size=12,
)


def built(seconds: list[Second]) -> tuple[Block, ...]:
    builder = BlockBuilder()
    for number, second in enumerate(seconds):
        layout = tuple((field, tuple(values)) for field, values in second.items())
        row = np.array([v for values in second.values() for v in values.values()], np.int64)
        builder.add(100 + number, layout, row)
    return builder.finish()


@given(SECONDS)
@settings(deadline=None, max_examples=100)
def test_every_reading_is_in_the_block_of_its_field_and_nothing_else_is(
    seconds: list[Second],
) -> None:
    found = {block.field: block for block in built(seconds)}
    assert set(found) == {field for second in seconds for field in second}
    for field, block in found.items():
        ticks = [100 + n for n, second in enumerate(seconds) if field in second]
        assert block.tick_ns.tolist() == ticks
        assert block.values.shape == (len(ticks), len(block.instances))
        assert len(set(block.instances)) == len(block.instances)
        for tick, row in zip(ticks, block.values.tolist(), strict=True):
            read = {
                name: value
                for name, value in zip(block.instances, row, strict=True)
                if value != MISSING
            }
            assert read == seconds[tick - 100][field]


def test_fields_and_instances_come_in_the_order_they_are_first_seen() -> None:
    first: Second = {"b": {"1": 1, "0": 2}, "a": {"": 3}}
    later: Second = {"a": {"": 4}, "c": {"": 5}, "b": {"2": 6, "1": 7}}
    blocks = built([first, later])
    assert [block.field for block in blocks] == ["b", "a", "c"]
    assert blocks[0].instances == ("1", "0", "2")
    assert blocks[0].values.tolist() == [[1, 2, MISSING], [7, MISSING, 6]]


def test_seconds_that_differ_in_turn_stay_in_order_of_time() -> None:
    """Every tenth second has the slow sources too."""
    seconds: list[Second] = [
        {"fast": {"": n}} if n % 10 else {"fast": {"": n}, "slow": {"": n}} for n in range(40)
    ]
    fast, slow = built(seconds)
    assert fast.values[:, 0].tolist() == list(range(40))
    assert fast.tick_ns.tolist() == list(range(100, 140))
    assert slow.values[:, 0].tolist() == [0, 10, 20, 30]
