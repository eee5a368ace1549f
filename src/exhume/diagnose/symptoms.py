"""What is a symptom: harm to a victim. Saturation, zombies and crash loops alone are none.

Four kinds of harm can be seen: a line of the kernel that tells of it, a job that says it failed, a
thread that was ready and did not get a core, and a thread that was held inside one kernel call.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.queues import core_of_thread
from exhume.derive.rates import Rates, rates
from exhume.diagnose.second_opinion import is_denied
from exhume.model.answers import EventAnswer
from exhume.model.case import Party, Symptom
from exhume.model.ids import told_id
from exhume.model.observation import Observation
from exhume.model.occupancy import Hold
from exhume.model.window import Window

SECOND_NS = 1_000_000_000
STARVED_NS = 500_000_000
HELD_NS = 2_000_000_000
_LEAST_WAIT_A_SLICE_NS = 100_000_000
"""Fair neighbours take turns of milliseconds: a wait this long each time is no sharing."""
_SHORT_NS = 2_500_000_000
"""Over longer intervals many small waits add up."""
_UNBROKEN_NS = 450_000_000
_BEFORE_NS = 60 * SECOND_NS
_USUAL_SHARE = 0.8
"""Of the minute before: whoever was in the kernel so much is at work there, like a copy."""
KNOWN_BEFORE_NS = 30 * SECOND_NS

# Classes of signatures that tell of harm, with the word for it. All others are hints.
_HARM = {
    "netdev-starve": "network-reset",
    "netdev-reset": "network-reset",
    "netdev-device": "network-reset",
    "cpu": "lockup",
    "io-lock": "hung-task",
    "hw": "hardware-error",
    "gpu": "gpu-error",
    "disk": "disk-error",
    "limit": "limit-reached",
    "kernel": "kernel-crash",
    "job": "job-failure",
}
_KILLS = ("oom.kill", "ray.oom", "oomd.kill")
_BEFORE_KILL = ("oom.detail", "oom.chosen", "oom.invoked")
"""Told before a kill. Where the log was cut or searched, they are all that tells of it."""
_UNIT_KILLED, _AFTER_KILL = "oom-kill", ("container.oom", "oom-kill", "slurm.oom")
"""Told after it by who was asked to look after the process: its container's runtime, and systemd as
the result of a unit that failed, at once; Slurm when the job is over. All there is where nobody
collected the kernel's log.
"""
_OOM = (*_KILLS, "oom.detail")
_KILL_NS = 10 * SECOND_NS
_LATE_NS = {"slurm.oom": 7 * 86_400 * SECOND_NS}
_HARMLESS = {
    "rt_throttle", "hrtimer_slow", "nmi_slow", "wq.hog", "rcu.detail", "ena.tx_incomplete_detail",
    "ena.lost_tx_detail", "hung_task.owner", "syn_flood",
}  # fmt: skip
# What is worst, where several things are wrong at once.
_RANK = (
    "question", "kernel-crash", "out-of-memory", "hardware-error", "gpu-error", "network-reset",
    "job-failure", "disk-error", "hung-task", "starved-thread", "lockup", "limit-reached",
)  # fmt: skip
_LENGTHS = ("late_seconds", "since_napi_seconds", "stalled_seconds", "ran_seconds")
_MOST_BEFORE_NS = 60 * SECOND_NS
_UNSAID_NS = SECOND_NS
_ONE_HARM_NS = 2 * SECOND_NS
"""Lines of different kinds about one victim within this time are about one harm."""
_REFUSED = re.compile(r"(?i)refused|reset by peer|broken pipe|no such file|no route to host")


Group = tuple[Symptom, ...]
"""The same harm to the same victim."""


def symptoms(seen: Observation) -> tuple[Symptom, ...]:
    """All of the window, in order of time."""
    found = [*_told(seen.events), *_starved(seen), *_held(seen)]
    return tuple(sorted(found, key=lambda one: (one.window, one.kind, one.victim.name)))


def grouped(found: Sequence[Symptom]) -> list[tuple[Symptom, ...]]:
    """The same harm to the same victim together; the worst group first, in it the longest first."""
    groups: dict[tuple[str, str], list[Symptom]] = {}
    for one in found:
        groups.setdefault((one.kind, one.victim.name), []).append(one)
    return sorted((_longest_first(group) for group in groups.values()), key=_rank)


def _longest_first(group: list[Symptom]) -> tuple[Symptom, ...]:
    ordered = sorted(group, key=lambda one: (-one.window.seconds, one.wall_ns))
    total = sum(one.count for one in ordered)
    return tuple(replace(one, count=total) for one in ordered)


def severity(one: Symptom) -> int:
    """Lower is worse. Held and starved weigh the same: whoever was harmed for longer."""
    kind = "starved-thread" if one.kind == "held-thread" else one.kind
    return _RANK.index(kind) if kind in _RANK else len(_RANK)


def is_as_bad(one: Sequence[Symptom], other: Sequence[Symptom]) -> bool:
    """Harm of the same weight, whoever it was done to."""
    return severity(one[0]) == severity(other[0])


def _rank(group: tuple[Symptom, ...]) -> tuple[int, float, int]:
    return severity(group[0]), -sum(one.window.seconds for one in group), group[0].wall_ns


# --- a line says so --------------------------------------------------------------------------


def harm_of(signature: str, cls: str) -> str | None:
    """The kind of harm that a line of this signature tells of; None: it is only a hint."""
    if signature in _HARMLESS:
        return None
    return "out-of-memory" if signature in _OOM else _HARM.get(cls)


def _told(events: Iterable[EventAnswer]) -> Iterator[Symptom]:
    """A driver tells of one reset in several lines, and the kernel of one kill in two: each says
    something else of it, and they are one."""
    found: list[Symptom] = []
    last: dict[tuple[str, str], tuple[str, int]] = {}
    logs = ("kernel-log", "job-log")
    events = [event for event in events if event.kind in logs or _signature(event) == _UNIT_KILLED]
    untold = set(map(id, _untold_kills(events)))
    for event in events:
        signature, cls = _signature(event), str(event.fields.get("class", ""))
        kind = harm_of(signature, cls)
        if signature in (*_BEFORE_KILL, *_AFTER_KILL):
            kind = "out-of-memory" if id(event) in untold else None
        if kind is None:
            continue
        one = Symptom(
            kind=kind,
            wall_ns=event.wall_ns,
            victim=_victim(event, kind),
            source="kernel log" if event.kind == "kernel-log" else "job log",
            window=_when(event),
            count=event.count,
            text=event.text,
            event_class=cls,
            is_late=_REFUSED.search(event.text) is None,
            file=str(event.fields.get("file", "")),
        )
        before, place = last.get((kind, one.victim.name), (signature, -1))
        if before != signature and one.wall_ns - found[place].wall_ns <= _ONE_HARM_NS:
            found[place] = _more_telling(found[place], one)
        else:
            last[kind, one.victim.name] = signature, len(found)
            found.append(one)
    yield from found


def _signature(event: EventAnswer) -> str:
    if event.kind == "unit-failed":
        return _UNIT_KILLED if event.fields.get("result") == _UNIT_KILLED else ""
    return str(event.fields.get("signature", ""))


def _untold_kills(events: Sequence[EventAnswer]) -> Iterator[EventAnswer]:
    """What is said before a kill or after it, where nothing says more of that kill."""
    told = [event.wall_ns for event in events if _signature(event) in _KILLS]
    for name in (*_BEFORE_KILL, *_AFTER_KILL):
        known = sorted(told)
        for event in events:
            if _signature(event) == name:
                after = bisect_left(known, event.wall_ns - _LATE_NS.get(name, _KILL_NS))
                if after == len(known) or known[after] > event.wall_ns + _KILL_NS:
                    told.append(event.wall_ns)
                    yield event


def _more_telling(first: Symptom, second: Symptom) -> Symptom:
    """The line that says for how long, with what the other one knows of the core."""
    one, other = (
        (second, first) if second.window.seconds > first.window.seconds else (first, second)
    )
    if one.victim.core is None and other.victim.core is not None:
        one = replace(one, victim=replace(one.victim, core=other.victim.core))
    return replace(one, count=first.count)


def _victim(event: EventAnswer, kind: str) -> Party:
    fields = event.fields
    if kind == "network-reset":
        interface = fields.get("interface") or fields.get("device") or event.subject
        queue = fields.get("queue")
        return Party(comm=f"{interface} queue {queue}" if queue is not None else str(interface),
                     core=event.core)  # fmt: skip
    if kind == "lockup":  # who is named holds the core: whoever waits for it is harmed
        return Party(core=event.core)
    if fields.get("signature") == "oom.invoked":  # who asks for memory is not who is killed
        return Party()
    # What names nobody has its signature for a subject.
    is_nobody = kind == "kernel-crash" and event.subject == fields.get("signature")
    name = fields.get("victim") or fields.get("comm") or ("kernel" if is_nobody else event.subject)
    cgroup = fields.get("task_cgroup") or fields.get("cgroup")
    return Party(
        comm=str(name) or None,
        pid=event.pid,
        cgroup=str(cgroup) if cgroup else None,
        core=event.core,
    )


def _when(event: EventAnswer) -> Window:
    """A line is written when the harm is noticed; how long it went on before, some lines say."""
    before = _UNSAID_NS
    for name in _LENGTHS:
        length = event.fields.get(name)
        if isinstance(length, int | float) and length > 0:
            before = min(_MOST_BEFORE_NS, round(length * SECOND_NS))
            break
    return Window(event.wall_ns - before, event.wall_ns + 1)


def says_how_long(one: Symptom) -> bool:
    """Where a line does not, the second before it stands for the harm."""
    return not one.event_class or one.window.end_ns - one.window.start_ns != _UNSAID_NS + 1


# --- ready, and not run ----------------------------------------------------------------------


class _Wait(Struct, frozen=True):
    """What a thread's wait for a core gained from one reading to the next."""

    instance: str
    is_network: bool
    length_ns: int
    window: Window
    is_certain: bool
    """Whoever else ran: too long in one go for any sharing."""


