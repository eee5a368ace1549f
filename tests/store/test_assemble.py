from __future__ import annotations

from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.model.stack import Mode
from exhume.perf.records import KernelSymbol
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story, child
from tests.perf.test_naming import (
    k,
)
from tests.store.head_maker import (
    BOOT,
    CORE_TIME,
    IN_MAIN,
    IN_READ,
    IN_SOFTIRQ,
    IN_WORK,
    MS,
    NODE,
    PATHS,
    T0,
    WALL,
    Hit,
    Log,
    S,
    Seen,
    cgroups_of,
    seen,
)

# --- samples -----------------------------------------------------------------------------------


def test_samples_come_back_with_core_thread_stack_mode_and_weight_across_a_change_of_rate(
    log: Log,
) -> None:
    log.begin()
    log.tick(Hit(500, 1, 100, IN_WORK), Hit(400, 0, 100, IN_READ), Hit(600, 1, 0, IN_SOFTIRQ))
    log.scan(NODE)
    log.rate(50, 1)
    log.tick(Hit(0, 0, 200, IN_WORK), Hit(999, 1, 200, IN_MAIN))
    assert seen(log.read()) == [
        Seen(0, 400, "server", 100, PATHS[IN_READ], Mode.SYSTEM, 10),
        Seen(0, 1000, "kubelet", 200, PATHS[IN_WORK], Mode.USER, 20),
        Seen(1, 500, "server", 100, PATHS[IN_WORK], Mode.USER, 10),
        Seen(1, 600, "swapper", 0, PATHS[IN_SOFTIRQ], Mode.SOFTIRQ, 10),
        Seen(1, 1999, "kubelet", 200, PATHS[IN_MAIN], Mode.USER, 20),
    ]


def test_samples_are_ordered_by_core_and_time_and_the_segment_covers_them(log: Log) -> None:
    log.begin().scan(NODE)
    log.tick(Hit(900, 1, 100, IN_MAIN), Hit(100, 1, 100, IN_MAIN), Hit(500, 0, 100, IN_MAIN))
    log.tick(Hit(-20, 1, 100, IN_MAIN))  # a ring may give late what belongs to the second before
    data = log.read()
    assert [(s.core, s.ms) for s in seen(data)] == [(0, 500), (1, 100), (1, 900), (1, 980)]
    assert data.start_ns == T0
    assert T0 + 2 * S <= data.end_ns <= T0 + 2 * S + 1
    assert data.clock.wall(T0 + S) == WALL + S
    assert data.origin.boot_id == BOOT


def test_what_ran_before_the_scan_had_ended_has_its_name_and_its_functions(log: Log) -> None:
    # The scan looked at 300 ms; this sample is older, and the process was there all the time.
    log.begin().tick(Hit(1, 0, 100, IN_WORK)).scan(NODE)
    assert [(s.comm, s.path) for s in seen(log.read())] == [("server", PATHS[IN_WORK])]


def test_a_program_started_while_the_scan_went_on_is_not_taken_for_what_it_became(
    log: Log,
) -> None:
    started = Story(
        named=[(100 * MS, 300, 300, "sh")],
        execs=[(200 * MS, 300, 300, "sleep")],
        forks=[child(50 * MS, 300, 100)],
    )
    found = Story(
        named=[*NODE.named, (T0 + 300 * MS, 300, 300, "sleep")],
        parents=[*NODE.parents, (T0 + 300 * MS, 300, 100)],
        maps=NODE.maps,
    )
    hits = [Hit(ms, 0, 300, IN_MAIN) for ms in (60, 150, 250, 400)]
    log.begin().tick(*hits, story=started).scan(found)
    assert [s.comm for s in seen(log.read())] == ["server", "sh", "sleep", "sleep"]


def test_a_log_without_any_side_band_still_tells_who_ran_where(log: Log) -> None:
    log.begin().tick(Hit(500, 3, 100, IN_READ))
    (sample,) = seen(log.read())
    assert (sample.core, sample.comm, sample.mode) == (3, ":100", Mode.SYSTEM)
    assert sample.path == ("[unknown]", "do_syscall_64", "ksys_read")


