"""Names of what a process does while it becomes another program."""

from __future__ import annotations

from exhume.perf.history import EXEC_NS
from exhume.perf.records import NO_FORKS
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story, told
from tests.perf.test_naming import CODE, CODE_AT, NO_TABLE, NO_TABLE_AT, Row, k, name, namer, raw, u

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


def test_what_is_known_of_an_exec_does_not_end_with_the_chunk_in_which_it_began() -> None:
    chain = [KERNEL, k("do_syscall_64"), USER, u("work")]
    at_once, in_two = (namer(story=EXEC) for _ in range(2))
    rows = [Row(0, time=45), Row(0, time=50), Row(0, time=50 + EXEC_NS)]
    _, together = at_once.name(raw([chain], rows))
    apart = []
    for row in rows:
        apart += in_two.name(raw([chain], [row]))[1].tolist()
        in_two._history.forget_dead(NO_FORKS)
    assert apart == together.tolist()
    assert apart[0] == apart[1] != apart[2]


def test_the_program_before_is_forgotten_once_others_start_later() -> None:
    known = namer(story=EXEC)._history
    known.forget_dead(NO_FORKS)
    both = len(known.spaces)
    known.learn(told(Story(execs=[(50 + EXEC_NS, 200, 200, "later")])))
    known.forget_dead(NO_FORKS)
    assert len(known.spaces) == both  # the one that was left went, the new one came
