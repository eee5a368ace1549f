from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, field

from exhume.model.sample import Threads
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
from exhume.perf.naming import Namer, RawSamples
from exhume.perf.stack_names import MappedCode
from exhume.perf.symbolize import FrameTable, Symbolizer
from exhume.perf.symbols.table import SymbolTable
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story, told

GUEST_USER = (1 << 64) - 2560
K = 0xFFFF_FFFF_8100_0000
"""Where the kernel's code begins."""
FUNCTION_BYTES = 0x100

KERNEL_FUNCTIONS = (
    "do_syscall_64", "ksys_read", "__do_softirq", "net_rx_action", "asm_common_interrupt",
    "handle_edge_irq", "mem_cgroup_nr_lru_pages", "do_idle",
)  # fmt: skip
USER_FUNCTIONS = ("main", "work", "_ZN4core3fmt5write17h0123456789abcdefE")
JIT_FUNCTIONS = ("LazyCompile:~fib /srv/app.js:12",)

CODE, JIT, NO_TABLE, VSYSCALL = 1, 2, 3, 4
"""Hashes of mapped files."""
FILES = {
    CODE: MappedCode("abc123", "/usr/bin/server"),
    JIT: MappedCode("", "//anon"),
    NO_TABLE: MappedCode("dead", "/opt/lib/stripped.so.1 (deleted)"),
    VSYSCALL: MappedCode("vsyscall", "[vsyscall]"),
}
CODE_AT, JIT_AT, NO_TABLE_AT = 0x40_0000, 0x7F00_0000, 0x5000_0000
VSYSCALL_AT = 0xFFFF_FFFF_FF60_0000
"""In the upper half: the kernel maps it into every process."""


def table_of(names: Sequence[str], at: int) -> SymbolTable:
    """Functions of FUNCTION_BYTES, one right after the other."""
    start = np.array([at + i * FUNCTION_BYTES for i in range(len(names))], np.uint64)
    encoded = [name.encode() for name in names]
    return SymbolTable(
        start=start,
        end=start + np.uint64(FUNCTION_BYTES),
        name_offset=np.cumsum([0, *map(len, encoded)]).astype(np.uint32),
        names=b"".join(encoded),
        module=np.zeros(len(names), np.uint16),
    )


def k(name: str, offset: int = 8) -> int:
    """An address within a kernel function."""
    return K + KERNEL_FUNCTIONS.index(name) * FUNCTION_BYTES + offset


def u(name: str, offset: int = 8) -> int:
    return CODE_AT + USER_FUNCTIONS.index(name) * FUNCTION_BYTES + offset


NODE = Story(
    execs=[(0, 100, 100, "server"), (0, 200, 200, "node")],
    forks=[(10, 101, 100, 101, 100)],
    maps=[
        (1, 100, CODE_AT, 0x1000, CODE),
        (1, 100, NO_TABLE_AT, 0x1000, NO_TABLE),
        (1, 200, JIT_AT, 0x1000, JIT),
        (1, 200, CODE_AT, 0x1000, CODE),
        (1, 100, VSYSCALL_AT, 0x1000, VSYSCALL),
    ],
    cgroups=[(0, 100, 5)],
    parents=[(0, 100, 1)],
)


class Row(Struct):
    stack: int
    pid: int = 100
    tid: int = 0
    time: int = 50
    cgroup: int = UNKNOWN


