"""Files that people have too, and that are not read: what they are, and what would do instead."""

from __future__ import annotations

import re

from exhume.ingest.csv_table import strange_columns
from exhume.ingest.kernel_lines import unsaid
from exhume.ingest.lines import head_lines
from exhume.ingest.mpstat_columns import layout_of
from exhume.ingest.mpstat_header import HEADER
from exhume.ingest.snapshots_marks import TODO as MARK_TODO
from exhume.ingest.snapshots_sections import sections
from exhume.ingest.snapshots_wrapped import whole_lines
from exhume.perf.datafile import MAGICS

_SAR = "`sar -P ALL -f FILE` prints it as text that can be imported"
_CORES = "`mpstat -P ALL 1` tells of single cores, `pidstat -u 1` of processes"
_UNPACK = "unpack it, and import the folder"
_PERF = "import its perf.data, or the text of `perf script`"
_FIELDS = "`perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso` writes them"
_RECORD = "`perf record -a -g`, and its perf.data, tell who was on which core"
_HEAD_BYTES = 1 << 14
_MOST_LISTED = 6
_MESSAGES = frozenset({"message", "@message", "msg", "log", "_raw", "content", "Message"})
# How each begins, or what one of its first lines is.
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (rb"\A\x04\x22\x4d\x18", "a file that lz4 made", "unpack it first"),
    (rb"\APK\x03\x04", "a zip archive", _UNPACK),
    (rb"\A7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (rb"(?s)\A.{257}ustar", "a tar archive", _UNPACK),
    (rb"\A\x7fELF", "a program or a core dump", "give its folder with --symfs"),
    (
        rb"\Aversion https://git-lfs\.github\.com/spec/",
        "a pointer of Git LFS instead of the file",
        "`git lfs pull` in its repository fetches that",
    ),
    (
        rb"(?i)\A\s*<!doctype html|\A\s*<html",
        "a web page",
        "if it shows a capture, download that itself (on GitHub: Raw)",
    ),
    (rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg\b", "a picture (SVG)", _PERF),
    (
        rb'\A\s*\{.{0,200}?(?:speedscope\.app/file-format|"traceEvents"|"callFrame"|"stackwalk"'
        rb'|"processType"|"preprocessedProfileVersion")|\A\s*\[\s*\{[^{}]{0,300}"ph": ?"\w"',
        "a profile that another viewer's format holds",
        _PERF,
    ),
    (
        # Its sample types come first: two numbers of strings each.
        rb"(?s)\A(?:\x0a\x04\x08[\x01-\x7f]\x10[\x01-\x7f]){1,8}[\x12\x1a\x22\x2a\x32]",
        "a profile of pprof, without times",
        _PERF,
    ),
    (rb"\AFLR\x00", "a recording of Java's Flight Recorder", _RECORD),
    (
        rb"\ASIMPLEPERF|\Asample:\r?\n +event_type: ",
        "what `simpleperf report-sample` writes",
        "import its perf.data, or what simpleperf's report_sample.py writes of it",
    ),
    (rb'\A\s*\{\s*"linux-perf-json-version"', "JSON of `perf data convert`", _PERF),
    (
        rb"^\. \.\.\. raw event: size \d|^\d+ 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_",
        "the dump of a perf.data (`perf script -D`)",
        "import the perf.data, or the text of `perf script` without -D",
    ),
    (rb"^ Percent +\|\s+Source code & Disassembly", "what `perf annotate` shows", _PERF),
    (rb"^ +Task +\| +Runtime ms +\|", "what `perf sched latency` shows", _PERF),
    (
        rb"^@\w*\[\r?\n|^Sampling at \d+ Hertz of ",
        "stacks that bpftrace or bcc counted, without times",
        _RECORD,
    ),
    (
        # `    12.34%  java     [kernel.kallsyms]  [k] native_write_msr`, of the screen `+   12.34%`
        rb"\A# To display the perf.data header info|^# Overhead  .*Symbol"
        rb"|^(?:# )?Samples: .* of event|^[ +-] *\d+\.\d\d%.* \[[.kgu]\] \S",
        "the text of perf report, without times",
        _PERF,
    ),
    (
        rb"^ Performance counter stats for ",
        "what `perf stat` shows, of all its time together",
        "`mpstat -P ALL 1` tells of each second, `perf record -a -g` in which functions",
    ),
    (
        rb"^# +time +(?:\w+ +){0,2}counts unit events",
        "what `perf stat -I` shows",
        "`mpstat -P ALL 1` tells of single cores, `perf record -a -g` in which functions",
    ),
    (
        # `     0.051 ( 0.003 ms): true/16442 brk()     = 0x55e5a0c5d000`
        rb"^ +(?:\?|\d+\.\d{3}) (?:\([\d. ms]+\): )?\S[^\n]*/\d+ +[\w.:]+(?:\(| \[cont)",
        "what `perf trace` shows",
        _RECORD,
    ),
    (
        rb"^ +time +cpu +task name +wait time",
        "what `perf sched timehist` shows",
        _PERF,
    ),
    (
        # `          <idle>-0       [001] d..2.  1234.567890: sched_switch: …`
        rb"^ *\S[^\n]{0,40}-\d+ +(?:\( *[\d-]+\) +)?\[\d{3,}\] +(?:\S{4,6} +)?\d+\.\d{6}: \w",
        "a trace of ftrace or trace-cmd",
        _RECORD,
    ),
    (
        # Of a process without a stack, or of one line alone, too.
        rb"\A(?=(?:[^\n]*\n)?[^\n;]+;)(?:[^\n]* \d+(?:\.\d+)?(?:\r?\n|\Z)){2}"
        rb"|\A(?:[^\n;]+;)+[^\n;]* \d+(?:\r?\n)?\Z",
        "folded stacks, without times",
        "import the perf.data or the text of `perf script` that they were made of",
    ),
    (
        # `> perf 22901 [000]  3990.330323:    1003009 cpu-clock:ppp:`
        rb"^>[> ]*\S[^\n]* \d+\.\d{6,9}: ",
        "text of perf script as a mail quotes it",
        "`sed 's/^[> ]*//' FILE` writes it without the marks",
    ),
    (
        # A frame whose file has no end: `\t 1fe6e9 find+0x929 (/usr/lib/python3.11/`
        rb"^\t(?=[ 0-9a-f]{16} ) *[0-9a-f]+ [^\n]* \([^)\n]+\n(?!\t)",
        "text of perf script whose long lines a terminal broke in two",
        "`perf script > FILE` writes them whole",
    ),
    (
        # `w.sh 28791    1003009 cpu-clock:ppp:  ffffffff821c50d6 mas_mab_cp+0x1e6 ([kernel])`
        rb"^ *\S[^\n]* \d+ +(?:\[\d+\] +)?\d+ [a-zA-Z][\w:/,=.-]*: +[0-9a-f]{4,16} \S",
        "text of perf script without times and call chains",
        "import its perf.data, or record with `perf record -T`",
    ),
    (
        # `CPU 0/KVM  1440  ffffffff82133cfc vcpu_run+0x5c ([kernel.kallsyms])`,
        # `bash 30989/30989 cpu-clock:  ffffffff8158c187 next_folio`
        rb"(?:^ *\S[^\n]{0,40}[ /]\d+ +(?:\[\d+\] +)?"
        rb"(?:[a-zA-Z][\w:/,=.-]{0,60}: +[0-9a-f]{4,16} (?![KMG]?B$)"
        rb"|[0-9a-f]{6,16} [^\n(]{1,200} \([/[])[^\n]+\n){2}",
        "text of perf script without times",
        _FIELDS,
    ),
    (
        # `bash [000]  4558.998499: sched:sched_switch: prev_comm=…`: only stacks would tell it
        # from a log.
        rb"(?:^ *\S[^\n]{0,40} \[\d{3,}\] +\d+\.\d{6,9}: +\w+:\w+: ?[^\n]*\n){2}",
        "text of perf script without thread ids and stacks",
        _FIELDS,
    ),
    (
        # perf sets frames off by a tab, and their addresses are 16 wide.
        rb"^\t(?=[ 0-9a-f]{16} ) *[0-9a-f]+ \S",
        "text of perf script without thread ids and times",
        _FIELDS,
    ),
    (
        # `0/0 [006] sched:sched_switch: prev_comm=…`, and below it `  ffffffff817297f0 __schedule`
        rb"^ *\S[^\n]{0,80} [a-z][\w:/,=.-]{0,80}:(?: [^\n]{0,400})?\r?\n"
        rb"(?:[ \t]+[0-9a-f]{8,16} [^\s=]+[^\n]*\n){2}",
        "text of perf script without times",
        _FIELDS,
    ),
    (
        rb"^Average: +CPU +%us",
        "averages of mpstat, without times",
        "the whole text of `mpstat -P ALL 1` tells of each second",
    ),
    (rb"\A\x96\xd5|\A\xd5\x96", "a binary file of sar", _SAR),
    (rb'\A\s*\{\s*"sysstat"', "JSON of sadf", _SAR),
    (rb"\A# hostname;interval;timestamp", "a table of sadf", _SAR),
    (rb"\A<\?xml[^>]*>\s*<!DOCTYPE sysstat", "XML of sadf", _SAR),
    (rb"^ATOP - ", "what `atop` shows", _CORES),
    (rb"^-*(?:system|total-(?:cpu-)?usage|load-avg)-+ ", "what `dstat` shows", _CORES),
    (rb"^# HELP \w+ [^\n]*\n# TYPE ", "what a Prometheus exporter says", _CORES),
    (rb"^top - \d\d:\d\d:\d\d up ", "what `top` shows", _CORES),
    (rb"^-*procs-* -+memory|^ +\d+ K total memory$", "what `vmstat` shows", _CORES),
    (
        rb"^ ?\d\d:\d\d:\d\d +up .*load average: ",
        "what `uptime` shows",
        "copies of /proc/loadavg with a time above each can be imported; " + _CORES,
    ),
    (
        rb"^processor\t: \d+$",
        "a copy of /proc/cpuinfo",
        "`exhume fingerprint` on the node keeps what it is; " + _CORES,
    ),
    (
        # What `mpstat -P ALL 1 | grep ' 39 '` leaves.
        rb"\A(?:\d\d:\d\d:\d\d(?: [AP]M)? +(?:all|\d+)(?: +\d+[.,]\d+){9,12}\r?\n){2}",
        "a table of mpstat without the names of its columns",
        "the whole text of `mpstat -P ALL 1` tells them, or its first three lines above these",
    ),
    (rb"^avg-cpu: |^Device:? +(?:tps|r/s|rrqm/s)", "what `iostat` shows", _CORES),
    (
        rb"^ *(?:(?:USER|UID|PID|F S) +(?:PID|TTY|PPID|UID)\b|(?:[A-Z%]+ +)*%CPU).* "
        rb"(?:COMMAND|CMD)$",
        "what `ps` shows",
        _CORES,
    ),
    (rb"^ +total +used +free\b", "what `free` shows", "a copy of /proc/meminfo can be imported"),
    (
        # of `docker inspect`, `podman ps --format json`, `crictl ps -o json`
        rb'(?s)\A\s*[\[{].{0,8000}?"(?:RestartCount|restartCount|podSandboxId|AutoRemove)"\s*:',
        "JSON of containers",
        "the tables of `docker ps -a`, `podman ps -a` and `crictl ps -a` can be imported",
    ),
    (
        rb"^CONTAINER(?: ID)? +(?:NAME +)?CPU % +MEM",
        "what `docker stats` shows",
        "`docker ps -a` tells what starts again and again, " + _CORES,
    ),
    (
        rb"^(?:NAMESPACE +)?NAME +READY +STATUS +RESTARTS +AGE",
        "a list of pods",
        "`crictl ps -a` or `docker ps -a` on the node, and its journal, tell of restarts there",
    ),
    (
        rb"^(?:NAMESPACE +)?LAST SEEN +TYPE +REASON",
        "a list of Kubernetes events, with ages instead of times",
        "`crictl ps -a` on the node, and the kubelet's journal, tell of restarts there",
    ),
    (
        rb'(?s)\A\s*\{.{0,16000}"(?:involvedObject|regarding)"\s*:',
        "JSON of Kubernetes events",
        "`jq -c '.items[] | {time: (.lastTimestamp // .eventTime), message}'` makes a log of it",
    ),
    (
        rb"^(?:\xe2\x97\x8f|\xe2\x97\x8b|\xc3\x97|\*|\xe2\x86\xbb)? ?\S+\.service\b.*\n +Loaded: ",
        "what `systemctl status` shows",
        "`systemctl show '*.service'` with a time above it tells the same, and `journalctl -o "
        "short-iso -u UNIT` of each start",
    ),
    (
        rb'\A\s*\{\s*"events":\s*\[',
        "a list of events in one JSON object",
        "`jq -c '.events[]'` makes a log of it, with an object on each line",
    ),
    (
        rb"^UNIT FILE +STATE",
        "a list of unit files",
        "`systemctl list-units --all` or `systemctl show '*.service'` tell of what runs",
    ),
    (
        rb"\A\d[\d.:T Z/+-]{8,40}(?:[,;\t][-\d.]*)+\r?\n",
        "a table without names of its columns",
        "put a line like `time,memory_cgroups,live_dirs` above it",
    ),
)
_PATTERNS = tuple((re.compile(one, re.MULTILINE), what, todo) for one, what, todo in _OTHERS)


def explained(head: bytes) -> str:
    """`what it is: what to do`; empty where that is not known either."""
    at, begin = head.find(MAGICS[0]), head[:_HEAD_BYTES]
    for pattern, what, todo in _PATTERNS:
        if pattern.search(begin) and (at <= 0 or todo == _UNPACK):
            return f"it is {what}, which is not read: {todo}"
    if at > 0:  # `perf record -o - 2>&1`, or a greeting of ssh
        return f"at offset {at} a perf.data begins: cut off the rest with `tail -c +{at + 1}`"
    head = begin
    if columns := strange_columns(head):
        if not _MESSAGES.isdisjoint(columns):
            return (
                "it is a log as a table, which is not read: an export as JSON with an object on "
                "each line, or as text, can be imported"
            )
        if "nr_throttled" in columns:
            return (
                "it is a table of how often cgroups were stopped, which is not read: copies of "
                "their cpu.stat with a time above each can be imported"
            )
        return (
            f"it is a table with times, of whose columns none means anything here "
            f"({', '.join(columns[:_MOST_LISTED])}): names like memory_cgroups, live_dirs, zombies "
            "or percpu_kB do, and those of `exhume series`"
        )
    if said := unsaid(head_lines(head)):
        return said
    if any(layout_of(line.strip()) is not None for line in head.split(b"\n")):
        return (
            "it has a table of mpstat below or between other text: put that into a file of its "
            "own, with the line above it that has the date"
        )
    if HEADER.search(head):
        return f"it is a table of sysstat without times of cores or processes: {_CORES}"
    if any(one.kind not in ("count", "value") for one in sections(whole_lines(head))):
        return (
            "it has copies of /proc files or listings, and no line that says when they were "
            f"made: {MARK_TODO}"
        )
    return ""
