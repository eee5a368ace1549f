"""When is something that starts again and again a loop? The rules, and nothing else. Pure.

For units and containers, of which somebody says how they end, the rule is that of operators: 5
starts in 10 minutes, or a median life below a minute over 5 starts, or a supervisor that waits to
start it again. A job that ends well each time is no crash loop, however short: it is `scheduled`,
or one of `many short jobs`.

What cron starts is `scheduled` from 5 starts on: it says nothing of how a job ended.

Of bare processes nobody records how they ended, so none is called a crash loop, only a `loop`, and
only if all of this holds, because a build or a shell script also starts hundreds of short ones:

- the same program from the same parent *process*: the children of a compiler driver have a parent
  each, those of a supervisor have one;
- at a steady pace: the middle half of the intervals lies within half of their median;
- one after the other: it does not live longer than it takes to the next start;
- and most of the time so, not a dozen at once and then a pause;
- for a minute at least;
- it is what its parent does: nearly half or more of all that the parent starts. A script that
  runs three programs a round is at work;
- it is not `sleep`, which is how a loop waits.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from exhume.model.arrays import F64, I64, Bool
from exhume.model.lifecycles import Mark
from exhume.model.window import Window

SECOND_NS = 1_000_000_000
LEAST_STARTS = 5
WITHIN_NS = 600 * SECOND_NS
SHORT_SECONDS = 60.0
MANY_STARTS = 30
"""Within `WITHIN_NS`: from here on short jobs are many."""
STEADY_RATIO = 0.5
LEAST_LOOP_NS = 60 * SECOND_NS
LEAST_SHARE = 0.45
_PAUSE, _MOSTLY = 3.0, 0.5
PAUSES = frozenset({"sleep", "usleep"})


class Runs(Struct, frozen=True):
    """The starts of one thing, and what is known of how long it lived and how it ended."""

    start_ns: I64
    """Wall times, rising."""
    count: I64
    """How many starts each of them stands for."""
    lifetime_seconds: F64
    lifetime_count: I64
    """How many lives each lifetime stands for; none where a lifetime is not known."""
    known_ends: int = 0
    bad_ends: int = 0
    restarts: int = 0
    """By a supervisor, as it counts them."""
    waits_to_restart: bool = False
    """Seen in systemd's auto-restart state, in 3 of 5 looks or more; or the kubelet says so."""
    was_given_up: bool = False
    """Its supervisor found that it fails too often. supervisord does so after four starts."""
    lifetime_is_bound: Bool = field(default_factory=lambda: np.empty(0, np.bool_))
    """Of each lifetime: it was at most so long. Empty where all are known."""
    is_counted: bool = False
    """Starts that are told together came one after the other, since those before."""

    @property
    def starts(self) -> int:
        return int(self.count.sum())

    @property
    def most_in_10_minutes(self) -> int:
        return most_within(self.start_ns, self.count, WITHIN_NS)

    @property
    def median_lifetime_seconds(self) -> float | None:
        return weighted_median(self.lifetime_seconds, self.lifetime_count)

    @property
    def lifetime_at_most(self) -> bool:
        """The median is a bound: it might be shorter, for all that is known."""
        if not self.lifetime_is_bound.any():
            return False
        least = np.where(self.lifetime_is_bound, 0.0, self.lifetime_seconds)
        return weighted_median(least, self.lifetime_count) != self.median_lifetime_seconds

    @property
    def pace_seconds(self) -> float | None:
        pace = counted_pace if self.is_counted else steady_pace
        return pace(self.start_ns, self.count)

    def over(self, window: Window, parts: int) -> tuple[int, ...]:
        """The starts in each of so many equal parts of it."""
        inside = (self.start_ns >= window.start_ns) & (self.start_ns < window.end_ns)
        length = max(1, window.end_ns - window.start_ns)
        # Of some years in nanoseconds 64 bits don't hold sixty times as much.
        part = ((self.start_ns[inside] - window.start_ns) * (parts / length)).astype(np.int64)
        part = np.minimum(part, parts - 1)
        found = np.bincount(part, weights=self.count[inside], minlength=parts)
        return tuple(found.astype(np.int64).tolist())