class Named(Struct):
    """What became of a chunk of samples: by row its path, mode and thread."""

    tree: StackTree
    nodes: list[int]
    threads: Threads
    thread: list[int]
    cgroups: list[int]
    paths: list[list[Frame]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for node in self.nodes:
            path = []
            while node > 0:
                path.append(self.tree.frames[self.tree.frame[node]])
                node = int(self.tree.parent[node])
            self.paths.append(path[::-1])

    def names(self, row: int = 0) -> list[str]:
        return [frame.name for frame in self.paths[row]]

    def mode(self, row: int = 0) -> Mode:
        return Mode(self.tree.mode[self.nodes[row]])


def namer(kernel: SymbolTable | None = None, story: Story = NODE) -> Namer:
    tables: Mapping[str, SymbolTable] = {
        "abc123": table_of(USER_FUNCTIONS, 0),
        "jit-200": table_of(JIT_FUNCTIONS, JIT_AT),
    }
    history = History()
    history.learn(told(story))
    return Namer(history, Symbolizer(FrameTable(), tables.get, kernel), FILES)


WITH_KERNEL = table_of(KERNEL_FUNCTIONS, K)


def raw(chains: Sequence[Sequence[int]], rows: Sequence[Row]) -> RawSamples:
    """An empty chain stands for a stack whose frame was damaged."""
    count = np.array([len(chain) for chain in chains], np.int64)
    start = np.cumsum(count) - count
    start[count == 0] = 0
    return RawSamples(
        time=np.array([row.time for row in rows], np.int64),
        core=np.zeros(len(rows), np.uint16),
        pid=np.array([row.pid for row in rows], np.int32),
        tid=np.array([row.tid or row.pid for row in rows], np.int32),
        stack=np.array([row.stack for row in rows], np.int64),
        cgroup=np.array([row.cgroup for row in rows], np.int64),
        words=(np.array([word for chain in chains for word in chain], np.uint64),),
        word_start=start,
        word_count=count,
    )


def name(
    chains: Sequence[Sequence[int]],
    rows: Sequence[Row],
    kernel: SymbolTable | None = WITH_KERNEL,
    story: Story = NODE,
) -> Named:
    by = namer(kernel, story)
    threads, nodes = by.name(raw(chains, rows))
    tree, renumbered, table, cgroups = by.finish()
    return Named(tree, renumbered[nodes].tolist(), table, threads.tolist(), cgroups.tolist())


def check(chain: Sequence[int], expected: Sequence[str], mode: Mode, pid: int = 100) -> Named:
    """`chain` as the kernel gives it, leaf first; `expected` from the outermost frame on."""
    named = name([chain], [Row(0, pid)])
    assert named.names()[1:] == list(expected)
    assert named.mode() == mode
    return named


# --- frames ------------------------------------------------------------------------------------


def test_a_stack_is_named_from_process_to_leaf_without_its_markers() -> None:
    chain = [KERNEL, k("ksys_read"), k("do_syscall_64"), USER, u("work"), u("main")]
    named = check(chain, ["main", "work", "do_syscall_64", "ksys_read"], Mode.SYSTEM)
    assert named.paths[0] == [
        Frame("server", "", FrameKind.PROCESS),
        Frame("main", "server", FrameKind.USER),
        Frame("work", "server", FrameKind.USER),
        Frame("do_syscall_64", "kernel", FrameKind.KERNEL),
        Frame("ksys_read", "kernel", FrameKind.KERNEL),
    ]


def test_a_return_address_behind_a_functions_end_is_still_the_callers() -> None:
    # work's call of a function that never returns is its last instruction.
    check([USER, u("main"), u("work", FUNCTION_BYTES)], ["work", "main"], Mode.USER)
    check(
        [KERNEL, k("net_rx_action"), k("ksys_read", FUNCTION_BYTES)],
        ["ksys_read", "net_rx_action"],
        Mode.SYSTEM,
    )


def test_a_leaf_at_a_functions_first_byte_is_that_functions() -> None:
    check([USER, u("work", 0), u("main")], ["main", "work"], Mode.USER)
    check([KERNEL, k("ksys_read", 0)], ["ksys_read"], Mode.SYSTEM)
    # Where user code entered the kernel is exact too.
    check(
        [KERNEL, k("ksys_read"), USER, u("work", 0), u("main")],
        ["main", "work", "ksys_read"],
        Mode.SYSTEM,
    )


def test_a_chain_without_markers_is_told_apart_by_its_addresses() -> None:
    check([k("ksys_read", 0), u("work", 0x20)], ["work", "ksys_read"], Mode.SYSTEM)
    check([u("work", 0), u("main")], ["main", "work"], Mode.USER)


def test_a_guests_user_code_is_user_code() -> None:
    check([GUEST_USER, u("work")], ["work"], Mode.USER)


def test_runs_of_garbage_are_folded_to_one_frame() -> None:
    garbage = [0xDEAD, 0xBEEF, 1 << 62]
    check(
        [USER, u("work"), *garbage, u("main"), *garbage],
        ["[unknown]", "main", "[unknown]", "work"],
        Mode.USER,
    )


def test_what_lies_below_every_mapping_is_not_in_the_one_at_the_very_end() -> None:
    check([USER, u("work"), 0x3A], ["[unknown]", "work"], Mode.USER)
    check([USER, VSYSCALL_AT + 0x10], ["[vsyscall]+0x10"], Mode.USER)


def test_garbage_of_one_stack_does_not_run_into_the_next() -> None:
    named = name(
        [[USER, 0xDEAD, u("main")], [USER, 0xBEEF], [USER, u("work"), 1]], [Row(0), Row(1), Row(2)]
    )
    assert [named.names(row)[1:] for row in range(3)] == [
        ["main", "[unknown]"], ["[unknown]"], ["[unknown]", "work"],
    ]  # fmt: skip


def test_code_without_symbols_is_module_and_offset() -> None:
    named = check([USER, NO_TABLE_AT + 0x123], ["stripped.so.1+0x123"], Mode.USER)
    assert named.paths[0][1] == Frame("stripped.so.1+0x123", "stripped.so.1", FrameKind.UNKNOWN)


def test_an_address_behind_the_last_symbol_is_module_and_offset() -> None:
    check([USER, CODE_AT + 0x800], ["server+0x800"], Mode.USER)


def test_names_are_made_readable() -> None:
    check([USER, u(USER_FUNCTIONS[2])], ["core::fmt::write"], Mode.USER)


def test_jit_code_is_named_by_the_map_of_the_process_that_made_it() -> None:
    check([USER, JIT_AT + 5], [JIT_FUNCTIONS[0]], Mode.USER, pid=200)
    # The other process has nothing mapped there.
    check([USER, JIT_AT + 5], ["[unknown]"], Mode.USER, pid=100)


def test_code_of_a_jit_without_a_map_is_one_frame_wherever_it_lies() -> None:
    behind = JIT_AT + 0x900
    check([USER, behind, behind + 9, behind + 99], ["[anon]"], Mode.USER, pid=200)
    here = JIT_AT + 5
    names = ["[anon]", JIT_FUNCTIONS[0], "[anon]"]
    check([USER, behind, here + 1, behind + 9], names, Mode.USER, pid=200)


def test_a_child_is_named_by_what_its_parent_had_mapped() -> None:
    named = check([USER, u("work")], ["work"], Mode.USER, pid=101)
    assert named.names()[0] == "server"


def test_one_stack_in_two_processes_gets_the_names_of_each() -> None:
    named = name([[USER, NO_TABLE_AT + 9]], [Row(0, 100), Row(0, 200)])
    assert named.names(0) == ["server", "stripped.so.1+0x9"]
    assert named.names(1) == ["node", "[unknown]"]


# --- modes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("functions", "mode"),
    [
        (["do_syscall_64", "ksys_read"], Mode.SYSTEM),
        (["do_syscall_64", "__do_softirq", "net_rx_action"], Mode.SOFTIRQ),
        (["do_syscall_64", "asm_common_interrupt", "handle_edge_irq"], Mode.IRQ),
        # A softirq runs on the way out of an interrupt; an interrupt may hit a softirq.
        (["asm_common_interrupt", "__do_softirq", "net_rx_action"], Mode.SOFTIRQ),
        (["__do_softirq", "net_rx_action", "asm_common_interrupt"], Mode.IRQ),
        (["__do_softirq", "asm_common_interrupt", "__do_softirq", "net_rx_action"], Mode.SOFTIRQ),
    ],
)
def test_the_innermost_telling_frame_decides_the_mode(functions: list[str], mode: Mode) -> None:
    chain = [KERNEL, *(k(function) for function in reversed(functions)), USER, u("main")]
    check(chain, ["main", *functions], mode)