def _waits(seen: Observation) -> Iterator[_Wait]:
    for who in ("netthread", "process"):
        slices = {one.instance: one for one in seen.series.get(f"{who}.slices", ())}
        for series in seen.series.get(f"{who}.wait_ns", ()):
            if series.instance in slices:
                waited, ran = rates(series), rates(slices[series.instance])
                yield from _long_waits(series.instance, who == "netthread", waited, ran)


def _long_waits(instance: str, is_network: bool, waited: Rates, ran: Rates) -> Iterator[_Wait]:
    ran_by_end = dict(zip(ran.per_second.end_ns.tolist(), ran.rise.tolist(), strict=True))
    rise = np.nan_to_num(waited.rise)
    for at in np.flatnonzero(rise >= STARVED_NS).tolist():
        start, end = int(waited.per_second.start_ns[at]), int(waited.per_second.end_ns[at])
        length = int(rise[at])
        turns = ran_by_end.get(end, np.nan)
        certain = is_certain_wait(length, end - start, turns if np.isfinite(turns) else None)
        yield _Wait(instance, is_network, length, Window(end - length, end), certain)


def is_certain_wait(waited_ns: int, interval_ns: int, turns: float | None) -> bool:
    """Too long in one go for any sharing; `turns` on a core in that interval, if that is known."""
    if waited_ns < STARVED_NS:
        return False
    each = waited_ns / max(1.0, turns) if turns is not None else 0.0
    # It is added when the thread gets its core: what exceeds the interval began before it.
    least = _LEAST_WAIT_A_SLICE_NS if interval_ns <= _SHORT_NS else STARVED_NS
    return waited_ns - interval_ns >= STARVED_NS or each >= least