def mark_supervised(runs: Runs) -> Mark:
    """Of a unit or a container."""
    median = runs.median_lifetime_seconds
    if runs.was_given_up:
        return "crash loop"
    often = runs.most_in_10_minutes >= LEAST_STARTS
    short = median is not None and median < SHORT_SECONDS and runs.starts >= LEAST_STARTS
    if not (often or short or runs.waits_to_restart):
        return "healthy"
    ends_well = runs.known_ends > 0 and runs.bad_ends == 0
    nobody_restarts = runs.restarts == 0 and not runs.waits_to_restart
    if ends_well and nobody_restarts:
        return "many short jobs" if runs.most_in_10_minutes >= MANY_STARTS else "scheduled"
    return "crash loop"


def mark_cron(runs: Runs) -> Mark:
    """Of a program that cron starts: somebody wants it so, it does not die of anything."""
    return "scheduled" if runs.starts >= LEAST_STARTS else "healthy"


def mark_process(runs: Runs, name: str, share_of_parents_starts: float) -> Mark:
    """Of a program under one parent process."""
    if name not in PAUSES and share_of_parents_starts >= LEAST_SHARE and is_loop(runs):
        return "loop"
    return mark_jobs(runs)


def mark_jobs(runs: Runs) -> Mark:
    """Of a program under parents of one name that come and go."""
    return "many short jobs" if runs.most_in_10_minutes >= MANY_STARTS else "healthy"


def is_loop(runs: Runs) -> bool:
    if runs.most_in_10_minutes < LEAST_STARTS:
        return False
    if int(runs.start_ns[-1] - runs.start_ns[0]) < LEAST_LOOP_NS:
        return False
    pace, median = runs.pace_seconds, runs.median_lifetime_seconds
    if pace is None or (median is not None and median > pace):
        return False
    return not _in_bursts(runs.start_ns, pace)


def _in_bursts(start_ns: I64, pace: float) -> bool:
    """A dozen at once and then a pause: a script at work, as `for file in …; do date; cat $file;
    done` each second. What lies between two captures is no pause."""
    apart = np.diff(start_ns) / SECOND_NS
    apart = apart[apart < LEAST_LOOP_NS / SECOND_NS]
    return bool(apart[apart > _PAUSE * pace].sum() > _MOSTLY * apart.sum())


def most_within(start_ns: I64, count: I64, span_ns: int) -> int:
    """The most starts in any stretch of that length."""
    if not len(start_ns):
        return 0
    total = np.concatenate(([0], np.cumsum(count)))
    until = np.searchsorted(start_ns, start_ns + span_ns, "left")
    return int((total[until] - total[: len(start_ns)]).max())


def steady_pace(start_ns: I64, count: I64) -> float | None:
    """The median seconds from start to start; None where the pace is not steady."""
    # Starts that were counted together came at once as far as anyone knows.
    times = np.repeat(start_ns, np.minimum(count, LEAST_STARTS))
    if len(times) < LEAST_STARTS:
        return None
    low, middle, high = np.percentile(np.diff(times) / 1e9, (25, 50, 75))
    return float(middle) if middle > 0 and high - low <= STEADY_RATIO * middle else None


def counted_pace(start_ns: I64, count: I64) -> float | None:
    """The same where each count is of the starts since the one before it."""
    if count.sum() < LEAST_STARTS or len(start_ns) < 2:
        return None
    apart, weight = np.diff(start_ns) / 1e9 / count[1:], count[1:]
    order = np.argsort(apart, kind="stable")
    heavy = np.cumsum(weight[order])
    at = np.searchsorted(heavy, heavy[-1] * np.array((0.25, 0.5, 0.75)))
    low, middle, high = apart[order][at]
    return float(middle) if middle > 0 and high - low <= STEADY_RATIO * middle else None


def told_seconds(start_ns: I64) -> float:
    """How long starts were told of: where none comes for much longer than usual, nobody tells. Of
    a long log cron's lines are kept only where something else is."""
    if len(start_ns) < 2:
        return 0.0
    apart = np.diff(start_ns) / 1e9
    usual = float(np.median(apart))
    return float(np.minimum(apart, 3 * usual).sum()) + usual


def weighted_median(values: F64, weight: I64) -> float | None:
    known = np.isfinite(values) & (weight > 0)
    if not known.any():
        return None
    order = np.argsort(values[known], kind="stable")
    ordered, heavy = values[known][order], np.cumsum(weight[known][order])
    return float(ordered[np.searchsorted(heavy, heavy[-1] / 2)])
