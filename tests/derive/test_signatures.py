"""Which log line means what."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive import signatures
from exhume.derive.safe_patterns import MAX_LINE
from exhume.derive.signatures import MAX_USER_SIGNATURES, Signature, match, parse
from exhume.diagnose.symptoms import harm_of
from exhume.errors import ParseError

SAMPLES = [
    line.split("\t")
    for line in (Path(__file__).parent / "log_samples.tsv").read_text().splitlines()[1:]
]
ALL = [*signatures.kernel_log(), *signatures.job_log()]


@pytest.mark.parametrize(("identity", "cls", "line"), SAMPLES)
def test_every_line_of_the_facts_is_known(identity: str, cls: str, line: str) -> None:
    found = match(line)
    assert found is not None
    assert (found.id, found.cls) == (identity, cls)


ENA = {"driver": "ena", "device": "0000:00:05.0", "interface": "eth0"}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
            "Time since last napi 6328000 usec. napi scheduled: 1",
            ENA
            | {
                "queue": 5,
                "threshold_seconds": 5.0,
                "since_napi_seconds": 6.328,
                "napi_scheduled": 1,
            },
        ),
        (
            "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
            "usecs since napi 6328000. napi scheduled: 1. napi CPU: 17. "
            "msecs since interrupt: 6324",
            ENA
            | {
                "queue": 5,
                "core": 17,
                "threshold_seconds": 5.0,
                "since_napi_seconds": 6.328,
                "since_interrupt_seconds": 6.324,
                "napi_scheduled": 1,
            },
        ),
        (
            "ena 0000:00:05.0 eth0: TX hasn't completed, qid 3, index 12. 5600 msecs since last "
            "interrupt, 5601 msecs since last napi execution, napi scheduled: 1",
            ENA
            | {
                "queue": 3,
                "index": 12,
                "since_interrupt_seconds": 5.6,
                "since_napi_seconds": 5.601,
                "napi_scheduled": 1,
            },
        ),
        (
            "NETDEV WATCHDOG: eth0 (ena): transmit queue 3 timed out",
            {"interface": "eth0", "driver": "ena", "queue": 3},
        ),
        (
            "ena 0000:00:05.0 eth0: NETDEV WATCHDOG: CPU: 56: transmit queue 11 timed out 5340 ms",
            ENA | {"watchdog_core": 56, "queue": 11, "stalled_seconds": 5.34},
        ),
        (
            "watchdog: BUG: soft lockup - CPU#58 stuck for 23s! [kworker/u146:7:707658]",
            {"core": 58, "stalled_seconds": 23.0, "comm": "kworker/u146:7", "pid": 707658},
        ),
        (
            "Memory cgroup out of memory: Killed process 1234 (python3) total-vm:1000kB, "
            "anon-rss:900kB, file-rss:1kB, shmem-rss:0kB, UID:0",
            {
                "scope": "Memory cgroup out of memory",
                "pid": 1234,
                "comm": "python3",
                "virtual_bytes": 1024000,
                "anonymous_bytes": 921600,
                "file_bytes": 1024,
                "shmem_bytes": 0,
            },
        ),
        ("hrtimer: interrupt took 1234567 ns", {"took_seconds": 0.001234567}),
    ],
)
def test_figures_come_in_seconds_and_bytes_and_as_numbers(
    line: str, fields: dict[str, str | int | float]
) -> None:
    found = match(line)
    assert found is not None
    assert found.fields == fields


def test_the_arguments_that_ena_2_17_0_swaps_are_put_right() -> None:
    found = match("ena 0000:00:03.0 eth0: [2/2] qid: 39, napi CPU: 3")
    assert found is not None
    assert (found.id, found.fields["queue"], found.fields["core"]) == ("ena.lost_tx_detail", 3, 39)
    other = match(
        "ena 0000:00:03.0 eth0: [2/2] qid: 3, highest TX completion pending time (msec): 6100, "
        "napi sched changes: 0, napi CPU: 39"
    )
    assert other is not None
    assert (other.fields["queue"], other.fields["core"]) == (3, 39), "that line is right as it is"


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        ("\t3-...: (0 ticks this GP) idle=470/0/0 softirq=335280/335280 fqs=0", "rcu.idle_core"),
        ("rcu: \t0-...!: (4 GPs behind) idle=3514/0/0x0 softirq=67/67 fqs=0", "rcu.idle_core"),
        # an interrupt came into its rest; it runs a task
        ("rcu: \t0-....: (1 GPs behind) idle=3514/0/0x3 softirq=67/67 fqs=37", "rcu.core"),
        ("\t101-...: (1 GPs behind) idle=a0b/140000000000002/0 softirq=288/289", "rcu.core"),
        ("rcu: \t0-...0: (1 GPs behind) idle=d634/1/0x4000000000000002 softirq=7/7", "rcu.core"),
    ],
)
def test_nobody_keeps_an_idle_core_that_rcu_waits_for(line: str, identity: str) -> None:
    found = match(line)
    assert found is not None
    assert found.id == identity
    assert found.cls == ("info" if identity == "rcu.idle_core" else "cpu")


def test_where_rcus_own_thread_starved_its_core_is_the_place() -> None:
    line = "rcu: rcu_sched kthread starved for 999 jiffies! g1 f0x0 RCU_GP_DOING_FQS(6) ->state=0x0"
    for end, core in ((" ->cpu=10", 10), ("", None)):
        found = match(line + end)
        assert found is not None
        assert found.fields.get("core") == core


def test_a_message_without_the_interface_still_names_the_device() -> None:
    found = match("ena 0000:00:05.0: Device reset completed successfully")
    assert found is not None
    assert found.fields == {"driver": "ena", "device": "0000:00:05.0"}


@pytest.mark.parametrize(
    ("before", "driver", "device"),
    [
        ("r8152 1-1.3:1.0 eth1", "r8152", "1-1.3:1.0"),
        ("mtk_soc_eth 1e100000.ethernet eth1", "mtk_soc_eth", "1e100000.ethernet"),
        ("igb 0000:01:00.0: eth1", "igb", "0000:01:00.0"),
        (
            "hv_netvsc 000d3a00-0001-0002-0003-000d3a000000 eth1",
            "hv_netvsc",
            "000d3a00-0001-0002-0003-000d3a000000",
        ),
    ],
)
def test_devices_of_any_bus_are_known(before: str, driver: str, device: str) -> None:
    found = match(f"{before}: NETDEV WATCHDOG: CPU: 1: transmit queue 4 timed out 5010 ms")
    assert found is not None
    names = (found.fields["driver"], found.fields["device"], found.fields["interface"])
    assert names == (driver, device, "eth1")


@pytest.mark.parametrize("device", ["fd0", "sr0"])
def test_a_drive_that_nothing_is_in_is_no_disk_that_failed(device: str) -> None:
    assert match(f"blk_update_request: I/O error, dev {device}, sector 0 op 0x0:(READ)") is None
    assert match(f"Buffer I/O error on dev {device}, logical block 0, async page read") is None


def test_a_panic_is_told_once_and_a_file_system_by_its_device() -> None:
    assert match("---[ end Kernel panic - not syncing: Fatal exception ]---") is None
    found = match("EXT4-fs (nvme1n1): Remounting filesystem read-only")
    assert found is not None
    assert found.fields["device"] == "nvme1n1"


def test_what_the_hardware_corrected_is_no_fault() -> None:
    for line in (
        "{1}[Hardware Error]: event severity: corrected",
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0",
        "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    ):
        found = match(line)
        assert found is not None
        assert found.cls == "hw-corrected"
        assert harm_of(found.id, found.cls) is None


@pytest.mark.parametrize(
    ("line", "is_harm"),
    [
        ("mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: cc00008000010091", False),
        ("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: 9000004000010005", False),
        ("mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108", True),
        ("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 6: ee00000000800400", True),
        ("[Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: 9000004000010005", True),
        ("mlx5_core 08:00.0: Health issue observed, firmware warn, severity(4) WARNING:", False),
        ("mlx5_core 08:00.0: Health issue observed, High temperature, severity(2) CRITICAL:", True),
    ],
)  # fmt: skip
def test_the_status_of_a_fault_tells_whether_it_harmed(line: str, is_harm: bool) -> None:
    found = match(line)
    assert (found is not None and harm_of(found.id, found.cls) is not None) is is_harm


def test_a_user_may_say_what_a_line_must_not_have() -> None:
    text = """[[signature]]
