from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.derive.stamps import some_years
from exhume.ingest import log_entries
from exhume.ingest.job_log import JobLog
from exhume.ingest.journal import Form, JournalLog
from exhume.ingest.kernel_log import KernelLog
from exhume.ingest.log_entries import Entry, LogEvents
from exhume.ingest.log_reader import LogParser
from exhume.ingest.syslog import MonotonicLog, SystemLog
from exhume.model.event import Event
from tests.ingest import log_made
from tests.ingest.log_made import AT_NS, NS, PAUSED, events, journal_fields, read

DONE = "ena 0000:20:03.0: Device reset completed successfully, Driver info: "
VERSION = "Elastic Network Adapter (ENA) v2.11.0g"
HERE = Path(__file__)
PARSERS: list[Callable[[], LogParser]] = [
    lambda: KernelLog(HERE),
    lambda: SystemLog(HERE, some_years()),
    lambda: MonotonicLog(HERE),
    lambda: JournalLog(Form.JSON),
    lambda: JournalLog(Form.EXPORT),
    lambda: JournalLog(Form.VERBOSE),
    lambda: JobLog(HERE),
]


def collected(*entries: Entry) -> list[Event]:
    log = LogEvents("x")
    for entry in entries:
        log.add(entry)
    return list(log.take()[0])


@pytest.mark.parametrize("width", range(60, len(PAUSED)))
def test_a_line_that_a_terminal_broke_in_two_is_read_as_one(width: int, tmp_path: Path) -> None:
    for kept in (PAUSED[:width], PAUSED[:width].rstrip()):
        text = f"[  298.261679] {kept}\n{PAUSED[width:]}\n[  299.000000] next\n"
        (event,) = events(read(tmp_path / "a", text))
        assert event.fields["since_napi_seconds"] == 6.596
        assert event.fields["napi_scheduled"] == 1
        assert event.count == 1


def test_a_word_that_a_terminal_broke_is_whole_again(tmp_path: Path) -> None:
    lines = (
        "CPU 2/KVM invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=872",
        "Memory cgroup out of memory: Killed process 10494 (qemu-system-x86) total-vm:18892kB, "
        "anon-rss:4292kB, file-rss:3428kB, shmem-rss:0kB, UID:107 pgtables:1372kB",
        "Memory cgroup out of memory: Killed process 10495 (qemu-system-x86) total-vm:18892kB, "
        "anon-rss:4292kB, file-rss:3428kB, shmem-rss:0kB, UID:107 pgtables:1372kB",
    )
    text = ""
    for line in (f"Jun 23 10:10:34 hv kernel: {line}" for line in lines):
        text += "".join(line[at : at + 80] + "\n" for at in range(0, len(line), 80))
    _, *killed = events(read(tmp_path / "a", text))
    assert [event.fields["comm"] for event in killed] == ["qemu-system-x86"] * 2


def test_the_story_as_it_was_copied(tmp_path: Path) -> None:
    text = (
        "[1.0] ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time\n"
        "since last napi 6596000 usec. napi scheduled: 1\n"
        "[1.1] ena 0000:20:03.0 eth0: napi handler hasn't been called for a long time but is\n"
        "scheduled\n"
        "[1.2] ena 0000:20:03.0: ENA Large LLQ is disabled\n"
        "[1.3] ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Net\n"
        "work Adapter (ENA) v2.11.0g\n"
    )
    found = events(read(tmp_path / "a", text))
    assert [event.fields["signature"] for event in found] == [
        "ena.tx_paused", "ena.napi_starved", "ena.reset_done",
    ]  # fmt: skip
    assert found[0].fields["since_napi_seconds"] == 6.596
    assert found[2].fields["version"] == VERSION


def test_lines_that_belong_to_nothing_stay_alone(tmp_path: Path) -> None:
    text = f"[  298.0] something\nelse\n[  299.0] {DONE}{VERSION}\n\n -- \n"
    (event,) = events(read(tmp_path / "a", text))
    assert event.fields["version"].startswith(VERSION)  # type: ignore[union-attr]


