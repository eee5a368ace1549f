from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from exhume.cli.figures import NS
from exhume.cli.render.zombies import render
from exhume.model.memcgs import Slope, ZombieParent, ZombiesAnswer
from tests.cli.made_up import VIEW, drawn, look
from tests.cli.render import evidence

AT_80 = """\
memory cgroups · 03:10:00 – 03:20:00 UTC · Linux 5.4.0-1146-aws

  tracked    68,680  kept by the kernel
     live       240  with a directory
  zombies    68,440  +360 an hour, mostly +350 to +372, over 9 m (10 counts)
    68,386 – 68,440  ▁▁▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇██████
                     ┬──────────┬───────────┬───────────┬───────────┬───────────
                     03:10      03:12       03:14       03:16       03:18
    empty         3  live but empty: leaked directories, which are no zombies

when walks become long at +360 an hour
  one walk takes 1 s from 14,286 zombies on: already
  one walk takes 5 s from 71,429 zombies on: in 1 d 7 h, 2024-05-02 10:20
  Assumed: 0.07 ms a zombie and walk, as on bare metal (kernel commit
  dd8657b6c1cb). On Linux 5.4.0-1146-aws what walks them all is reading v1's
  memory.numa_stat, without letting others run: the network's thread on that
  core waits as long.

who holds them: memory of dead children, by parent (v1)
  tmpfs  page cache  anonymous  parent                     pinned by
267 MiB     4.0 KiB        0 B  /system.slice/ecs.service  tmpfs or shared memo…

by name in this window, ids folded to *; left: removed and not let go
left  born  removed  released  born an hour  name
  60    60       60         0           360  /system.slice/ecs.service
  59    60       60         1           360  /system.slice/ecs.service1
  58    60       60         2           360  /system.slice/ecs.service2
  57    60       60         3           360  /system.slice/ecs.service3
  56    60       60         4           360  /system.slice/ecs.service4
  55    60       60         5           360  /system.slice/ecs.service5
  54    60       60         6           360  /system.slice/ecs.service6
  53    60       60         7           360  /system.slice/ecs.service7
  52    60       60         8           360  /system.slice/ecs.service8
  51    60       60         9           360  /system.slice/ecs.service9
And 2 more names; --json lists them.

memory  per-CPU data 21.2 GiB (+112 MiB an hour), unreclaimable slab 858 MiB:
330 KiB a zombie, 21.5 GiB in all

missing: who holds /system.slice/ecs.service
Note: a note on /system.slice/ecs.service
"""


def shown(answer: ZombiesAnswer, width: int = 80) -> str:
    text = drawn(render(answer, VIEW, look(width)), width)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_the_answer_on_one_screen() -> None:
    assert shown(evidence.zombies()) == AT_80


def test_a_kernel_that_lets_others_run_is_told_as_such() -> None:
    answer = evidence.zombies()
    assert answer.outlook is not None
    newer = replace(answer.outlook, kernel="6.18", walker="reclaim", reschedules=True)
    text = " ".join(shown(replace(answer, outlook=newer)).split())
    assert "it burns a core and starves nobody on it" in text
    assert "memory.stat and memory.numa_stat no longer walk them (5.2, 5.8)" in text


def test_without_growth_it_never_hurts() -> None:
    answer = evidence.zombies()
    assert answer.outlook is not None
    walks = tuple(replace(walk, in_ns=None) for walk in answer.outlook.walks)
    calm = replace(answer, growth=None, outlook=replace(answer.outlook, walks=walks))
    text = shown(calm)
    assert "growth not known: too few valid counts" in text
    assert text.count("zombies on: not known") == 2
    still = shown(replace(calm, growth=Slope(0.0, 0.0, 0.0, 10, 540 * NS)))
    assert "no growth over 9 m (10 counts)" in still
    assert still.count("never at this rate") == 2
    counts = calm.counts.copy()
    counts[-1] = 0
    assert "since most were let go" in " ".join(shown(replace(calm, counts=counts)).split())


def test_how_fast_they_grow_is_never_cut() -> None:
    growth = Slope(230_590.0, 221_545.0, 240_292.0, 36, 358 * NS)
    for width in (50, 80):
        text = shown(replace(evidence.zombies(), growth=growth), width)
        assert max(map(len, text.splitlines())) <= width
        words = "+230,590 an hour, mostly +221,545 to +240,292, over 5 m 58 s (36 counts)"
        assert words in " ".join(text.split())


def test_a_century_is_no_date() -> None:
    answer = evidence.zombies()
    assert answer.outlook is not None
    walks = tuple(replace(walk, in_ns=10**21) for walk in answer.outlook.walks)
    text = shown(replace(answer, outlook=replace(answer.outlook, walks=walks)))
    assert "in more than 10 years" in text


def test_v2_counts_by_parent() -> None:
    parent = ZombieParent("/kubepods.slice", 900, None, None, None, 0)
    text = shown(replace(evidence.zombies(), parents=(parent,)))
    assert "    900  /kubepods.slice" in text
    assert "cgroup v2 does not tell what pins them" in text


def test_nothing_counted_leaves_what_is_missing() -> None:
    none = np.empty(0, np.int64)
    answer = replace(
        evidence.zombies(), tracked=None, live=None, zombies=None, growth=None, parents=(),
        names=(), outlook=None, percpu_bytes=None, slab_bytes=None, wall_ns=none, counts=none,
    )  # fmt: skip
    assert shown(answer).splitlines()[2].startswith("missing: ")


def test_what_was_measured_is_told_apart_from_what_is_assumed() -> None:
    answer = evidence.zombies()
    assert answer.outlook is not None
    found = replace(answer.outlook, seconds_per_zombie=0.81e-3, measured_walks=9,
                    longest_seconds=14.26)  # fmt: skip
    text = " ".join(shown(replace(answer, outlook=found)).split())
    assert "Measured: 0.81 ms a zombie, in the median of 9 walks here, of" in text
    assert "of which the longest took 14.3 s." in text
    assert "Assumed" not in text
