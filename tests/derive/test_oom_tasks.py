"""Who had the memory, by the list that the kernel prints before it kills."""

from __future__ import annotations

import pytest

from exhume.derive.log_events import LogLine, events_of
from exhume.derive.signatures import FieldValue, kernel_log

NEW = """\
[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name
[    101]     0   101      877      300        0      300         0    49152        0             0 api
[    102]  1000   102    16247    15700    15400      300         0   180224        0           500 store
[   1103]     0  1103    36481    34000    33700      300         0   331776        0          -900 agent worker
Memory cgroup out of memory: Killed process 102 (store) total-vm:64988kB, anon-rss:61568kB, \
file-rss:1200kB, shmem-rss:0kB, UID:0 pgtables:176kB oom_score_adj:500
"""  # noqa: E501
OLD = """\
[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name
[  101]     0   101      877      300       4        0             0 api
[  102]  1000   102    16247    15700      40        0           500 store
[ 1103]     0  1103    36481    34000      90        0          -900 agent worker
Memory cgroup out of memory: Kill process 102 (store) score 570 or sacrifice child
Killed process 102 (store) total-vm:64988kB, anon-rss:61568kB, file-rss:1200kB
"""
OLDEST = """\
[ pid ]   uid  tgid total_vm      rss cpu oom_adj oom_score_adj name
[  101]     0   101      877      300   0       0             0 api
[  102]  1000   102    16247    15700   1       8           500 store
[ 1103]     0  1103    36481    34000   0     -16          -900 agent worker
Killed process 102, UID 1000, (store) total-vm:64988kB, anon-rss:61568kB, file-rss:1200kB
"""


def of_kill(text: str, every_ns: int = 1_000) -> dict[str, FieldValue]:
    lines = [LogLine(10**12 + i * every_ns, line) for i, line in enumerate(text.splitlines())]
    (kill,) = (
        one for one in events_of(lines, kernel_log()) if one.fields.get("signature") == "oom.kill"
    )
    names = ("own_percent", "largest_comm", "largest_pid", "largest_percent")
    return {name: kill.fields[name] for name in names if name in kill.fields}


@pytest.mark.parametrize("text", [NEW, OLD, OLDEST], ids=["6.x", "3.x", "2.6"])
def test_the_line_of_a_kill_tells_who_had_most(text: str) -> None:
    assert of_kill(text) == {
        "own_percent": 31.4,
        "largest_comm": "agent worker",
        "largest_pid": 1103,
        "largest_percent": 68.0,
    }


def test_of_another_list_it_tells_nothing() -> None:
    assert of_kill(NEW.replace("[    102]", "[    999]")) == {}
    assert of_kill(NEW, every_ns=11_000_000_000) == {}, "a list that is minutes old"
    assert of_kill(NEW.split("\n", 1)[1]) == {}, "rows below no head"


def test_a_row_that_was_cut_is_left_out() -> None:
    assert of_kill(NEW.replace("    34000    33700      300 ", " "))["largest_comm"] == "store"