TRACE = """watchdog: BUG: soft lockup - CPU#1 stuck for 11s! [statsd-node:172]
Modules linked in:
CPU: 1 PID: 172 Comm: statsd-node Tainted: G        W    L    5.4.0-1146-aws #156-Ubuntu
RIP: 0010:cpumask_next+0x0/0x20
Code: 00 00 00 45 85
RAX: 00003bc6b5800950 RBX: ffff9cd0a325a000 RCX: ffff9cd2394c0000
Call Trace:
 <IRQ>
 ? show_regs.cold+0x1a/0x1f
 </IRQ>
 ? mem_cgroup_node_nr_lru_pages+0x97/0x100
 memcg_numa_stat_show+0x17e/0x200
 seq_read+0xdc/0x490 [some_module]
RIP: 0033:0x4519ad"""


def test_the_frames_of_a_lockup_are_kept_the_innermost_first(tmp_path: Path) -> None:
    lines = [f"[  298.26{n:04}] {line}" for n, line in enumerate(TRACE.split("\n"))]
    (event,) = events(read(tmp_path / "a", "\n".join(lines)))
    assert event.fields["frames"] == "cpumask_next;memcg_numa_stat_show;seq_read"
    assert (event.core, event.pid, event.subject) == (1, 172, "statsd-node")


KILL = """\
[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[    102]  1000   102    16247    15700   180224        0           500 store
[   1103]     0  1103    36481    34000   331776        0          -900 agent
Out of memory: Killed process 102 (store) total-vm:64988kB, anon-rss:61568kB, file-rss:1200kB"""


def test_of_a_kill_it_is_kept_who_had_the_memory(tmp_path: Path) -> None:
    lines = [f"[  298.26{n:04}] {line}" for n, line in enumerate(KILL.split("\n"))]
    (event,) = events(read(tmp_path / "a", "\n".join(lines)))
    assert (event.fields["largest_comm"], event.fields["largest_pid"]) == ("agent", 1103)


HARD = "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7"
STALL = "rcu: \t7-....: (59999 ticks this GP) idle=b02/1/0x4000000000000000 softirq=1/2 fqs=14"


@pytest.mark.parametrize("opened", [HARD, STALL])
@pytest.mark.parametrize(
    ("below", "comm", "pid"),
    [
        ("CPU: 7 PID: 1234 Comm: stress Not tainted 5.4.0 #1", "stress", 1234),
        ("CPU: 7 UID: 0 PID: 12 Comm: my job Kdump: loaded Tainted: G  L  6.12", "my job", 12),
        ("CPU: 0 PID: 1234 Comm: noticed Not tainted 5.4.0 #1", None, None),
        ("CPU: 7 PID: 0 Comm: swapper/7 Not tainted 5.4.0 #1", None, None),
    ],
)
def test_who_had_the_core_is_named_below_the_line_that_does_not_say_it(
    opened: str, below: str, comm: str | None, pid: int | None
) -> None:
    entries = [Entry(0, opened, is_kernel=True)]
    entries += [Entry(n, line, True, 4) for n, line in enumerate(("rcu: \t(t=60000 jiffies g=5)",
                "NMI backtrace for cpu 7", below, "RIP: 0010:walk+0x1/0x2"))]  # fmt: skip
    event = next(one for one in collected(*entries) if one.core is not None)
    assert (event.fields.get("comm"), event.pid) == (comm, pid)
    assert event.fields["frames"] == "walk"


def test_a_trace_is_bounded_and_ends_after_a_while() -> None:
    entries = [Entry(0, TRACE.split("\n")[0], is_kernel=True)]
    entries += [Entry(n, f" f{n}+0x1/0x2", is_kernel=True) for n in range(200)]
    (event,) = collected(*entries)
    assert str(event.fields["frames"]).split(";") == [f"f{n}" for n in range(30)]
    (event,) = collected(entries[0], Entry(3 * NS, " late+0x1/0x2", is_kernel=True))
    assert "frames" not in event.fields


def test_warnings_of_the_kernel_are_kept_and_chatter_is_not() -> None:
    found = collected(
        Entry(1, "odd", True, 4), Entry(2, "chatter", True, 6), Entry(3, "a program's", False, 3)
    )
    assert [event.text for event in found] == ["odd"]


