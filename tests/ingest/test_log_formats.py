"""One kernel line in every form that logs have: the same event comes of it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.ingest import kernel_log
from exhume.ingest.piece import ClockKind, Trust
from exhume.ingest.streams import Source
from tests.ingest import log_made, made
from tests.ingest.log_made import AT_NS, BEFORE, BOOT_NS, NS, PAUSED, RESTART, journal_fields
from tests.ingest.made import by_name, do_import, write

KERNEL = ClockKind.KERNEL_LOG
WALL, LOCAL = ClockKind.WALL, ClockKind.OWN
UPTIME_NS = AT_NS - BOOT_NS
SECOND_NS = AT_NS // NS * NS
MILLI_NS = AT_NS // 1_000_000 * 1_000_000


def both(before: str, line: str) -> str:
    return f"{before}{BEFORE}\n{line}{PAUSED}\n"


FORMS = [
    (both("[    1.000000] ", "[  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (both("[    1.000000][    T1] ", "[  298.261679][ T172] "), "kernel log", KERNEL, UPTIME_NS),
    (both("<6>[    1.000000] ", "<3>[  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (
        both("kern  :info  : [    1.000000] ", "kern  :err   : [  298.261679] "),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    (
        both("[    1.000000 <    0.000000>] ", "[  298.261679 <  297.261679>] "),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    (
        both("6,1,1000000,-;", " SUBSYSTEM=usb\n DEVICE=+usb:1-1\n3,2,298261679,-;"),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    (
        both("[Sun Nov 15 20:15:13 2026] ", "[Sun Nov 15 20:20:10 2026] "),
        "kernel log",
        LOCAL,
        SECOND_NS,
    ),
    (
        both("2026-11-15T20:15:13,000000+00:00 ", "2026-11-15T20:20:10,261679+00:00 "),
        "kernel log",
        WALL,
        AT_NS,
    ),
    (f"2026-11-15T12:20:10,261679-08:00 {PAUSED}\n", "kernel log", WALL, AT_NS),
    (
        "[Nov15 20:15] a\n[  +2.000000] b\n" + both("[Nov15 20:20] ", "[ +10.261679] "),
        "kernel log",
        LOCAL,
        AT_NS,
    ),
    (
        both("Nov 15 20:15:13 node-1 kernel: ", "Nov 15 20:20:10 node-1 kernel: "),
        "system log",
        LOCAL,
        SECOND_NS,
    ),
    (f"Nov 15 20:20:10.261679 node-1 kernel: {PAUSED}\n", "system log", LOCAL, AT_NS),
    (f"Nov 15 20:20:10 s_sys@node-1 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (
        both(
            "Nov 15 20:15:13 node-1 6,1,1000000,-;",
            "Nov 15 20:20:10 node-1 3,2,298261679,-,caller=C0;",
        ),
        "system log",
        LOCAL,
        SECOND_NS + 261_679_000,
    ),
    (f"2026-11-15T20:20:10+0000 node-1 kernel: {PAUSED}\n", "system log", WALL, SECOND_NS),
    (f"2026-11-15T20:20:10.261679+0000 node-1 kernel: {PAUSED}\n", "system log", WALL, AT_NS),
    (f"2026-11-15T21:20:10.261679+01:00 node-1 kernel: {PAUSED}\n", "system log", WALL, AT_NS),
    (f"Sun 2026-11-15 20:20:10 UTC node-1 kernel: {PAUSED}\n", "system log", WALL, SECOND_NS),
    (f"1794774010.261679 node-1 kernel: {PAUSED}\n", "system log", WALL, AT_NS),
    (
        both("[    1.000000] node-1 kernel: ", "[  298.261679] node-1 kernel: "),
        "system log",
        KERNEL,
        UPTIME_NS,
    ),
    (f"Nov 15 20:20:10 node-1 kernel: [  298.261679] {PAUSED}\n", "system log", LOCAL, None),
    (f"<3>Nov 15 20:20:10 node-1 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"<3>1 2026-11-15T20:20:10.261679Z node-1 kernel - - - {PAUSED}\n", "system log", WALL, AT_NS),
    (
        f'<3>1 2026-11-15T20:20:10.261Z node-1 kernel - - [a@1 b="c"] {PAUSED}\n',
        "system log",
        WALL,
        MILLI_NS,
    ),
    # who spoke, in the forms of newer kernels
    (both("[    1.000000] [    T1] ", "[  298.261679] [    C3] "), "kernel log", KERNEL, UPTIME_NS),
    (both("[    1.000000] [ T1@C0] ", "[  298.261679] [T17@C3] "), "kernel log", KERNEL, UPTIME_NS),
    # what a console showed when the kernel spoke
    (both("[    1.000000] ", "node-1 login: [  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    # pasted
    (both("    [    1.000000] ", "    [  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (both("> [    1.000000] ", "> [  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (both("17:[    1.000000] ", "19-[  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (
        "I have seen this.\n" * 20 + both("[    1.000000] ", "[  298.261679] "),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    (
        both("kern.log.1:Nov 15 20:15:13 a kernel: ", "kern.log:Nov 15 20:20:10 a kernel: "),
        "system log",
        LOCAL,
        SECOND_NS,
    ),
    # in the language of whoever ran dmesg
    (
        both("[So Nov 15 20:15:13 2026] ", "[So Nov 15 20:20:10 2026] "),
        "kernel log",
        LOCAL,
        SECOND_NS,
    ),
    (
        both("[日 11月 15 20:15:13 2026] ", "[日 11月 15 20:20:10 2026] "),
        "kernel log",
        LOCAL,
        SECOND_NS,
    ),
    (both("[<    0.000000>] ", "[<  298.261679>] "), "kernel log", KERNEL, UPTIME_NS),
    # a piece out of dmesg -e
    (both("[  +0.000000] ", "[+298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    (
        both("5.4.0-7-a,6,1,1000000,-;", "5.4.0-7-a,3,2,298261679,-;"),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    (
        json.dumps(
            {
                "dmesg": [
                    {"pri": 6, "time": 1.0, "msg": BEFORE},
                    {"pri": 3, "time": 298.261679, "msg": PAUSED},
                ]
            },
            indent=3,
        ),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    # system logs without a host, with facility and level, with a year, with the name of a zone
    (f"Nov 15 20:20:10 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"Sun Nov 15 20:20:10 2026 kern.err kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"Nov 15 20:20:10 node-1 kern.err kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"2026 Nov 15 20:20:10 node-1 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"11月 15 20:20:10 node-1 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"Sun 2026-11-15 21:20:10 CET node-1 kernel: {PAUSED}\n", "system log", WALL, SECOND_NS),
    (f"1 2026-11-15T20:20:10.261679Z node-1 kernel - - - {PAUSED}\n", "system log", WALL, AT_NS),
    (
        f"[    1.000000                ] node-1 kernel: {BEFORE}\n"
        f"[  298.261679 <  297.261679 >] node-1 kernel: {PAUSED}\n",
        "system log",
        KERNEL,
        UPTIME_NS,
    ),
    # a console whose lines somebody has stamped
    (f"2026-11-15T20:20:10.300Z [  298.261679] {PAUSED}\n", "system log", WALL, None),
    (f"[2026-11-15 20:20:10] [  298.261679] {PAUSED}\n", "system log", LOCAL, None),
    (f"2026-11-15T20:20:10.300Z stdout F [  298.261679] {PAUSED}\n", "system log", WALL, None),
    # passed on, with a stamp of who did; the zone of the first one shows by that
    (
        f"2026-11-15T20:20:11.5Z Nov 15 20:20:10 node-1 kernel: {PAUSED}\n",
        "system log",
        WALL,
        SECOND_NS,
    ),
    (
        f"2026-11-15T20:20:41.000Z\tstream/1 Nov 15 21:20:10 node-1 kernel: {PAUSED}\n",
        "system log",
        WALL,
        SECOND_NS,
    ),
    (
        f"2026-11-15T20:20:11.5Z stdout F Nov 15 12:20:10 node-1 kernel: {PAUSED}\n",
        "system log",
        WALL,
        SECOND_NS,
    ),
    # with the comma and the months of whoever ran dmesg
    (both("[nov.15 20:20] ", "[ +10,261679] "), "kernel log", LOCAL, AT_NS),
    (both("[11月15 20:20] ", "[ +10.261679] "), "kernel log", LOCAL, AT_NS),
    (both("[<    0,000000>] ", "[<  298,261679>] "), "kernel log", KERNEL, UPTIME_NS),
    (
        both("[    1.000000 <    0,000000>] ", "[  298.261679 <  297,261679>] "),
        "kernel log",
        KERNEL,
        UPTIME_NS,
    ),
    # so in an object of CloudWatch, and of a container's log
    (
        json.dumps({"timestamp": 1794774041000, "message": f"Nov 15 21:20:10 n kernel: {PAUSED}"}),
        "system log",
        WALL,
        SECOND_NS,
    ),
    (
        json.dumps({"log": f"[  298.261679] {PAUSED}\n", "time": "2026-11-15T20:20:10.300Z"}),
        "system log",
        WALL,
        None,
    ),
    # talosctl dmesg
    *(
        (
            f"{host}kern:    info: [2026-11-15T20:15:13Z]: {BEFORE}\n"
            f"{host}kern:     err: [2026-11-15T20:20:10.261679000Z]: {PAUSED}\n",
            "system log",
            WALL,
            AT_NS,
        )
        for host in ("", "10.0.0.7: ", "gpu-7.example.org: ")
    ),
    (
        f"2027-01-15T20:20:11.5Z Nov 15 20:20:10 node-1 kernel: {PAUSED}\n",
        "system log",
        LOCAL,
        SECOND_NS,
    ),
    # the host was struck out
    *(
        (f"Nov 15 20:20:10 {host} kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS)
        for host in ("**", "<redacted>", "[hostname]", "{{host}}", "$HOSTNAME", "...")
    ),
    # out of a table, and numbered
    (f"Nov 15 20:20:10\tnode-1\tkernel:\t{PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (f"2026/11/15 20:20:10 node-1 kernel: {PAUSED}\n", "system log", LOCAL, SECOND_NS),
    (both("   1  [    1.000000] ", "  19 | [  298.261679] "), "kernel log", KERNEL, UPTIME_NS),
    # broken by a terminal
    (
        f"Nov 15 20:15:13 node-1 kernel: {BEFORE[:20]}\n{BEFORE[20:]}\n"
        f"Nov 15 20:20:10 node-1 kernel: {PAUSED[:49]}\n{PAUSED[49:]}\n",
        "system log",
        LOCAL,
        SECOND_NS,
    ),
    (log_made.journal_json(journal_fields(PAUSED)), "journal", WALL, AT_NS),
    (json.dumps(journal_fields(PAUSED), indent="\t") + "\n", "journal", WALL, AT_NS),
    ("\x1e" + log_made.journal_json(journal_fields(PAUSED)), "journal", WALL, AT_NS),
    (
        log_made.journal_json({**journal_fields(PAUSED), "MESSAGE": list(PAUSED.encode())}),
        "journal",
        WALL,
        AT_NS,
    ),
    (log_made.journal_export(journal_fields(PAUSED)).decode(), "journal export", WALL, AT_NS),
    (
        json.dumps([journal_fields(BEFORE), journal_fields(PAUSED)], indent=2),
        "journal",
        WALL,
        AT_NS,
    ),
    (log_made.journal_verbose(journal_fields(PAUSED)), "journal verbose", WALL, AT_NS),
    # journalctl --no-hostname
    (
        f"Nov 15 20:20:09 agent[812]: x\nNov 15 20:20:10 kernel: {PAUSED}\n",
        "system log",
        LOCAL,
        SECOND_NS,
    ),
]


@pytest.mark.parametrize(("text", "name", "clock", "time_ns"), FORMS)
def test_every_form_of_kernel_log_gives_the_same_event(
    text: str, name: str, clock: ClockKind, time_ns: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "anything-20261115.dat"
    for data in (text, text.replace("\n", "\r\n") if name != "journal export" else text):
        assert log_made.format_of(path, data) == name
        pieces = log_made.read(path, data)
        assert pieces[0].clock == clock
        (event,) = [e for e in log_made.events(pieces) if "signature" in e.fields]
        assert (event.kind, event.subject, event.text) == ("kernel-log", "eth0", PAUSED)
        assert event.fields["since_napi_seconds"] == 6.596
        assert event.fields["queue"] == 5
        if time_ns is not None:
            assert event.time_ns == time_ns
        else:
            assert SECOND_NS <= event.time_ns <= SECOND_NS + NS
        if any(mark in text for mark in ("<3>", ":err", '"3"', "=3", "3,2,")):
            assert event.fields["level"] == 3


@pytest.mark.parametrize(
    "text",
    [
        f"<6>[    1.000000] {BEFORE}\n<11>[  298.261679] {PAUSED}\n",
        f"kern  :info  : [    1.000000] {BEFORE}\nuser  :err   : [  298.261679] {PAUSED}\n",
        f"6,1,1000000,-;{BEFORE}\n12,575,2709478260,-;{PAUSED}\n",
        f"[    1.000000] {BEFORE}\n[  298.261679] logger[812]: {PAUSED}\n",
        f"Sun Nov 15 20:20:10 2026 user.err kernel: {PAUSED}\n",
        f"<11>Nov 15 20:20:10 node-1 kernel: {PAUSED}\nNov 15 20:20:11 node-1 a[1]: x\n",
        f"Nov 15 20:20:10 node-1 kernel[77]: {PAUSED}\n",
        f"10.0.0.7: user: warning: [2026-11-15T20:20:10.2Z]: {PAUSED}\n" * 3,
        f"kern: info: [2026-11-15T20:20:10Z]: {BEFORE}\n"
        f"user: err: [2026-11-15T20:20:10Z]: {PAUSED}\n",
        json.dumps({"timestamp": 1794774041000, "message": f"Nov 15 20:20:10 n a[1]: {PAUSED}"}),
        f"Nov 15 20:20:10 node-1 logger: {PAUSED}\nNov 15 20:20:11 node-1 a[1]: x\n",
        log_made.journal_json(journal_fields(PAUSED, SYSLOG_FACILITY="1")),
        log_made.journal_json(journal_fields(PAUSED, kernel=False, SYSLOG_IDENTIFIER="kernel")),
    ],
)
def test_what_user_space_says_is_no_kernel_line_where_the_form_tells(
    text: str, tmp_path: Path
) -> None:
    pieces = log_made.read(tmp_path / "a.log", text)
    assert not [event for event in log_made.events(pieces) if event.kind == "kernel-log"]


@pytest.mark.parametrize(
    "text",
    [
        f"Nov 15 20:20:10 node-1 systemd[1]: {RESTART}\n",
        f"[  298.261679] node-1 systemd[1]: {RESTART}\n",
        f"2026-11-15T20:20:10.261679+00:00 node-1 systemd[1]: {RESTART}\n",
        f"<30>1 2026-11-15T20:20:10.261679Z node-1 systemd 1 - - {RESTART}\n",
        log_made.journal_json(journal_fields(RESTART, kernel=False)),
        log_made.journal_export(journal_fields(RESTART, kernel=False)).decode(),
        f"2026-11-15T20:20:10.261679Z systemd[1]: {RESTART}\n",
        f"[    1.000000] {BEFORE}\n[  298.261679] systemd[1]: {RESTART}\n",
        f"<6>[    1.000000] {BEFORE}\n<30>[  298.261679] systemd[1]: {RESTART}\n",
    ],
)
def test_a_supervisors_line_is_a_start_of_a_unit(text: str, tmp_path: Path) -> None:
    (event,) = log_made.events(log_made.read(tmp_path / "a.log", text))
    assert (event.kind, event.subject, event.count) == ("unit-start", "ecs.service", 1)
    assert event.fields["restarts_total"] == 41


def test_raw_dmesg_and_perf_on_its_default_clock_join_without_a_guess(tmp_path: Path) -> None:
    capture = write(
        tmp_path / "perf-node-1-20261115-202000-20s.data",
        made.capture(2, start_ns=288 * NS).file(),
    )
    log = write(
        tmp_path / "dmesg.txt", f"[    0.1] Linux version 5.4.0 (b)\n[  298.261679] {PAUSED}\n"
    )
    os.utime(log, (1, 1))
    report = do_import(tmp_path / "out", capture, log)
    assert [one.state for one in report.inputs] == ["imported"] * 2
    assert len(report.recordings) == 1
    assert "name" in by_name(report)["dmesg.txt"].clock
    (event,) = [
        event
        for segment in made.segments(tmp_path / "out")
        for event in segment.events()
        if event.kind == "kernel-log"
    ]
    started = 1_794_774_000 * NS  # by the name of the file, for the first sample
    assert event.time_ns == started + UPTIME_NS - 288 * NS


def test_the_same_line_in_two_logs_happened_once(tmp_path: Path) -> None:
    # rsyslog and the journal are a little late, as they are.
    kernel_line = f"node-1 kernel: [  298.261679] {PAUSED}"
    unit_line = journal_fields(RESTART, kernel=False)
    journal = log_made.journal_json(journal_fields(PAUSED), unit_line)
    files = [
        write(tmp_path / "dmesg.txt", f"[  298.261679] {PAUSED}\n"),
        write(tmp_path / "raw.gz", gzip.compress(f"<3>[  298.261679] {PAUSED}\n".encode())),
        write(tmp_path / "kern.log", f"2026-11-15T20:20:10.9+00:00 {kernel_line}\n"),
        write(tmp_path / "j.json", journal),
        write(tmp_path / "syslog", f"2026-11-15T20:20:11+00:00 node-1 systemd[1]: {RESTART}\n"),
    ]
    do_import(tmp_path / "out", *files)
    found = [e for segment in made.segments(tmp_path / "out") for e in segment.events()]
    assert sorted(event.kind for event in found) == ["kernel-log", "unit-start"]


def test_a_log_with_both_times_ties_the_kernels_clock_to_wall_time(tmp_path: Path) -> None:
    lines = [
        f"2026-11-15T20:20:{second:02}.{300_000 + 7 * second:06}+00:00 node-1 kernel: "
        f"[  {288 + second}.{300_000 + second:06}] {BEFORE}\n"
        for second in range(10, 40)
    ]
    *_, last = log_made.read(tmp_path / "kern.log", "".join(lines))
    assert last.claim is not None
    assert last.claim.trust == Trust.UPTIME
    assert abs(last.claim.offset_ns - BOOT_NS) < 1_000_000


def test_what_a_console_shows_twice_happened_once_and_ties_the_clock(tmp_path: Path) -> None:
    told = "systemd[1]: Started a.service."
    text = (
        f"[   90.000000] {told}\n2026-11-15T20:20:11.500000+00:00 node-1 {told}\n"
        f"[   99.000000] {PAUSED}\n2026-11-15T20:20:20.250000+00:00 node-1 kernel: {PAUSED}\n"
        "2026-11-15T20:20:20.250000+00:00 node-1 kernel: not said before\n"
    )
    pieces = log_made.read(tmp_path / "console.log", text)
    (event,) = [event for piece in pieces for event in piece.events]
    assert (event.count, event.time_ns) == (1, 99 * NS)
    claim = pieces[0].claim
    assert claim is not None
    assert claim.trust == Trust.UPTIME
    assert claim.offset_ns == 1_794_774_020_250_000_000 - 99 * NS, "the one that is less late"


def test_of_a_log_servers_log_one_machine_is_taken_and_the_others_are_told(tmp_path: Path) -> None:
    lines = [f"2026-11-15T20:20:1{n}+00:00 node-{n % 3} kernel: {PAUSED}\n" for n in range(9)]
    report = do_import(tmp_path / "out", write(tmp_path / "all.log", "".join(lines)))
    assert [one.node for one in report.recordings] == ["node-0"]
    (problem,) = by_name(report)["all.log"].problems
    assert problem.startswith("6 lines are of other machines than node-0")
    assert len([e for s in made.segments(tmp_path / "out") for e in s.events()]) == 3


def test_a_short_host_name_and_a_whole_one_are_one_machine(tmp_path: Path) -> None:
    capture = write(tmp_path / "a.data", made.capture(1, host="node-1.example.org").file())
    log = write(tmp_path / "kern.log", f"2026-11-15T20:20:10+00:00 node-1 kernel: {PAUSED}\n")
    report = do_import(tmp_path / "out", capture, log)
    assert [one.node for one in report.recordings] == ["node-1.example.org"]


def test_what_only_looks_like_a_month_is_none_of_the_kernels_times(tmp_path: Path) -> None:
    text = f"[step 12 10:30] loss 0.1\n[step 13 10:31] {PAUSED}\n" * 3
    assert log_made.format_of(tmp_path / "train.log", text) != "kernel log"


def test_the_log_of_a_display_server_is_none_of_the_kernel(tmp_path: Path) -> None:
    text = "[    23.456] (II) Module glx\n[    23.457] (EE) AIGLX error\n" * 3
    assert log_made.format_of(tmp_path / "Xorg.0.log", text) != "kernel log"


def test_a_message_of_two_lines_is_whole_in_verbose_output(tmp_path: Path) -> None:
    text = log_made.journal_verbose(
        journal_fields("Traceback:\nray.exceptions.OwnerDiedError: x", kernel=False)
    )
    (event,) = log_made.events(log_made.read(tmp_path / "a", text))
    assert event.fields["signature"] == "ray.owner_died"


@pytest.mark.parametrize(
    "form", [log_made.journal_export, log_made.journal_verbose, log_made.journal_json]
)
def test_sizes_that_journald_tells_are_no_times_of_copies(
    tmp_path: Path, form: Callable[..., bytes | str]
) -> None:
    size = {"MAX_USE": "1263742976", "LIMIT": "1263742976", "AVAILABLE": "1255354368"}
    text = form(journal_fields("Journal is 8.0M", kernel=False, **size), journal_fields(PAUSED))
    (event,) = log_made.events(log_made.read(tmp_path / "journal", text))
    assert event.time_ns == AT_NS


def test_a_kernel_line_stays_before_those_of_the_next_second(tmp_path: Path) -> None:
    text = f"""2022-11-04T14:09:31 server kernel:[75215.928881] {PAUSED}
2022-11-04T14:09:31 server systemd[1]: {RESTART}
2022-11-04T14:09:32 server systemd[1]: {RESTART}
"""
    found = log_made.events(log_made.read(tmp_path / "messages", text))
    assert [event.time_ns // NS % 60 for event in found] == [31, 31, 32]
    assert found[0].fields["signature"] == "ena.tx_paused"


def test_what_kdump_left_is_of_the_time_that_its_folder_is_named_after(tmp_path: Path) -> None:
    folder = tmp_path / "127.0.0.1-2026-11-15-20:20:12"
    folder.mkdir()
    text = both("[    1.000000] ", "[  298.261679] ")
    path = folder / "vmcore-dmesg.txt"
    path.write_text(text)
    (piece, *_) = kernel_log.read(Source.of(path), made.context(tmp_path))
    assert piece.claim is not None
    assert piece.claim.how == "guessed: its last line was new when its name says; --offset sets it"
    assert piece.claim.offset_ns + UPTIME_NS == (AT_NS // NS + 2) * NS
