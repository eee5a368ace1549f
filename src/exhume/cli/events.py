"""What happened: kernel log, job failures, restarts, cores off and on, gaps.

Events come from the kernel log, from followed job logs, from systemd and container runtimes, and
from the recorder itself. When there are many, like ones are one line with the first and the last
time; --all lists each. Processes start and end by the thousand: they are counted by name at the
end, unless asked for with --kind exec or --kind exit.

Examples:
  exhume events                               the last hour
  exhume events --kind kernel-log --last 1d   the kernel's own words
  exhume events --signature 'ena.*'           one driver's messages
  exhume events --grep 'paused for too long'
  exhume events --kind exec --subject ecs-agent --last 10m
  exhume events --follow                      and what comes, until Ctrl-C
"""

from __future__ import annotations

import argparse
import difflib
import textwrap
import time
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.cli.times import Viewpoint
from exhume.model.answers import EventAnswer
from exhume.model.evidence import EventsAnswer
from exhume.model.fields import EVENT_KINDS
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

KINDS = tuple(kind.id for kind in EVENT_KINDS)
COUNTED = ("exec", "exit")
"""Kinds that are counted by name unless they are asked for."""
ANSWER = EventsAnswer
POLL_SECONDS = 1.0
_LOOK_BACK_NS = 120 * 1_000_000_000
"""Some events are told of late: units and containers are asked every 10 s."""


class Wanted(Struct, frozen=True):
    """Which events. Empty means all."""

    kinds: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()

    @property
    def besides(self) -> tuple[str, ...]:
        return () if self.kinds else COUNTED

    def has(self, event: EventAnswer) -> bool:
        signature = str(event.fields.get("signature", ""))
        text = f"{event.subject}\n{event.text}".lower()
        return (
            _fits(event.subject, self.subjects)
            and all(word.lower() in text for word in self.words)
            and _fits(signature, self.signatures)
            and (not self.cores or event.core in self.cores)
            and (not self.pids or event.pid in self.pids)
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="1h", default_for="1m", default_whole=True)
    group = parser.add_argument_group(
        "which events (each may be given more than once)",
        textwrap.fill(f"Kinds are {', '.join(KINDS)}.", 90),
    )
    group.add_argument("--kind", action="append", default=[], metavar="KIND", help="one of those")
    group.add_argument(
        "--subject", action="append", default=[], metavar="NAME", help="who it happened to; * and ?"
    )
    group.add_argument(
        "--grep", action="append", default=[], metavar="TEXT", help="in subject or text, any case"
    )
    group.add_argument(
        "--signature", action="append", default=[], metavar="ID", help="ena.tx_paused, 'rcu.*'"
    )
    group.add_argument("--core", action="append", default=[], metavar="N", help="39, or 0-3,7")
    group.add_argument(
        "--pid", action="append", default=[], type=int, metavar="PID", help="a process"
    )
    parser.add_argument("--all", action="store_true", help="each event on a line of its own")
    parser.add_argument("--follow", action="store_true", help="go on with new ones until Ctrl-C")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint_on(args)
    window, wanted = common.window_of(args, view), wanted_of(args)
    if args.follow and (args.at is not None or args.end is not None):
        raise common.usage("--follow goes on from now", "without --at and --to")
    with step("reading the recording"):
        recording = open_light(args)
        answer = ask(recording, window, wanted)
        if not answer.events and not answer.counted:
            common.need_recorded(recording.spans(), window, view)
            common.need_cores(recording, wanted.cores)
    if args.json and not args.follow:
        common.print_json(answer)
        return 0
    shown = _Printer(view, as_json=args.json)
    if args.json:
        shown.add(answer.events)
    else:
        everything, is_filtered = args.all or args.follow, wanted != Wanted()
        shown.screen(answer, everything=everything, following=args.follow, is_filtered=is_filtered)
    if args.follow:
        try:
            for fresh in follow(recording, wanted, answer.events, window):
                shown.add(fresh)
        except KeyboardInterrupt:
            return 0
    return 0


def wanted_of(args: argparse.Namespace) -> Wanted:
    for kind in args.kind:
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, 1, 0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            todo = f"{hint}kinds are: {', '.join(KINDS)}"
            raise common.usage(f"there is no kind of event '{kind}'", todo)
    return Wanted(
        tuple(args.kind),
        tuple(args.subject),
        tuple(args.grep),
        tuple(args.signature),
        common.parse_cores(args.core),
        tuple(args.pid),
    )


def ask(recording: Recording, window: Window, wanted: Wanted) -> EventsAnswer:
    from exhume.store import queries
    from exhume.store.queries.events import event_tallies

    found = queries.events(recording, window, wanted.kinds, besides=wanted.besides)
    filtered = wanted != Wanted(wanted.kinds)
    return EventsAnswer(
        window=window,
        events=tuple(event for event in found if wanted.has(event)),
        counted=() if wanted.kinds or filtered else event_tallies(recording, window, COUNTED),
        notes=recording.problems(window),
    )


def follow(
    recording: Recording,
    wanted: Wanted,
    seen: Collection[EventAnswer],
    window: Window,
    *,
    now_ns: Callable[[], int] = time.time_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[list[EventAnswer]]:
    """New events, as often as there are some. `window`: of what was shown before."""
    from exhume.store import queries

    known = {_key(event) for event in seen}
    until_ns = window.end_ns
    while True:
        sleep(POLL_SECONDS)
        recording.refresh()
        since_ns = max(window.start_ns, until_ns - _LOOK_BACK_NS)
        until_ns = now_ns() + 1
        recent = Window(since_ns, until_ns)
        found = queries.events(recording, recent, wanted.kinds, besides=wanted.besides)
        fresh = [event for event in found if wanted.has(event) and _key(event) not in known]
        known = {_key(event) for event in found}
        if fresh:
            yield fresh


class _Printer:
    """To the terminal, or one JSON object a line while following."""

    def __init__(self, view: Viewpoint, *, as_json: bool) -> None:
        self._view = view
        self._as_json = as_json

    def screen(
        self, answer: EventsAnswer, *, everything: bool, following: bool, is_filtered: bool
    ) -> None:
        from exhume.cli.render.events import render

        screen = common.console()
        shown = render(
            answer, self._view, common.look_of(screen), everything=everything, following=following,
            is_filtered=is_filtered,
        )  # fmt: skip
        common.show(screen, shown)

    def add(self, events: Collection[EventAnswer]) -> None:
        from exhume.cli.render.events import lines

        if self._as_json:
            for event in events:
                common.print_json(event)
            return
        screen = common.console()
        for line in lines(list(events), self._view, common.look_of(screen)):
            common.show(screen, line)


def _key(event: EventAnswer) -> tuple[object, ...]:
    # Wall time is a little different once a later pair of clocks is known.
    moment = round(event.wall_ns / 1e8)
    return moment, event.kind, event.subject, event.text, event.pid, event.core


def _fits(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(text == p or fnmatchcase(text, p) for p in patterns)
