"""Names of what a process does while it becomes another program."""

from __future__ import annotations

from exhume.perf.history import EXEC_NS
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story
from tests.perf.test_naming import CODE, CODE_AT, NO_TABLE, NO_TABLE_AT, Row, k, name, u

EXEC = Story(
    execs=[(0, 100, 100, "sh"), (40, 100, 100, "true")],
    maps=[(1, 100, CODE_AT, 0x1000, CODE), (41, 100, NO_TABLE_AT, 0x1000, NO_TABLE)],
)


def test_until_exec_returns_the_address_is_the_old_programs() -> None:
    entered = [KERNEL, k("do_syscall_64"), USER]
    chains = [
        [*entered, u("work")],
        [*entered, u("work"), u("main")],  # who has callers has returned
        [USER, u("work")],
        [*entered, NO_TABLE_AT + 8],
        [*entered, 0x66],
    ]
    found = name(chains, [Row(stack) for stack in range(len(chains))], story=EXEC)
    assert [[frame.name for frame in path[:2]] for path in found.paths] == [
        ["true", "work"],
        ["true", "[unknown]"],
        ["true", "[unknown]"],
        ["true", "stripped.so.1+0x8"],
        ["true", "[unknown]"],
    ]
    later = name(chains[:1], [Row(0, time=50 + EXEC_NS)], story=EXEC)
    assert later.paths[0][1].name == "[unknown]"