def test_user_code_is_user_time_whatever_lies_below() -> None:
    # The user part comes last in memory, but only the innermost word says where the core was.
    check([USER, u("work"), u("main")], ["main", "work"], Mode.USER)


def test_interrupt_work_on_an_idle_core_is_the_swappers() -> None:
    chain = [KERNEL, k("net_rx_action"), k("__do_softirq"), k("asm_common_interrupt"), k("do_idle")]
    named = name([chain], [Row(0, pid=0)])
    assert named.names() == [
        "swapper", "do_idle", "asm_common_interrupt", "__do_softirq", "net_rx_action",
    ]  # fmt: skip
    assert named.mode() == Mode.SOFTIRQ
    assert named.threads.comm == ("swapper",)


def test_without_kernel_symbols_system_time_is_still_system_time() -> None:
    chains = [
        [KERNEL, k("ksys_read"), k("do_syscall_64"), USER, 0xDEAD],
        [USER, 0xDEAD],
        [KERNEL, k("ksys_read"), USER, u("main")],
        [KERNEL, k("ksys_read")],
    ]
    named = name(chains, [Row(i) for i in range(4)], kernel=None)
    assert [named.mode(i) for i in range(4)] == [Mode.SYSTEM, Mode.USER, Mode.SYSTEM, Mode.SYSTEM]
    assert named.names(0)[1:] == ["[unknown]", "[unknown]"]
    assert [frame.module for frame in named.paths[0]][1:] == ["", "kernel"]
    assert named.names(2)[1:] == ["main", "[unknown]"]