def test_a_bpf_program_loaded_since_the_kernels_symbols_were_read_has_its_name(log: Log) -> None:
    at = 0xFFFF_FFFF_C000_0000
    chain = (KERNEL, at + 8, k("ksys_read"))
    loaded = KernelSymbol(T0 + S, at, 64, "bpf_prog_6deef7357e7b4530", False)
    unloaded = KernelSymbol(T0 + S, at + 64, 64, "bpf_prog_gone", True)
    log.begin().tick(Hit(0, 0, 0, chain)).new_epoch()
    log.tick(Hit(0, 0, 0, chain), kernel_symbols=[loaded, unloaded])
    assert [s.path for s in seen(log.read())] == [
        ("ksys_read", "[unknown]"),
        ("ksys_read", "bpf_prog_6deef7357e7b4530"),
    ]


def test_idle_samples_from_before_the_kernels_symbols_were_read_are_left_out(log: Log) -> None:
    """The recorder knows where the idle loop lies only some seconds after it began."""
    idle = (KERNEL, k("do_idle"))
    log.begin().scan(NODE)
    log.tick(Hit(100, 0, 0, idle), Hit(200, 0, 0, IN_SOFTIRQ), Hit(300, 0, 100, IN_READ))
    log.tick(Hit(100, 1, 0, (k("do_idle"),)), Hit(200, 1, 100, (KERNEL, k("do_idle"), USER)))
    assert [(s.core, s.comm, s.path) for s in seen(log.read())] == [
        (0, "swapper", PATHS[IN_SOFTIRQ]),
        (0, "server", PATHS[IN_READ]),
        (1, "server", ("do_idle",)),  # whoever it was, it was no idle task
    ]


def test_without_the_kernels_names_idle_samples_cannot_be_told(log: Log) -> None:
    for table in (log.path.parent / "symbols").iterdir():
        table.unlink()
    log.begin().tick(Hit(100, 0, 0, (KERNEL, k("do_idle"))))
    assert len(seen(log.read())) == 1


def test_a_live_window_limits_the_samples_and_nothing_else(log: Log) -> None:
    log.begin().scan(NODE)
    for second in range(4):
        at = Reading.of_node("self.rate_hz", second)
        log.tick(
            Hit(500, 0, 100, IN_MAIN), story=Story(exits=[child(0, 900 + second, 1)]), readings=[at]
        )
    data = log.read((T0 + S, T0 + 2 * S + 500 * MS))
    assert [s.ms for s in seen(data)] == [1500]
    assert len(data.blocks[0].tick_ns) == 4
    assert len(data.events) == 4
    assert (data.start_ns, data.end_ns >= T0 + 4 * S) == (T0, True)


# --- epochs ------------------------------------------------------------------------------------


def test_stack_ids_mean_something_else_in_each_epoch(log: Log) -> None:
    log.begin().scan(NODE)
    log.tick(Hit(0, 0, 100, IN_MAIN), Hit(1, 0, 100, IN_READ))
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 0, 100, IN_MAIN))
    log.new_epoch()
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 0, 100, IN_MAIN), Hit(2, 0, 100, IN_WORK))
    order = [IN_MAIN, IN_READ, IN_READ, IN_MAIN, IN_READ, IN_MAIN, IN_WORK]
    assert [s.path for s in seen(log.read())] == [PATHS[chain] for chain in order]


def test_who_is_who_is_remembered_from_one_epoch_to_the_next(log: Log) -> None:
    log.begin().scan(NODE)
    born = Story(forks=[child(5, 300, 100)], execs=[(10, 300, 300, "agent")])
    log.tick(Hit(500, 0, 300, IN_MAIN), story=born).new_epoch()
    log.tick(Hit(500, 0, 300, IN_MAIN), story=Story(exits=[child(900 * MS, 300, 100)])).new_epoch()
    log.tick(Hit(500, 0, 300, IN_MAIN), Hit(500, 1, 100, IN_MAIN))
    assert [s.comm for s in seen(log.read())] == ["agent", "agent", ":300", "server"]


# --- counters ----------------------------------------------------------------------------------


def test_instances_that_come_and_go_are_missing_and_not_zero(log: Log) -> None:
    log.begin()
    for cores in ({"0": 1, "1": 2}, {"0": 3}, {"1": 0, "0": 4, "2": None}):
        log.tick(readings=[Reading.of_each(CORE_TIME, tuple(cores), list(cores.values()))])
    log.tick(readings=[Reading.of_node("self.rss_bytes", 7)])
    cpu, rss = log.read().blocks
    assert (cpu.field, cpu.instances) == (CORE_TIME, ("0", "1", "2"))
    assert cpu.tick_ns.tolist() == [T0 + S, T0 + 2 * S, T0 + 3 * S]
    assert cpu.values.tolist() == [[1, 2, MISSING], [3, MISSING, MISSING], [4, 0, MISSING]]
    assert (rss.field, rss.values.tolist()) == ("self.rss_bytes", [[7]])


