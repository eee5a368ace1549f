"""Why it happened: from the worst symptom to its root cause, with the evidence.

A symptom is harm to somebody: a line of the kernel (a network reset, a lockup, an OOM kill), a job
that failed, a thread that was ready and did not run, a thread held inside one kernel call. A busy
machine alone is healthy. The answer says who did it, what to do now and for good, and how sure it
is:

- found: it was there before the harm, in the same place, the more of it the more harm, and without
  it there was none
- suspected: part of that is known, and nothing speaks against it
- unknown: somebody was harmed, and what was recorded does not say by what; or nothing among the
  files that were imported could tell of harm
- healthy: nobody was harmed; what may harm later is listed

Whom the evidence clears is listed too, with the reason.

Exit code: 0 healthy, 1 found or suspected, 2 unknown. With --since-fix: 0 gone, 1 not gone, 2 too
early to say, or nothing before it to compare with.

Examples:
  exhume why                          the worst symptom of the last hour recorded
  exhume why --data incident          … of what was imported there
  exhume why --last 12h               … of the night
  exhume why --at 03:14:05            explain that instant
  exhume why --at 03:14:05 --core 39  … on that core
  exhume why --job-log train.log      … what this job's log complains about
  exhume why --since-fix 14:05        is it gone since?
  exhume why --html -o why.html       a page to send: cores, flame graph, zombies
  exhume why --markdown               for the ticket
  exhume why --json | jq .verdict
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from exhume.cli import common
from exhume.cli.output import opened
from exhume.cli.progress import step
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint, parse_stretch, parse_time
from exhume.errors import ExhumeError
from exhume.inquiry.runnable import case_on_data
from exhume.model.case import Case, Symptom
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = Case
EXIT_CODES = {"healthy": 0, "found": 1, "suspected": 1, "unknown": 2}
FIX_EXIT_CODES = {"gone": 0, "better": 1, "not-gone": 1, "too-early": 2, "unknown": 2}
_HOUR_NS = 3600 * 1_000_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(
        parser, default="1h",
        without="the last hour recorded, or the time around --event, --job-log and\n"
        "--since-fix; of an imported recording, all of it, and its end is `now`.",
    )  # fmt: skip
    parser.add_argument("--core", type=int, metavar="N", help="only harm on this core")
    parser.add_argument(
        "--event", metavar="T", help="explain the event of this time, as `exhume events` lists it"
    )
    parser.add_argument(
        "--job-log", type=Path, metavar="FILE", help="explain the failures that this log tells of"
    )
    parser.add_argument(
        "--since-fix", metavar="T", help="something was done about it then: is it gone?"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="the report as Markdown")
    form.add_argument(
        "--html", action="store_true", help="the report as one HTML page that loads nothing"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="with --markdown or --html: not to standard output"
    )
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    if args.output is not None and not (args.markdown or args.html):
        raise common.usage("-o goes with --markdown or --html", "for example --html -o why.html")
    if args.json and (args.markdown or args.html):
        raise common.usage("--json, --markdown and --html exclude each other", "give one of them")
    with step("looking for the cause"):
        recording = common.open_recording(args)
        is_over = view.ended is not None
        answer = case_on_data(ask(args, recording, view), args.data, is_over=is_over)
    if args.markdown or args.html:
        with step("drawing the report"):
            written = page(args, recording, answer)
        with opened(args.output) as file:
            file.write(written.encode())
        if args.output not in (None, "-"):
            said = f"{answer.verdict.status}: {answer.verdict.summary} → {args.output}"
            print(f"exhume: {printable(said)}", file=sys.stderr)
    elif args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.why import render

        screen = common.console()
        # A directory's name may be longer than a line: the terminal wraps it, and it can be copied.
        screen.print(render(answer, view, screen.width), crop=False)
    if answer.since_fix is not None:
        return FIX_EXIT_CODES[answer.since_fix.status]
    return EXIT_CODES[answer.verdict.status]


def page(args: argparse.Namespace, recording: Recording, case: Case) -> str:
    if args.markdown:
        from exhume.export.report_markdown import markdown

        return markdown(case)
    from exhume.export.report_html import html
    from exhume.inquiry.report import report_of

    return html(report_of(recording, case))


def ask(args: argparse.Namespace, recording: Recording, view: Viewpoint) -> Case:
    from exhume.host import Host
    from exhume.inquiry.asked import AROUND_NS, Question
    from exhume.inquiry.job_log import job_failures, when_it_failed
    from exhume.inquiry.why import why

    common.need_cores(recording, () if args.core is None else (args.core,))
    at: Window | None = None
    event = None if args.event is None else parse_stretch(args.event, view)
    beyond: Window | None = None
    """What else is told of, where nobody was harmed in the window."""
    job = () if args.job_log is None else job_failures(args.job_log, Host())
    if args.at is not None:
        at = common.window_of(args, view)
        window = Window(at.start_ns - AROUND_NS, at.end_ns + AROUND_NS)
        window = window.clip(recording.window()) or window
    elif event is not None and args.last is None and args.start is None:
        window = Window(event.start_ns - AROUND_NS, event.end_ns + AROUND_NS)
        window = window.clip(recording.window()) or window
    elif args.since_fix is not None and args.last is None and args.start is None:
        # As long before it as after, and a day at least: rare things need time to be counted.
        whole, fix_ns = recording.window(), parse_time(args.since_fix, view)
        length = max(24 * _HOUR_NS, whole.end_ns - fix_ns)
        window = Window(max(whole.start_ns, fix_ns - length), whole.end_ns)
    elif job and args.last is None and args.start is None:
        failed = when_it_failed(job, recording.window())
        if failed is None:
            span = Window(job[0].wall_ns, job[-1].wall_ns + 1)
            raise ExhumeError(
                f"the failures in {args.job_log} ({view.show_window(span)}) were not recorded: "
                f"recorded is {view.show_window(recording.window())}",
                todo="ask the recording of that time and node; or import the captures of then",
            )
        window = failed
    elif args.last is None and args.start is None and view.ended is None:
        # The last hour recorded: also where the recorder died with its node.
        whole = recording.window()
        window = Window(max(whole.start_ns, whole.end_ns - _HOUR_NS), whole.end_ns)
    elif args.last is None and args.start is None and view.ended is not None:
        # Of harm that nothing was measured around, only that it happened could be said.
        measured = view.ended.measured
        window = Window(measured.start_ns - AROUND_NS, measured.end_ns + AROUND_NS)
        window = window.clip(view.ended.whole) or window
        beyond = view.ended.whole
    else:
        window = common.window_of(args, view)
    common.need_recorded(recording.spans(), window, view)
    question = Question(
        at=at,
        core=args.core,
        event=event,
        job=job,
        fix_ns=None if args.since_fix is None else parse_time(args.since_fix, view),
    )
    case = why(recording, window, question)
    if case.symptom is None and not case.symptoms and beyond is not None and beyond != window:
        harm = why(recording, beyond, question).symptoms
        if harm:
            case = replace(case, gaps=(_told_elsewhere(harm, view), *case.gaps))
    return case


def _told_elsewhere(harm: Sequence[Symptom], view: Viewpoint) -> str:
    """Of harm that nothing was measured around."""
    one = min(harm, key=lambda one: one.wall_ns)
    others = sum(one.count for one in harm) - 1
    more = f", and {others} more after it" if others else ""
    return (
        f"there was harm when nothing was measured: {one.kind} of {one.victim.name} at "
        f"{view.show(one.wall_ns, with_date=True)}{more}; ask of it with --event, or, if local "
        "times were taken for another zone's, import all anew with --zone"
    )
