from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.cli.render.top import render
from exhume.model.answers import CoreTimes, Filter, Top
from tests.cli.made_up import HOSTILE, VIEW, assert_harmless, drawn, look, top

AT_120 = """\
03:14:02 – 03:14:07 UTC · core 39 · 480 samples in 5 s

core times, % of that core
core   user  system  softirq  irq  steal  iowait   idle  worst second
  39  1.8 %    97 %    0.6 %  0 %    0 %     0 %  0.2 %         100 %

threads, % of one core
 time   user  system  usual      ×  on cores     pid  tid  process     belongs to
 95 %  2.1 %    93 %  0.8 %  119 ×  39, 12, 40  1204       kubelet     /system.slice/kubelet.service
2.5 %  2.5 %     0 %  2.4 %  1.0 ×  39            88   91  python
1.2 %  0.6 %   0.6 %    0 %    new  39             9       ecs-agent
1.2 %    0 %   1.2 %      –      –  39             0       swapper/39

frames, incl. and self in % of the selection, core and usual in % of one core
incl.   self   core    usual         ×  in      frame                          module
 96 %    0 %   95 %    0.8 %     119 ×  user    runtime.goexit                 kubelet
 73 %   67 %   72 %  < 0.1 %  > 1000 ×  kernel  mem_cgroup_nr_lru_pages        [kernel]
6.2 %  6.2 %  6.2 %        –         –  kernel  ⚠ _raw_spin_unlock_irqrestore  [kernel]
⚠ interrupts were off before here: the time belongs to its caller (exhume flame)

Note: 12 samples were lost on core 39
"""


def shown(answer: Top, width: int = 120, *, colour: bool = False) -> str:
    return drawn(render(answer, VIEW, look(width, colour=colour)), width, colour=colour)


def test_the_answer_on_one_screen() -> None:
    assert shown(top()) == AT_120


def test_a_number_that_nobody_told_is_not_shown() -> None:
    answer = top()
    nobody = replace(answer.processes[1], pid=None, tid=None)
    assert "39          ?  python" in shown(replace(answer, processes=(nobody,)))
    text = shown(replace(answer, processes=(nobody, answer.processes[1])))
    assert "?    ?  python" in text
    assert "None" not in text


def test_figures_are_never_cut_for_names() -> None:
    text = shown(top(comm="x" * 300, frame_name="y" * 300), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert " 95 %  2.1 %    93 %  0.8 %  119 ×  39, 12, 40  1204" in text
    assert "72 %  < 0.1 %  > 1000 ×  kernel  yyy" in text
    assert "…" in text


@pytest.mark.parametrize("width", [30, 40, 60])
def test_on_a_narrow_screen_who_it_was_is_seen_all_the_same(width: int) -> None:
    text = shown(top(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "1204" in text
    assert "kubelet" in text
    assert "mem_cgroup_nr_" in text
    assert "worst second" in text
    assert "no room for" in text


def test_only_processes_need_no_column_for_threads() -> None:
    answer = top()
    processes = tuple(replace(row, tid=None) for row in answer.processes)
    text = shown(replace(answer, processes=processes))
    assert "processes, % of one core" in text
    assert " tid " not in text


def test_of_many_cores_those_with_the_worst_second_are_shown() -> None:
    cores = tuple(
        CoreTimes(core, 1, 1, 0, 0, 0, 0, 98, 100.0 if core == 39 else 2.0) for core in range(96)
    )
    text = shown(replace(top(), core_times=cores))
    assert "the 8 with the worst second of 96" in text
    assert "\n  39 " in text


def test_no_samples_are_told_apart_from_no_work() -> None:
    empty = Top(top().window, Filter(), 5.0, 0, (), (), (), ())
    assert "No samples: the cores were idle." in shown(empty)
    unsampled = replace(empty, seconds_recorded=0.0)
    assert "No samples were taken in this window." in shown(unsampled)
    assert "idle" not in shown(unsampled)


@pytest.mark.parametrize(
    ("seconds_sampled", "said"),
    [
        (0.0, "No samples: only counters were recorded."),
        (5.0, "No samples of this, though cores were busy."),
    ],
)
def test_cores_whose_times_say_that_they_were_busy_are_not_said_to_be_idle(
    seconds_sampled: float, said: str
) -> None:
    full = CoreTimes(1, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0)
    text = shown(Top(top().window, Filter(), seconds_sampled, 0, (), (), (full,), ()))
    assert said in text
    assert "the cores were idle" not in text


def test_the_filter_is_said() -> None:
    chosen = Filter((1, 2, 3), ("a", "b"), (7,), (), ("/x",), ("softirq",))
    text = shown(replace(top(), filter=chosen), 200)
    assert "cores 1–3 · process a, b · pid 7 · cgroup /x · mode softirq" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    answer = top(comm=name, frame_name=name)
    processes = tuple(replace(row, cgroup=name) for row in answer.processes)
    hostile = replace(
        answer, processes=processes, notes=(name,), filter=Filter(comms=(name,), cgroups=(name,))
    )
    assert_harmless(shown(hostile))
    assert_harmless(shown(hostile, 60))
    if "markup" in name:
        assert "[bold red]markup[/]" in shown(hostile, 200)
