from __future__ import annotations

import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from exhume.ingest.archives import MOST_DEPTH
from exhume.ingest.not_read import explained
from tests.ingest import made
from tests.ingest.made import by_name, do_import
from tests.ingest.sysstat import HEADER
from tests.ingest.test_snapshots import STAT

SADF = (
    '{"sysstat": {"hosts": [{"nodename": "gpu-7", "statistics": [{"timestamp": {"utc": 1}}]}]}}\n'
)

# As runtime/pprof of Go begins: samples in counts, cpu in nanoseconds, then the first sample.
PPROF = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x08"

SCRIPT = 3 * (
    "python 22901 [000]  3990.330323:    1003009 cpu-clock:ppp: \n"
    "\t          1fe6e9 find_setup+0x929 (/usr/lib/python3.11/numpy/umath.so)\n"
    "\tffffffff813ad48a update_se+0x1a ([kernel.kallsyms])\n\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[\n  {\n    "Id": "3f1d",\n    "Name": "/agent",\n    "RestartCount": 512\n  }\n]\n',
            "`crictl",
        ),
        (
            "CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   NET I/O   PIDS\n",
            "`docker ps -a`",
        ),
        (" 20:15:17 up 9 min,  0 user,  load average: 5.23, 3.09, 1.35\n" * 3, "`uptime`"),
        ("     16384 K total memory\n      4096 K used memory\n", "`vmstat`"),
        ("processor\t: 0\nvendor_id\t: GenuineIntel\n", "/proc/cpuinfo"),
        (f"20:15:17 {39:7}{' 0.00' * 9} 100.00\n20:15:18 {39:7}{' 1.00' * 10}\n", "`mpstat -P ALL"),
        ("top - 20:15:17 up 9 min,  0 user,  load average: 5.23, 3.09, 1.35\n", "`top`"),
        (
            "*100 kpps*\nAverage:     CPU    %usr   %nice    %sys   %idle\n"
            "Average:       0    3.81    0.00    0.79   95.40\n",
            "averages of mpstat, without times",
        ),
        (
            " 0/0 [006] sched:sched_switch: prev_comm=swapper/6 ==> next_comm=rcuos/2\n"
            "       ffffffff817297f0 __schedule\n       ffffffff810bf66e cpu_startup_entry\n\n",
            "text of perf script without times",
        ),
        ("procs -----------memory---------- ---swap--\n r  b   swpd\n", "`vmstat`"),
        ("--procs-- -----------memory---------- ---swap--\n   r    b\n", "`vmstat`"),
        ("1794773717\n    PID PSR %CPU COMMAND\n      1   0  0.0 init\n", "`ps`"),
        (HEADER.format("11/15/26") + "\navg-cpu:  %user   %nice\n", "`iostat`"),
        ("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n", "`ps`"),
        ("               total        used        free      shared\n", "/proc/meminfo"),
        (SADF, "sar -P ALL"),
        (
            "# hostname;interval;timestamp;CPU;%user\ngpu-7;1;2026-11-15 20:15:17 UTC;-1;8\n",
            "sar -P",
        ),
        (
            HEADER.format("11/15/26") + "\n20:15:17     CPU       HI/s    TIMER/s\n",
            "mpstat -P ALL 1",
        ),
        (
            "NAME      READY   STATUS    RESTARTS   AGE\na-0       1/1     Running   0     3d\n",
            "pods",
        ),
        (
            "LAST SEEN   TYPE      REASON    OBJECT  MESSAGE\n12s  Warning  BackOff  pod/a  x\n",
            "Kubernetes events",
        ),
        (
            "● foo.service - Foo\n     Loaded: loaded (/lib/foo.service)\n     Active: active\n",
            "`systemctl status`",
        ),
        (
            '{\n    "events": [\n        {"timestamp": 1773446700500, "message": "x"}\n    ]\n}\n',
            "jq -c",
        ),
        (
            "Linux version 6.1.0\nwatchdog: BUG: soft lockup - CPU#3 stuck for 22s! [foo:123]\n",
            "without their times",
        ),
        (
            "guest-4 [    1.000000] Linux version 6.1.0\n"
            "guest-4 [  740.3163] watchdog: a line that was changed\n"
            "guest-4 [  764.649502] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [foo:123]\n",
            "something before their times: `grep -o",
        ),
        ("> " + "> ".join(SCRIPT.splitlines(keepends=True)), "sed 's/^[> ]*//'"),
        (
            "> > a 1 [000] 3990.330323: 100 cycles:  ffffffff81000000 f ([k])\n" * 3,
            "sed 's/^[> ]*//'",
        ),
        (SCRIPT.replace("python3.11/", "python3.11/\n"), "broke in two"),
        (
            SCRIPT.replace("ppp: \n\t          1fe6e9", "ppp:   1fe6e9").replace(
                "[000]  3990.330323: ", ""
            ),
            "import its perf.data",
        ),
        (
            SCRIPT.replace(
                "python 22901 [000]  3990.330323:    1003009 cpu-clock:ppp: ", "python "
            ),
            "without thread ids",
        ),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "git lfs pull"),
        ("\n<!DOCTYPE html>\n<html><head></head></html>\n", "a web page"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "y">\n<svg version="1.1">\n',
            "a picture",
        ),
        ('{"$schema":"https://www.speedscope.app/file-format-schema.json"}\n', "another viewer"),
        ('{"meta":{"interval":1,"stackwalk":1},"threads":[]}\n', "another viewer"),
        ("# Samples: 12K of event 'cycles'\n#\n# Overhead  Command  Symbol\n", "perf report"),
        ("    12.34%  java     [kernel.kallsyms]  [k] walk\n", "perf report"),
        (
            "\n Performance counter stats for 'system wide':\n\n   53.70 msec cpu-clock\n",
            "perf stat",
        ),
        ("     0.051 ( 0.003 ms): true/16442 brk()    = 0x55e5a0c5d000\n", "`perf trace`"),
        ("     0.051 my prog/16442 syscalls:sys_enter_mmap(len: 64129)\n", "`perf trace`"),
        (
            "         ? (         ): true/16442  ... [continued]: execve())  = 0\n" * 2
            + "     0.051 ( 0.003 ms): true/16442 brk()    = 0x55e5a0c5d000\n",
            "`perf trace`",
        ),
        ("           time    cpu  task name          wait time  sch delay\n", "timehist"),
        ("          <idle>-0     [001] d..2.  1234.567890: sched_switch: x\n", "trace-cmd"),
        ("cpus=4\n      my java-12   [001]  1234.568890: sched_switch:  java:12\n", "trace-cmd"),
        ("1794773717,352,240\n1794773727,352,240\n", "names of its columns"),
        ("time,cpu0,cpu1\n1794773717,10.5,100\n1794773718,12,100\n", "(cpu0, cpu1)"),
        (f"20:15:17\n{STAT.format(a=1, b=2)}20:15:18\n{STAT.format(a=2, b=3)}", "date +%s"),
    ],
)
def test_what_is_not_read_is_named_and_what_would_do_is_said(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = made.write(tmp_path / "x.txt", text)
    report = by_name(do_import(tmp_path / "out", path))["x.txt"]
    assert report.state == "failed"
    assert expected in report.problems[0]
    assert report.problems[0].startswith(f"{path}, offset 0: ")


@pytest.mark.parametrize("fields", ["worker ", "worker cpu-clock: ", ""])
def test_text_of_perf_script_without_thread_ids_and_times_is_told_how_to_get_them(
    tmp_path: Path, fields: str
) -> None:
    frames = "\tffffffff81003004 walk+0x4\n\t          400123 main\n\n"
    path = made.write(tmp_path / "x.txt", f"{fields}\n{frames}" * 5)
    (report,) = do_import(tmp_path / "out", path).inputs
    assert report.state == "failed"
    assert "`perf script -F comm,pid,tid,cpu,time," in report.problems[0]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_of_a_compressed_file_that_is_cut_off_at_its_beginning_that_is_said(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(random.Random(7).randbytes(5000))
    path = made.write(tmp_path / "perf.data.z", packed[: len(packed) // 2])
    (report,) = do_import(tmp_path / "out", path).inputs
    assert report.state == "failed"
    assert f"offset {len(packed) // 2}: the compressed data is cut off" in report.problems[0]
    assert report.problems[0].startswith(path)


@given(st.binary(max_size=300))
def test_of_most_files_nothing_is_known(head: bytes) -> None:
    assert isinstance(explained(head), str)
    assume(b"PERFILE2" not in head)  # of a capture behind a greeting something is known
    assert explained(b"Dear all,\n" + head.replace(b"\n", b" ")) == ""


def test_what_is_read_and_holds_nothing_says_so(tmp_path: Path) -> None:
    heading = "20:15:17      UID       PID    %usr %system  %guest    %CPU   CPU  Command\n"
    path = made.write(tmp_path / "x.txt", HEADER.format("11/15/26") + "\n" + heading)
    report = by_name(do_import(tmp_path / "out", path))["x.txt"]
    assert (report.format, report.state) == ("pidstat", "imported")
    assert report.notes == ("there is nothing in it that can be asked about",)


def tar(inside: bytes = b"") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("perf.data")
        member.size = len(inside)
        archive.addfile(member, io.BytesIO(inside))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("perf.data", b"x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (tar(), "tar archive"),
        (zipped(), "zip archive"),
        (b"\x7fELF\x02\x01\x01", "--symfs"),
        (b"# To display the perf.data header info, please use --header\n#\n", "perf report"),
        (b"java;start;run 12\nswapper;idle 3\n", "folded stacks"),
        (b"swapper 12\njava;start;run 3.5\n", "folded stacks"),
        (b"java;start;run 12\n", "folded stacks"),
        (b"the run; its length 12\nis not told\n", ""),
        (b"Samples: 12K of event 'cycles', Event count (approx.): 93\n", "perf report"),
        (b"-   95.61%     0.00%  qemu  [guest.kernel.kallsyms]  [g] walk\n", "perf report"),
        (b'{"meta":{"interval":1,"processType":0},"threads":[]}', "another viewer"),
        (b'[{"name":"a","ph":"X","ts":1}]', "another viewer"),
        (PPROF, "pprof"),
        (b"FLR\0\0\2", "Flight Recorder"),
        (b"SIMPLEPERF\1\0", "report_sample.py"),
        (b"sample:\n  event_type: cpu-cycles\n", "report_sample.py"),
        (b'{\n\t"linux-perf-json-version": 1,', "`perf data convert`"),
        (b"\n0x1e8 [0x20]: event: 79\n.\n. ... raw event: size 32 bytes\n", "without -D"),
        (b"0 0x1e8 [0x20]: PERF_RECORD_TIME_CONV: unhandled!\n", "without -D"),
        (b" Percent |\tSource code & Disassembly of libc.so\n", "`perf annotate`"),
        (b"  Task          |   Runtime ms  |  Count   |\n", "`perf sched latency`"),
        (b"#           time             counts unit events\n", "`perf stat -I`"),
        (b"Attaching 1 probe...\n@[\n    do_idle+444\n]: 12\n", "bpftrace"),
        (b"Sampling at 49 Hertz of all threads by user + kernel stack\n", "bcc"),
        (2 * b"  CPU 0/KVM 1440 [001] ffffffff82133cfc run+0x5 ([k])  movq %rax\n", "comm,pid"),
        (2 * b"  bash 309/309 cpu-clock:  ffffffff8158c187 next_folio\n", "comm,pid"),
        (2 * b"  bash [000]  4558.998499: sched:sched_switch: prev_comm=bash\n", "thread ids"),
        (b"WARNING: restricted\nPERFILE2\x10", "tail -c +21"),
        (b"exhume [000] 65885.778827: cpu-clock: \n\tffffffff816199c0 walk\n", "-F comm,pid,tid"),
        (b"\n\t          2ba7ab visit_reachable (/bin/a)\n\n", "without thread ids"),
        (b"a list:\n\tfeed beef\n\t0123456789abcdef\n", ""),
        (b'{"items": [{"kind": "Event", "involvedObject": {"kind": "Pod"}}]}', ".items[]"),
        (b'  "stdout": [\n    "[  298.261679] NVRM: Xid (PCI:0000:3b:00): 79, x",\n', "grep -o"),
        (b"NVRM: Xid (PCI:0000:3b:00): 79, x\n", "without --notime"),
        (
            b"It is busy:\n\n  a\n  b\n  20:15:17  CPU  %usr  %sys  %soft  %idle\n"
            b"  20:15:18    0  1.00  2.00   3.00  94.00\n",
            "a table of mpstat",
        ),
        (b"node 0 size: 13786 MB\nnode 0 free: 4685 MB\n", ""),
        (b"ATOP - node-7         2026/11/19  22:00:00   10s elapsed\n", "`atop`"),
        (b"----system---- ---load-avg---\n     time     | 1m   5m\n", "`dstat`"),
        (b"# HELP node_load1 1m load average.\n# TYPE node_load1 gauge\n", "Prometheus"),
        (b"@timestamp,@message\n2026-11-15 20:15:17.5,all is well\n" * 2, "a log as a table"),
        (b"time,nr_periods,nr_throttled\n1794773717,9,1\n1794773718,9,1\n", "cpu.stat"),
        (b'{"items":[{"status":{"containerStatuses":[{"restartCount":512}]}}]}', "crictl ps -a"),
        (b"a letter\n", ""),
        (b"", ""),
    ],
)
def test_what_people_have_beside_captures_is_named(head: bytes, told: str) -> None:
    found = explained(head)
    assert told in found if told else found == ""


@pytest.mark.parametrize("inside", [b"x", made.script(1.0).encode(), made.capture(1.0).file()])
def test_archives_in_too_many_archives_are_told_what_to_do_with(
    tmp_path: Path, inside: bytes
) -> None:
    """Not taken for what is in them: nothing is compressed in a tar."""
    packed = inside
    for _ in range(MOST_DEPTH + 1):
        packed = tar(packed)
    path = made.write(tmp_path / "night.bin", packed)
    *archives, last = made.do_import(tmp_path / "into", path).inputs
    assert {one.format for one in archives} == {"tar archive"}
    assert last.state == "skipped"
    assert "unpack it" in last.problems[0]
