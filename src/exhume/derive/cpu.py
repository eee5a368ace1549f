"""mpstat's arithmetic on the raw jiffies of /proc/stat: what each core did in each second.

The rules are those of sysstat (rd_stats.c, get_per_cpu_interval), but for one, marked below:
it takes every idle count that runs backwards for a core that was off line and came back.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from exhume.model.arrays import F64, I64, Bool
from exhume.model.fields import CPU_MODES
from exhume.model.modes import MAP_MODES
from exhume.model.series import MISSING, Block

BUSY_MODES = tuple(mode for mode in MAP_MODES if mode != "iowait")

# Old kernels lack the later columns of a cpuN line; without these three there is nothing to say.
_NEEDED = ("user", "system", "idle")
# A core just switched on may have counted a little more than the interval: ticks are not exact.
_RESTART_SLACK_JIFFIES = 10


class CoreShares(Struct, frozen=True):
    """Percent of each core's time, one interval from every reading to the next. NaN: not known."""

    cores: tuple[int, ...]
    start_ns: I64
    end_ns: I64
    """Both of shape (intervals,)."""
    percent: F64
    """Shape (len(MAP_MODES), cores, intervals)."""
    idle: F64
    busy: F64
    """Both of shape (cores, intervals). All modes, iowait too, and idle make 100."""


def core_shares(blocks: Iterable[Block], user_hz: int = 100) -> CoreShares | None:
    """None where the readings hold no per-core times."""
    found = {block.field: block for block in blocks if block.field.startswith("cpu.")}
    reference = found.get("cpu.idle")
    if reference is None or any(f"cpu.{mode}" not in found for mode in _NEEDED):
        return None
    cores = sorted({int(name) for name in reference.instances if name.isdigit()})
    ticks = reference.tick_ns
    if len(ticks) < 2 or not cores:
        return None
    read = {
        mode: _aligned(found.get(f"cpu.{mode}"), cores, ticks, needed=mode in _NEEDED)
        for mode in CPU_MODES
    }
    known = np.all([read[mode] != MISSING for mode in _NEEDED], axis=0)
    known = known[:, :-1] & known[:, 1:]
    known &= ~_booted(read, known)
    jiffies = np.diff(ticks) * user_hz / 1e9
    return _shares(tuple(cores), ticks, read, known, jiffies)


def _booted(read: dict[str, I64], known: Bool) -> Bool:
    """Intervals in which the machine started anew: what it did before that is not known.

    Only idle and iowait start from zero on a core that was off line; then the others go on.
    """

    def rise(*modes: str) -> I64:
        total = np.sum([read[mode] for mode in modes], axis=0)
        rises: I64 = np.where(known, np.diff(total), 0).sum(axis=0)
        return rises

    return (rise("user", "system") < 0) & (rise("idle") < 0)


def _aligned(block: Block | None, cores: list[int], ticks: I64, *, needed: bool) -> I64:
    """The readings as (cores, ticks) of the reference; what an old kernel lacks reads as 0."""
    out = np.full((len(cores), len(ticks)), MISSING, np.int64)
    if block is not None:
        place = np.searchsorted(block.tick_ns, ticks)
        place[place == len(block.tick_ns)] = 0
        here = np.flatnonzero(block.tick_ns[place] == ticks) if len(block.tick_ns) else place[:0]
        column = {name: index for index, name in enumerate(block.instances)}
        rows = np.array([r for r, core in enumerate(cores) if str(core) in column], np.int64)
        columns = np.array([column[str(cores[row])] for row in rows], np.int64)
        out[np.ix_(rows, here)] = block.values[np.ix_(place[here], columns)].T
    if not needed:
        out[out == MISSING] = 0
    return out


def _shares(
    cores: tuple[int, ...], ticks: I64, read: dict[str, I64], known: Bool, jiffies: F64
) -> CoreShares:
    def rise(values: I64) -> I64:
        rises: I64 = np.maximum(values[:, 1:] - values[:, :-1], 0)
        return rises

    def with_guests(mode: str) -> I64:
        # A guest's time is inside user (nice); its own counter may run slightly ahead of that.
        guest = read["guest" if mode == "user" else "guest_nice"]
        return rise(read[mode] - guest) + rise(guest)

    idle, iowait = read["idle"], read["iowait"]
    idle_rose = idle[:, 1:] > idle[:, :-1]
    # Back from off line, idle and iowait start from zero while the others go on. sysstat assumes
    # so whenever idle runs backwards. NO_HZ idle also jitters back by a jiffy on a running core,
    # which would then read as 100 % idle: believe in a restart only if the new count fits the time.
    with np.errstate(invalid="ignore"):
        most = jiffies[np.newaxis, :] * 1.5 + _RESTART_SLACK_JIFFIES
        idle_restart = np.where(idle[:, 1:] <= most, idle[:, 1:], 0)
        iowait_restart = np.where(iowait[:, 1:] <= most, iowait[:, 1:], 0)
    idle_delta = np.where(idle[:, 1:] < idle[:, :-1], idle_restart, rise(idle))
    iowait_back = np.where(idle_rose, 0, iowait_restart)
    iowait_delta = np.where(iowait[:, 1:] < iowait[:, :-1], iowait_back, rise(iowait))
    deltas = {
        "user": with_guests("user") + with_guests("nice"),
        "system": rise(read["system"]),
        "irq": rise(read["irq"]),
        "softirq": rise(read["softirq"]),
        "steal": rise(read["steal"]),
        "iowait": iowait_delta,
    }
    interval = (idle_delta + sum(deltas.values())).astype(np.float64)
    tickless = interval == 0
    scale = np.where(known, 100.0 / np.where(tickless, 1.0, interval), np.nan)
    percent = np.stack([deltas[mode] * scale for mode in MAP_MODES])
    idle_percent = np.where(tickless & known, 100.0, idle_delta * scale)
    busy = percent[: len(BUSY_MODES)].sum(axis=0)
    return CoreShares(cores, ticks[:-1], ticks[1:], percent, idle_percent, busy)


assert MAP_MODES[: len(BUSY_MODES)] == BUSY_MODES, "iowait is the last of MAP_MODES"