# --- cgroups -----------------------------------------------------------------------------------


def test_the_kernels_cgroup_of_a_sample_goes_before_that_of_its_process(log: Log) -> None:
    log.begin().scan(NODE, {100: "/system.slice/server", 200: "/kubelet"})
    log.tick(
        Hit(0, 0, 100, IN_MAIN, cgroup=77),
        Hit(1, 0, 200, IN_MAIN, cgroup=1),
        Hit(2, 0, 200, IN_MAIN, cgroup=12345),
        cgroup_names={77: "/kubepods/burstable", 1: "/"},
    )
    # 1 is the root, which only says that another hierarchy knows more; 12345 nobody named.
    assert cgroups_of(log.read()) == {100: {"/kubepods/burstable"}, 200: {"/kubelet"}}


def test_a_process_keeps_the_cgroup_that_was_read_of_it_and_its_children_have_it(log: Log) -> None:
    log.begin().scan(NODE, {100: "/a"})
    log.tick(
        Hit(500, 0, 100, IN_MAIN),
        Hit(500, 1, 300, IN_MAIN),
        story=Story(forks=[child(5, 300, 100)]),
    )
    log.tick(Hit(500, 0, 100, IN_MAIN), pid_cgroups={100: "/moved"})
    log.tick(
        Hit(500, 0, 100, IN_MAIN),
        Hit(500, 1, 301, IN_MAIN),
        story=Story(forks=[child(5, 301, 100)]),
    )
    assert cgroups_of(log.read()) == {100: {"/a", "/moved"}, 300: {"/a"}, 301: {"/moved"}}


def test_a_container_started_within_the_second_is_not_put_into_its_parents_cgroup(log: Log) -> None:
    # The runtime forks, moves the child and starts it; we read its cgroup at the end of the second.
    log.begin().scan(NODE, {100: "/system.slice/containerd"})
    story = Story(
        forks=[child(300 * MS, 300, 100), (350 * MS, 300, 300, 301, 300)],
        execs=[(310 * MS, 300, 300, "agent")],
    )
    log.tick(Hit(400, 0, 300, IN_MAIN), story=story, pid_cgroups={300: "/docker/c0ffee"})
    log.tick(Hit(400, 0, 300, IN_MAIN), Hit(500, 0, 300, IN_MAIN, tid=301))
    assert cgroups_of(log.read()) == {300: {"/docker/c0ffee"}}


def test_a_thread_that_is_born_later_does_not_delay_what_is_known_of_its_process(log: Log) -> None:
    log.begin()
    story = Story(named=[(0, 100, 100, "server")], forks=[(900 * MS, 100, 100, 101, 100)])
    log.tick(Hit(400, 0, 100, IN_MAIN), story=story, pid_cgroups={100: "/a"})
    assert cgroups_of(log.read()) == {100: {"/a"}}


# --- events ------------------------------------------------------------------------------------


def test_events_of_the_recorder_and_of_processes_come_in_order_of_time(log: Log) -> None:
    log.begin().scan(NODE)
    born = Story(forks=[child(200 * MS, 300, 100)], execs=[(210 * MS, 300, 300, "agent")])
    log.tick(story=born, events=[Event(T0 + 500 * MS, "rate", "recorder", "slower")])
    log.tick(story=Story(exits=[child(10 * MS, 300, 100)]), events=[Event(T0, "gap", "recorder")])
    found = [(e.kind, e.subject, (e.time_ns - T0) / MS, dict(e.fields)) for e in log.read().events]
    who = {"parent_pid": 100, "parent": "server"}
    assert found == [
        ("gap", "recorder", 0, {}),
        ("exec", "agent", 210, who),
        ("rate", "recorder", 500, {}),
        ("exit", "agent", 1010, {**who, "lifetime_seconds": 0.8}),
    ]


def test_what_a_scan_found_is_not_an_event(log: Log) -> None:
    log.begin().scan(NODE).tick()
    assert log.read().events == ()
