from __future__ import annotations

from msgspec.structs import replace

from exhume.cli.render.irqs import render
from exhume.model.evidence import IrqsAnswer
from tests.cli.made_up import VIEW, drawn, look
from tests.cli.render import evidence

AT_80 = """\
interrupts · 03:10:00 – 03:20:00 UTC

lines, and how busy the core was that each goes to
a second  at most  core  its mean  worst second  serves        irq  name
   9,000   12,000    39      31 %  100 % system  eth0 tx+rx 0   30  eth0-Tx-Rx-0
    90.5      300    39      31 %  100 % system  eth0 tx+rx 1   31  eth0-Tx-Rx-1
    0.02        1     –         –             –                  9  acpi
Not shown: 1 quieter or system line (--all), 12 lines that never fired.

cores: work for the network; squeezed and dropped in the whole window · no room
for interrupts/s
core  its mean  worst second  NET_RX/s  packets/s  squeezed  dropped  queues
  39      31 %  100 % system     8,000     81,000       120       17       2
  40      12 %     30 % user         0          –         –        –

threads that serve the network: how long each was ready and not run
waited  worst second        at  ran  thread
   7 s           6 s  03:15:00  3 s  ksoftirqd/39
  1 ms          1 ms  03:16:40    –  eth0-Tx-Rx-0

⚠ eth0-Tx-Rx-0: all of its 2 queues interrupt core 39 (100 % of its interrupts).
One full core stops them together.
ksoftirqd/39 was ready and not run for 6 s before 03:15:00.
Core 39 was full for a second or longer (mostly system), and serves
eth0-Tx-Rx-0, eth0-Tx-Rx-1.
Note: a note on eth0-Tx-Rx-0
"""


def shown(answer: IrqsAnswer, width: int = 80, *, everything: bool = False) -> str:
    text = drawn(render(answer, VIEW, look(width), everything=everything), width)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_the_answer_on_one_screen() -> None:
    assert shown(evidence.irqs()) == AT_80


def test_everything_has_system_lines_and_idle_threads() -> None:
    few, every = shown(evidence.irqs()), shown(evidence.irqs(), everything=True)
    assert "LOC" not in few
    assert "25,000" in every
    assert "  quiet\n" not in few
    assert "  quiet\n" in every
    assert "Not shown: 12 lines that never fired.\n" in every
    nothing_left = shown(replace(evidence.irqs(), silent_lines=0), everything=True)
    assert "Not shown" not in nothing_left


def test_of_many_cores_those_that_lost_most_are_shown() -> None:
    answer = evidence.irqs()
    many = tuple(
        replace(answer.cores[1], core=core, dropped=9 if core == 77 else 0) for core in range(96)
    )
    text = shown(replace(answer, cores=many))
    assert "12 of 96" in text
    assert "\n  77 " in text


def test_a_window_without_devices_says_so() -> None:
    empty = replace(evidence.irqs(), lines=(), cores=(), threads=(), crowded=())
    assert "No interrupt of a device was recorded in this window." in shown(empty)
