from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.perf.asof import UNKNOWN
from exhume.perf.idle import idle_rows, idle_samples
from exhume.perf.naming import RawSamples
from tests.perf.records_encoder import KERNEL
from tests.perf.test_naming import KERNEL_FUNCTIONS, K, k, table_of

TABLE = table_of(KERNEL_FUNCTIONS, K)
IDLE, BUSY = k("do_idle"), k("net_rx_action")


def raw(chains: list[list[int]], pids: list[int]) -> RawSamples:
    """A sample for each chain; an empty one was lost."""
    count = np.array([len(chain) for chain in chains], np.int64)
    size = len(chains)
    return RawSamples(
        time=np.arange(size, dtype=np.int64),
        core=np.zeros(size, np.uint16),
        pid=np.array(pids, np.int32),
        tid=np.array(pids, np.int32),
        stack=np.where(count > 0, np.arange(size), UNKNOWN),
        cgroup=np.full(size, UNKNOWN),
        words=(np.array([word for chain in chains for word in chain], np.uint64),),
        word_start=np.cumsum(count) - count,
        word_count=count,
    )


def test_only_the_idle_task_in_the_idle_loop_is_idle() -> None:
    chains = [[KERNEL, IDLE], [IDLE], [KERNEL, BUSY, IDLE], [KERNEL, IDLE], [], [KERNEL]]
    found = idle_rows(TABLE, raw(chains, [0, 0, 0, 70, 0, 0]))
    assert found.tolist() == [True, True, False, False, False, False]


def test_without_names_nobody_is() -> None:
    assert not idle_rows(None, raw([[KERNEL, IDLE]], [0])).any()
    assert not idle_samples(None, np.array([IDLE], np.uint64), np.zeros(1, np.int32)).any()


@given(st.lists(st.tuples(st.lists(st.sampled_from([KERNEL, IDLE, BUSY, 7]), max_size=4),
                          st.sampled_from([0, 5])), max_size=20))  # fmt: skip
def test_it_is_as_one_by_one(rows: list[tuple[list[int], int]]) -> None:
    found = idle_rows(TABLE, raw([chain for chain, _ in rows], [pid for _, pid in rows]))
    for (chain, pid), is_idle in zip(rows, found.tolist(), strict=True):
        code = chain[1:] if chain[:1] == [KERNEL] else chain
        assert is_idle == (pid == 0 and code[:1] == [IDLE])
