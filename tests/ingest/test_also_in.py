"""What a text has beside what it is read as."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.log_made import PAUSED
from tests.ingest.made import by_name, do_import, write
from tests.ingest.sysstat import IDLE
from tests.ingest.sysstat import mpstat as table_of
from tests.ingest.test_snapshots import CGROUPS

PROMPT = "[root@node-3 ~]# "
DMESG = f"{PROMPT}dmesg | tail -2\n[  298.261679] {PAUSED}\n[  299.261679] {PAUSED}\n"
COPY = f"{PROMPT}cat /proc/cgroups\n{CGROUPS}"
MPSTAT = f"{PROMPT}mpstat -P ALL 1\n{table_of([{0: IDLE}] * 3)}"
DATED = f"{PROMPT}date\nSun Nov 15 20:15:17 UTC 2026\n"


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (MPSTAT + DMESG + COPY, "mpstat", "lines of a kernel log and a copy of cgroups"),
        (DATED + COPY + DMESG, "/proc copies", "lines of a kernel log"),
        (COPY + DMESG, "/proc copy", "lines of a kernel log"),
        (DMESG + COPY, "kernel log", "a copy of cgroups"),
        (DMESG * 40 + MPSTAT, "kernel log", "a table of mpstat"),
        (MPSTAT, "mpstat", ""),
        (DATED + COPY, "/proc copies", ""),
        (DMESG, "kernel log", ""),
        (DATED + COPY + "a [  298.261679] quoted\n", "/proc copies", ""),
    ],
)
def test_what_a_file_has_beside_what_it_is_read_as_is_told(
    tmp_path: Path, text: str, name: str, told: str
) -> None:
    report = by_name(do_import(tmp_path / "out", write(tmp_path / "pasted.txt", text)))
    one = report["pasted.txt"]
    assert one.format == name
    also = [note for note in one.notes if note.startswith("it also has ")]
    assert also == ([f"it also has {told}, which is left out: put each into a file of its own"]
                    if told else [])  # fmt: skip