def doubtful(seen: Observation) -> list[tuple[int, Window, str]]:
    """Waits that may be sharing: the core, when, and who waited. The longest first."""
    found = []
    for wait in sorted(_waits(seen), key=lambda one: (-one.length_ns, one.window)):
        core = None if wait.is_certain else _core_of(seen, wait.instance, wait.window)
        if core is not None:
            found.append((core, wait.window, name_and_pid(wait.instance)[0]))
    return found


def _starved(seen: Observation) -> Iterator[Symptom]:
    for wait in _waits(seen):
        if not wait.is_network and is_denied(seen, wait.instance, wait.window):
            continue
        core = _core_of(seen, wait.instance, wait.window)
        if wait.is_certain or _was_held_up(seen, core, wait.window):
            comm, pid = name_and_pid(wait.instance)
            yield Symptom(
                kind="starved-thread",
                wall_ns=wait.window.end_ns,
                victim=Party(comm=comm, pid=pid, core=core),
                source="run delay of a thread that serves the network"
                if wait.is_network
                else "run delay",
                window=wait.window,
                text=f"{comm} was ready and not run for {wait.length_ns / 1e9:.1f} s",
            )


def _was_held_up(seen: Observation, core: int | None, window: Window) -> bool:
    """One thread had that core without a break, for long enough."""
    holds = ((hold.core, hold.window) for hold in seen.holds if hold.is_alone)
    return any(
        where == core
        and (both := when.clip(window)) is not None
        and both.end_ns - both.start_ns >= _UNBROKEN_NS
        for where, when in (*holds, *seen.unbroken)
    )