def test_never_more_events_than_fit_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(log_entries, "MAX_EVENTS", 50)
    monkeypatch.setattr(log_entries, "MAX_SLOTS", 5)
    lines = [f"[{n * 700}.000000] {PAUSED}\n" for n in range(20)]
    lines += [f"[{n + 5}.000000] {PAUSED}\n" for n in range(100)]
    *pieces, last = read(tmp_path / "a", "".join(lines))
    assert len(events(pieces)) == 50
    assert len({event.time_ns // (600 * NS) for event in events(pieces)}) == 5
    assert "70 lines are too many or too far apart" in last.facts.problems[0]


def test_a_large_log_comes_in_several_pieces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("exhume.ingest.log_reader.CHUNK_EVENTS", 100)
    lines = [
        f"2026-11-15T20:{n // 60:02}:{n % 60:02}+00:00 h kernel: {PAUSED}\n" for n in range(950)
    ]
    pieces = read(tmp_path / "a", "".join(lines))
    assert len(pieces) == 10 + 1
    assert len(events(pieces)) == 950


LOGS = [
    (f"<3>[  298.261679] {PAUSED}\n" * 3).encode(),
    (f"Nov 15 20:20:10 node-1 kernel: [  298.261679] {PAUSED}\n" * 3).encode(),
    (f"[  298.261679] node-1 kernel: {PAUSED}\n" * 3).encode(),
    log_made.journal_json(journal_fields(PAUSED), journal_fields(PAUSED)).encode(),
    log_made.journal_export(journal_fields(PAUSED), journal_fields(PAUSED)),
    log_made.journal_verbose(journal_fields(PAUSED), journal_fields(PAUSED)).encode(),
    b"2026-11-15T20:20:10Z ERROR health check timed out after 7.8s\n" * 3,
]


@pytest.mark.parametrize(("data", "parser"), list(zip(LOGS, PARSERS, strict=True)))
def test_a_log_cut_off_anywhere_reads_as_its_beginning(
    data: bytes, parser: Callable[[], LogParser]
) -> None:
    whole = [(e.time_ns, e.text) for e in parser().entries(io.BytesIO(data))]
    assert len(whole) >= 2
    for end in range(0, len(data), 3):
        found = [(e.time_ns, e.text) for e in parser().entries(io.BytesIO(data[:end]))]
        assert found[:-1] == whole[: max(0, len(found) - 1)]
        assert len(found) <= len(whole)


@pytest.mark.parametrize("parser", PARSERS)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_entries_or_nothing(
    parser: Callable[[], LogParser], data: st.DataObject
) -> None:
    parts = data.draw(
        st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(LOGS)), max_size=4)
    )
    log = LogEvents("x")
    one = parser()
    for entry in one.entries(io.BytesIO(b"".join(parts))):
        log.add(entry)
    taken, _ = log.take()
    assert all(isinstance(event.time_ns, int) for event in taken)
    one.claim(0)
    one.kernel_claim()
    one.boot_claims("log")


def test_a_journal_value_that_claims_to_be_huge_takes_no_memory() -> None:
    data = b"__REALTIME_TIMESTAMP=1794774010261679\nMESSAGE\n" + b"\xff" * 7 + b"\x7f" + b"x" * 100
    (entry,) = JournalLog(Form.EXPORT).entries(io.BytesIO(data))
    assert entry.text == "x" * 100
    assert entry.time_ns == AT_NS


def test_lines_that_mean_nothing_are_cheap(tmp_path: Path) -> None:
    line = "Nov 15 20:20:{:02} node-1 kubelet[812]: I1115 20:20:10.1 1 a.go:1] sync loop {}\n"
    data = "".join(line.format(n % 60, n) for n in range(20_000))
    path = tmp_path / "syslog"
    began = time.process_time()
    read(path, data)
    assert time.process_time() - began < 3, "some 20 µs a line"


def test_who_wrote_a_line_is_not_whom_it_tells_of() -> None:
    log = LogEvents("syslog")
    for text in (
        "a.service: Start operation timed out. Terminating.",
        'sending SIGTERM to process 1234 uid 1000 "python3": badness 1000, VmRSS 812 MiB',
        "Connection timed out",
    ):
        log.add(Entry(NS, text, program="manager", pid=1))
    events, _ = log.take()
    told = [(event.fields["victim"], event.pid) for event in events]
    assert sorted(told, key=str) == [("a.service", None), ("manager", 1), ("python3", 1234)]