id = "a"
class = "job"
literal = "slow"
pattern = "slow"
unless = "not slow"
meaning = "It was slow."
"""
    own = parse(text, "own.toml")
    assert match("it is slow", own) is not None
    assert match("it is not slow", own) is None
    with pytest.raises(ParseError, match="safe to run"):
        parse(text.replace("not slow", "(a*)*"), "own.toml")
    several = parse(text.replace('"not slow"', '["not slow", "slowly"]'), "own.toml")
    assert match("it is slow", several) is not None
    assert match("it moves slowly", several) is None
    with pytest.raises(ParseError, match="or \\['expression'"):
        parse(text.replace('"not slow"', "[1]"), "own.toml")
    named = '[unless]\nboast = "not slow"\n' + text.replace('"not slow"', '"boast"')
    assert match("it is not slow", parse(named, "own.toml")) is None
    with pytest.raises(ParseError, match="unless: expected name = 'expression'"):
        parse(named.replace('boast = "not slow"', "boast = 1"), "own.toml")


def test_a_crash_of_a_process_is_none_of_the_kernel() -> None:
    for line in (
        "python3[1234]: segfault at 8 ip 00007f00 sp 00007f00 error 4 in libc.so[7f00+1000]",
        "traps: python3[1234] general protection fault ip:7f00 sp:7f00 error:0",
    ):
        found = match(line)
        assert found is not None
        assert (found.cls, found.fields["comm"], found.fields["pid"]) == ("crash", "python3", 1234)


def test_a_prefix_of_dmesg_or_journal_does_no_harm() -> None:
    line = "[12345.678] ena 0000:00:05.0 ens5: Keep alive watchdog timeout."
    found = match(line)
    assert found is not None
    assert found.fields["interface"] == "ens5"


@pytest.mark.parametrize("signature", ALL, ids=lambda one: one.id)
def test_every_signature_explains_itself_and_matches_its_examples(signature: Signature) -> None:
    assert signature.examples
    assert signature.meaning.endswith(".")
    whole = (
        signatures.kernel_log() if signature in signatures.kernel_log() else signatures.job_log()
    )
    for example in signature.examples:
        found = match(example, whole)
        assert found is not None
        assert found.id == signature.id, "an earlier one takes its lines"


@pytest.mark.parametrize(
    "line",
    [
        "EXT4-fs (vda): mounted filesystem r/w without journal. Quota mode: none.",
        "eth0: renamed from veth1",
        'audit: type=1400 audit(1.2:3): apparmor="STATUS"',
        "TX q is fine",
        "",
    ],
)
def test_ordinary_lines_mean_nothing(line: str) -> None:
    assert match(line) is None


HOSTILE = [
    "TX q 5 is paused for too long (threshold " + "9" * 5000 + "). Time since last napi 1 usec",
    "ena " * 5000 + "is paused for too long",
    "INFO: task " + ":1" * 3000 + " blocked for more than",
    "oom-kill:constraint=A," + "mems_allowed=0," * 500,
    "Killed process 1 (" + ") total-vm:" * 400,
    "XFS (" + "a): shut" * 500,
    "[Rank 0]" * 400 + " Watchdog caught collective operation timeout: ",
    "\x1b[31m\x00\u202e Keep alive watchdog timeout.",
    "soft lockup" * 400,
    "NVRM: Xid (" + "," * 4000,
]


@pytest.mark.parametrize("line", HOSTILE)
def test_hostile_lines_take_no_time(line: str) -> None:
    start = time.process_time()
    for _ in range(20):
        match(line)
        match(line, signatures.job_log())
    assert (time.process_time() - start) / 20 < 0.02


@given(st.text(max_size=300), st.sampled_from(ALL))
def test_any_text_around_a_literal_is_matched_or_not_without_error(
    text: str, signature: Signature
) -> None:
    for line in (text, signature.literal + text, text + signature.literal + text):
        match(line)
        match(line, ALL)


def test_a_flood_of_100_000_lines_is_cheap() -> None:
    hit = "ena 0000:00:05.0 eth0: Found a Tx that wasn't completed on time, qid 2, index {}."
    miss = "systemd-journald[{}]: Received client request to flush runtime journal."
    lines = [(hit if number % 2 else miss).format(number) for number in range(10_000)]
    start = time.process_time()
    found = sum(match(line) is not None for line in lines)
    spent = time.process_time() - start
    assert found == 5_000
    assert spent * 10 < 5, f"{spent * 100:.1f} µs a line"


def test_long_lines_are_cut_before_they_are_looked_at() -> None:
    assert match("x" * MAX_LINE + "Keep alive watchdog timeout.") is None


ENTRY = """[[signature]]
id = "my.fault"
class = "job"
literal = "fault number"
pattern = 'fault number (?P<number>\\d+) after (?P<waited_msec>\\d+) ms in (?P<where>\\w+)'
meaning = "It broke."
numbers = ["extra"]
examples = ["fault number 7 after 1500 ms in shuffle"]
"""


def test_a_users_signature_works_like_a_built_in_one() -> None:
    mine = parse(ENTRY, "mine.toml")
    found = match("fault number 7 after 1500 ms in shuffle", mine)
    assert found is not None
    assert found.fields == {"number": 7, "waited_seconds": 1.5, "where": "shuffle"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[signature", "TOML"),
        ("x = 1", r"\[\[signature\]\] entries"),
        ("signature = 5", r"\[\[signature\]\] entries"),
        ("signature = [5]", "a table"),
        ("[[signature]]\nid = 'a'", "class = 'text'"),
        (ENTRY.replace("my.fault", ""), "id = 'text'"),
        (ENTRY.replace("meaning =", "sense ="), "meaning = 'text'"),
        (ENTRY + "colour = 'red'\n", "not colour = 'red'"),
        (ENTRY + "device = 'yes'\n", "not device = 'yes'"),
        (ENTRY.replace('"fault number"', '"abc"'), "literal of 4 characters"),
        (ENTRY.replace("(?P<number>", "(?P<number"), "no regular expression"),
        (ENTRY.replace("fault number 7", "nothing"), "that match"),
        (ENTRY.replace("\\w+)'", "(a+)+)'"), "repeats a group"),
        (ENTRY * (MAX_USER_SIGNATURES + 1), f"at most {MAX_USER_SIGNATURES}"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ParseError, match=complaint):
        parse(text, "mine.toml")


@given(st.text(max_size=300))
def test_any_text_is_a_file_of_signatures_or_a_parse_error(text: str) -> None:
    for candidate in (text, ENTRY + text, ENTRY.replace("my.fault", text)):
        try:
            parse(candidate, "mine.toml")
        except ParseError:
            continue