# --- stacks that are not there -----------------------------------------------------------------


def test_a_lost_stack_is_said_to_be_lost_and_the_others_are_right() -> None:
    first = [KERNEL, k("ksys_read"), USER, u("work")]
    chains = [first, [], [], [USER, u("main")], []]
    rows = [Row(0), Row(UNKNOWN), Row(3), Row(0, pid=101), Row(UNKNOWN)]
    named = name(chains, rows)
    assert [named.names(i)[1:] for i in range(5)] == [
        ["work", "ksys_read"], ["[stack lost]"], ["main"], ["work", "ksys_read"], ["[stack lost]"],
    ]  # fmt: skip


def test_no_stack_at_all_and_no_sample_at_all_are_no_trouble() -> None:
    named = name([], [Row(UNKNOWN)])
    assert named.names() == ["server", "[stack lost]"]
    nobody = name([], [])
    assert (nobody.nodes, len(nobody.threads), nobody.tree.parent.tolist()) == ([], 0, [-1])


# --- threads -----------------------------------------------------------------------------------


def test_a_thread_is_told_by_pid_tid_name_and_cgroup() -> None:
    rows = [
        Row(UNKNOWN, 100),
        Row(UNKNOWN, 100),
        Row(UNKNOWN, 100, tid=150),
        Row(UNKNOWN, 100, cgroup=9),
        Row(UNKNOWN, 101),
        Row(UNKNOWN, 999, tid=998),
        Row(UNKNOWN, -1),
    ]
    named = name([], rows)
    table = named.threads
    assert named.thread[0] == named.thread[1]
    assert len(table) == 6
    told_of = [
        (
            int(table.pid[i]), int(table.tid[i]), table.comm[i], named.cgroups[i],
            int(table.parent_pid[i]),
        )
        for i in named.thread[1:]
    ]  # fmt: skip
    assert told_of == [
        (100, 100, "server", 5, 1),
        (100, 150, "server", 5, 1),  # nobody named it: as its process is called
        (100, 100, "server", 9, 1),
        (101, 101, "server", 5, 100),
        (999, 998, ":998", UNKNOWN, UNKNOWN),
        (-1, -1, ":-1", UNKNOWN, UNKNOWN),
    ]


def test_what_one_chunk_named_the_next_one_finds_again() -> None:
    by = namer(WITH_KERNEL)
    chain = [USER, u("work"), u("main")]
    first_threads, first = by.name(raw([chain], [Row(0)]))
    second_threads, second = by.name(raw([[USER, u("main")], chain], [Row(1), Row(0)]))
    assert first.tolist() == second.tolist()[:1]
    assert set(first_threads.tolist()) == set(second_threads.tolist())
    tree, renumbered, _, _ = by.finish()
    assert tree.parent[renumbered[second[0]]] == renumbered[second[1]]


# --- distinct rows -----------------------------------------------------------------------------

WIDE = st.integers(-(1 << 40), 1 << 40)


@given(
    st.lists(
        st.tuples(st.integers(-2, 2), WIDE, st.sampled_from([0, 1 << 40]), st.integers(0, 1)),
        max_size=20,
    )
)
@settings(deadline=None, max_examples=100)
def test_distinct_rows_are_those_of_a_set_even_if_they_do_not_fit_one_number(
    rows: list[tuple[int, int, int, int]],
) -> None:
    columns = list(np.array(rows, np.int64).reshape(-1, 4).T)
    first, inverse = distinct_rows(*columns)
    assert sorted(rows[i] for i in first) == sorted(set(rows))
    assert [rows[first[i]] for i in inverse] == rows
    assert all(rows.index(rows[i]) == i for i in first)
