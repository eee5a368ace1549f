from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from exhume.cli.main import build_parser
from exhume.cli.render.why import render
from exhume.inquiry.runnable import case_on_data, on_data
from exhume.model.case import Case, Party, SinceFix
from tests.cli.made_up import HOSTILE, VIEW
from tests.cli.render.cases import NS, RISK, STALL, found, healthy, rejected

AT_80 = """\
FOUND  agent.service leaves a dead cgroup behind each time; statsd walks them
       all
       zombie-cgroups · high confidence

  when     03:18:00 – 03:18:06 UTC, 6 s; 3 times in this window
  where    CPU 39 · node-7 · Linux 5.4.0
  victim   health · job log
  payer    statsd (pid 12)
  culprit  agent.service

the chain                                                                O P D C
  symptom       health check timed out [e1]                              · ✓ · ·
  ◄ mechanism   statsd had CPU 39 in the kernel for 97 % of it [e2]      ✓ ✓ ✓ ✓
  ◄ root cause  agent.service was started 30 times [e3]                  ✓ ✓ ✗ ✓
  O the cause came first, P in the same place, D more of it, more harm, C quiet
  without it: ✓ passed, ✗ failed, · untested

the evidence, and how to check it
  e1  job log: health check timed out
      $ exhume events --data /srv/rec --at 1714533480 --for 9s
  e2  statsd had CPU 39
      $ exhume top --data /srv/rec --at 1714533480.000 --for 6.0s --core 39
  e3  agent.service was started 30 times
      $ exhume units --data /srv/rec --from 1714533000 --to 1714533600

ruled out
  ✗ sidecar (kernel-hog) it came later
  ✗ trainer (userspace-hog) had 0.0 % of CPU 39
  ✗ CPU 39 (cpu-steal) only 0.0 % was stolen then

suspects that remain
  ? statsd hogs CPU 39 (kernel-hog, medium confidence)

what to do now
  • systemctl stop agent.service

for good
  • repair it

to undo it
  • start it again

to see that it worked
  • exhume zombies --data /srv/rec --last 1h: the count stays flat
  • exhume why --data /srv/rec --since-fix TIME

Note: most of this window has no stack samples
"""


def shown(case: Case, width: int = 80) -> str:
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(render(case, VIEW, width), crop=False)
    return capture.get()


def test_the_report_on_one_screen() -> None:
    assert shown(case_on_data(found(), Path("/srv/rec"))) == AT_80


@pytest.mark.parametrize("width", [24, 40, 59, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_screen_or_ends_in_blanks(width: int) -> None:
    case = found(name="a-very-long-name-of-a-unit-" * 8 + ".service")
    for line in shown(replace(case, risks=(RISK,)), width).splitlines():
        assert len(line) <= max(width, 26)
        assert line == line.rstrip()


def test_a_healthy_node_is_told_in_a_few_lines() -> None:
    assert shown(healthy()).splitlines() == [
        "HEALTHY  nobody was harmed in this window",
        "  looked at 03:10:00 – 03:20:00 UTC · node-7 · Linux 5.4.0",
        "  No risks were seen either.",
    ]


def test_what_was_seen_meanwhile_is_said_to_be_tied_to_nothing() -> None:
    text = shown(replace(found(), meanwhile=(RISK,)))
    _, _, after = text.partition("seen at that time, not tied to it\n")
    assert after.startswith("  ! unit agent.service was started 30 times\n")


def test_a_healthy_node_with_a_risk_says_what_will_hurt() -> None:
    text = shown(healthy(RISK))
    assert "No risks were seen" not in text
    assert "  ! unit agent.service was started 30 times\n    $ exhume units --last 1h" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    text = shown(found(name=name, walker=name))
    assert not set(text) - {"\n"} & {*map(chr, range(32)), "\x9b", "\u202e", "\u200b", "\udcff"}
    assert "two\nlines" not in text


@pytest.mark.parametrize(
    "directory",
    ["/a/rather/long/name/of/a/directory", "/two words/and a quote's", f"/{'long' * 30}", "/a\\ b"],
)
def test_a_command_that_needs_more_lines_is_one_for_the_shell(directory: str) -> None:
    case = case_on_data(found(), Path(directory))
    text = shown(case, 60).partition("$ exhume top")[2]
    assert " \\\n" in text
    command = "exhume top" + text.replace("\\\n", "").partition("\n")[0]
    assert shlex.split(command) == shlex.split(case.evidence[1].check)


def test_more_rejected_than_are_telling_are_named_only() -> None:
    many = tuple(rejected(Party(comm=f"p{n}"), f"reason {n}", "userspace-hog") for n in range(7))
    text = shown(replace(found(), rejected=many))
    assert "✗ p3 (userspace-hog) reason 3" in text
    assert "    also p4, p5, p6, for reasons that --json tells" in text
    assert "reason 4" not in text


def test_other_harm_of_the_window_is_named() -> None:
    case = found()
    assert case.symptom is not None
    other = replace(case.symptom, kind="oom", wall_ns=STALL.end_ns + NS, text="killed", count=2)
    text = shown(replace(case, symptoms=(case.symptom, other)))
    assert "also harmed in this window\n  • killed (03:18:07, 2 times)" in text


def test_what_came_of_a_fix_is_counted() -> None:
    fix = SinceFix(STALL.end_ns, "not-gone", "as often", 5, 4, 600.0, 300.0, 0.4, None)
    text = shown(replace(found(), since_fix=fix))
    assert "since the fix at 03:18:06: not gone" in text
    assert "5 in 10 m before, 4 in 5 m after: as often" in text


@pytest.mark.parametrize("status", ["found", "suspected", "unknown", "healthy"])
def test_the_verdict_has_a_colour_of_its_own(status: str) -> None:
    case = found()
    verdict = replace(case.verdict, status=status)
    console = Console(width=80, force_terminal=True, color_system="standard", highlight=False)
    with console.capture() as capture:
        console.print(render(replace(case, verdict=verdict), VIEW, 80))
    colour = {"found": 31, "suspected": 33, "unknown": 35, "healthy": 32}[status]
    assert capture.get().startswith(f"\x1b[1;{colour}m{status.upper()}")


@pytest.mark.parametrize("data", [None, Path("/srv/rec"), Path("/srv/two words; rm -rf")])
def test_every_check_parses_as_a_command_of_ours(data: Path | None) -> None:
    case = case_on_data(replace(found(), risks=(RISK,), meanwhile=(RISK,)), data)
    checks = [one.check for one in case.evidence]
    checks += [one.check for one in (*case.risks, *case.meanwhile)]
    checks += [line.partition(":")[0].replace("TIME", "12:00") for line in case.actions.verify]
    for check in checks:
        program, command, *words = shlex.split(check)
        assert program == "exhume"
        args = build_parser(command).parse_args([command, *words])
        assert args.data == data


def test_what_is_to_be_seen_after_a_fix_is_not_in_files_of_before_it() -> None:
    over = case_on_data(replace(found(), risks=(RISK,)), Path("/d"), is_over=True)
    checks = [*(one.check for one in over.evidence), *(one.check for one in over.risks)]
    assert all("--data /d" in check for check in checks)
    assert over.actions.verify[0].startswith("on the node, which must record for that")
    assert "--data" not in " ".join(over.actions.verify)


def test_only_our_own_commands_get_the_directory() -> None:
    data = Path("/d")
    assert on_data("echo my-exhume top", data) == "echo my-exhume top"
    assert on_data("iostat -x 1, exhume events", data) == "iostat -x 1, exhume events --data /d"
    assert on_data("exhume topless", data) == "exhume topless"
