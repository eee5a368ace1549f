from __future__ import annotations

from msgspec.structs import replace

from exhume.cli.render.series import render
from exhume.model.evidence import SeriesReport
from tests.cli.made_up import VIEW, drawn, look
from tests.cli.render import evidence

AT_80 = """\
irq.count · interrupts/s by irq · 03:10:00 – 03:20:00 UTC
Interrupts of one line of /proc/interrupts, all cores together.

                                                        least  mean  most  last
30 eth0-Tx-Rx-0 ▇████▇▅·····▇████▇▅▄▃▃▄▅▇████▆▅▄▃▃▄▅▇█   50.0   107   150   145
30 eth0-Tx-Rx-0 ▇████▇▅·····▇████▇▅▄▃▃▄▅▇████▆▅▄▃▃▄▅▇█   50.0   107   150   145
30 eth0-Tx-Rx-0 ▇████▇▅·····▇████▇▅▄▃▃▄▅▇████▆▅▄▃▃▄▅▇█   50.0   107   150   145
                ┬──────────────────┬──────────────────
                03:10              03:15

The 3 most active of 7 in 10 m; --limit shows more, and names or patterns after
the field choose.
Note: 30 eth0-Tx-Rx-0
"""


def shown(answer: SeriesReport, width: int = 80) -> str:
    text = drawn(render(answer, VIEW, look(width)), width)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_the_answer_on_one_screen() -> None:
    assert shown(evidence.series()) == AT_80


def test_units_are_those_of_people() -> None:
    assert "bytes · 03:10:00" in shown(evidence.series("", "memory.percpu_bytes"))
    assert "150 B" in shown(evidence.series("", "memory.percpu_bytes"))
    assert "< 0.01 ms/s" in shown(evidence.series("x", "netthread.wait_ns"))


def test_resets_have_a_column_only_where_there_are_some() -> None:
    assert "resets" not in shown(evidence.series())
    assert "  last  resets\n" in shown(evidence.series(resets=3))


def test_a_field_of_the_node_has_no_name() -> None:
    first = shown(evidence.series("", "memcg.tracked")).splitlines()[4]
    assert first.startswith("▆▇█")


def test_long_names_are_cut_and_figures_are_not() -> None:
    text = shown(evidence.series("x" * 200))
    assert "…" in text
    assert "50.0   107   150   145" in text


def test_nothing_recorded_is_said() -> None:
    text = shown(replace(evidence.series(), series=(), left_out=0))
    assert "irq.count was not recorded in this window." in text