def name_and_pid(instance: str) -> tuple[str, int | None]:
    """Processes are called `172 statsd`, threads of the kernel `ksoftirqd/1` or `napi/eth0 88`."""
    first, _, rest = instance.partition(" ")
    if first.isdigit() and rest:
        return rest, int(first)
    name, _, number = instance.rpartition(" ")
    return (name, int(number)) if name and number.isdigit() else (instance, None)


def _core_of(seen: Observation, instance: str, window: Window) -> int | None:
    name, _ = name_and_pid(instance)
    known = core_of_thread(name)
    if known is not None:
        return known
    series = seen.instance("process.core", instance)
    if series is None or not len(series.wall_ns):
        return None
    at = int(np.searchsorted(series.wall_ns, window.end_ns, "right")) - 1
    core = int(series.values[max(0, at)])
    return core if core >= 0 else None


# --- held inside one kernel call -------------------------------------------------------------


def _held(seen: Observation) -> Iterator[Symptom]:
    """Only of those who were there before and don't usually do that: a copy job is no victim."""
    first_seen: dict[tuple[str, int], int] = {}
    lives = seen.lives
    for row in np.flatnonzero(lives.is_exec & (lives.pid >= 0)).tolist():
        key = lives.names[int(lives.name[row])], int(lives.pid[row])
        first_seen.setdefault(key, int(lives.wall_ns[row]))
    for hold in seen.holds:
        length = hold.window.end_ns - hold.window.start_ns
        if not hold.is_one_call or length < HELD_NS or not hold.comm:
            continue  # a line about a stalled core does not always say who was on it
        if hold.is_told and not hold.call:
            continue  # nor what it did: then the line tells of harm to the core, and of no other
        began = first_seen.get((hold.comm, hold.pid), seen.window.start_ns)
        if hold.window.start_ns - began < KNOWN_BEFORE_NS:
            continue
        if _held_before(seen.holds, hold) > _USUAL_SHARE * _BEFORE_NS:
            continue
        yield Symptom(
            kind="held-thread",
            wall_ns=hold.window.end_ns,
            victim=Party(
                comm=hold.comm,
                pid=told_id(hold.pid),
                cgroup=hold.cgroup or None,
                core=hold.core,
            ),
            source="kernel log" if hold.is_told else "samples",
            window=hold.window,
            text=f"{hold.comm} was inside {_call(hold)} for {length / 1e9:.1f} s"
            + (" or longer" if hold.is_told else ""),
        )


def _call(hold: Hold) -> str:
    return f"one {hold.call}" if hold.call else "the kernel"


def _held_before(holds: Sequence[Hold], hold: Hold) -> int:
    """How much of the minute before it the same process had spent in holds."""
    minute = Window(hold.window.start_ns - _BEFORE_NS, hold.window.start_ns)
    parts = (one.window.clip(minute) for one in holds if one.pid == hold.pid)
    return sum(part.end_ns - part.start_ns for part in parts if part is not None)
