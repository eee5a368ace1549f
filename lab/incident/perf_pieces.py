"""The text of `perf script` in pieces of two minutes, named by when each was started.

A piece in which the card was reset is sampled as the story's were, 97 times a second on all cores:
that makes over a million samples. Those with another burst are sampled a twentieth as often, and
quiet ones hardly at all, each with the rate and the period in it that it was taken with.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lab.incident import words
from lab.incident.load import CHUNK_S, Usage, usage
from lab.incident.plan import PIECE_GAP_S, PIECE_S, SAMPLED_LATE_S, Incident

_SEVERAL = 4
"""Stacks of each kind on each core."""
_IDLE, _USER, _SYSTEM, _SOFTIRQ, _HELD, _AFTER = range(6)
_THIN, _QUIET = 20, 1000


class PieceOfTime(Struct, frozen=True):
    start_s: float
    """Of the night; what its name says."""
    hz: float

    @property
    def first_sample_s(self) -> float:
        return self.start_s + SAMPLED_LATE_S


def pieces(incident: Incident) -> Iterator[PieceOfTime]:
    at = 0.0
    while at + SAMPLED_LATE_S + PIECE_S <= incident.seconds:
        first, last = at + SAMPLED_LATE_S, at + SAMPLED_LATE_S + PIECE_S
        inside = [b for b in incident.bursts if b.start_s - 5 < last and first < b.end_s + 2]
        hz = incident.hz / _QUIET
        if any(burst.reset_s is not None for burst in inside):
            hz = incident.hz
        elif inside:
            hz = incident.hz / _THIN
        yield PieceOfTime(at, hz)
        at += PIECE_S + PIECE_GAP_S


def name_of(incident: Incident, piece: PieceOfTime) -> str:
    started = time.gmtime(incident.epoch_s(piece.start_s))
    stamp = time.strftime("%Y%m%d-%H-%M-%S", started)
    return f"perf-{incident.host}-{stamp}-{PIECE_S}s.data.stacks"


def write_all(folder: Path, incident: Incident) -> int:
    """How many samples there are."""
    table = _Table(incident)
    loads = _Loads(incident)
    return sum(_write(folder, incident, piece, table, loads) for piece in pieces(incident))


def _write(
    folder: Path, incident: Incident, piece: PieceOfTime, table: _Table, loads: _Loads
) -> int:
    period_ns = round(1e9 / piece.hz)
    at, which = _samples(incident, piece, loads)
    end = f": {period_ns:10} cpu-clock: \n"
    heads, bodies = table.heads, [end + body for body in table.bodies]
    clock = (at + incident.kernel_s(0)).tolist()
    with open(folder / name_of(incident, piece), "w", encoding="ascii") as file:
        file.write(_header(incident, piece, clock))
        for begin in range(0, len(clock), 100_000):
            some = slice(begin, begin + 100_000)
            file.write(
                "".join(
                    [
                        f"{heads[w]}{t:13.6f}{bodies[w]}"
                        for t, w in zip(clock[some], which[some], strict=True)
                    ]
                )
            )
    return len(clock)


def _samples(
    incident: Incident, piece: PieceOfTime, loads: _Loads
) -> tuple[NDArray[np.float64], list[int]]:
    """Times in order, and which line of the table each is."""
    rng = np.random.default_rng([incident.seed, 2, round(piece.start_s * 10)])
    ticks, cores = max(1, round(PIECE_S * piece.hz)), incident.cores
    shape = (ticks, cores)
    at = piece.first_sample_s + np.arange(ticks)[:, np.newaxis] / piece.hz
    at = at + np.arange(cores) * 2e-6 + rng.random(shape) * min(2e-4, 0.01 / piece.hz)
    core = np.broadcast_to(np.arange(cores), shape)
    user, system, softirq = loads.at(at.astype(np.int64), core)
    thrown = rng.random(shape) * 100
    kind = np.full(shape, _IDLE)
    kind[thrown < softirq + system + user] = _USER
    kind[thrown < softirq + system] = _SYSTEM
    kind[thrown < softirq] = _SOFTIRQ
    for burst in incident.bursts:
        held = (at >= burst.start_s) & (at < burst.end_s) & (core == burst.core)
        # What had to wait is done at once when the core is free again.
        after = (at >= burst.end_s) & (at < burst.end_s + 0.15) & (core == burst.core)
        kind[held], kind[after] = _HELD, _AFTER
    which = (core * 6 + kind) * _SEVERAL + rng.integers(0, _SEVERAL, shape)
    order = np.argsort(at, axis=None, kind="stable")
    return at.ravel()[order], which.ravel()[order].tolist()


class _Loads:
    """The night's load; two chunks at a time are enough, since pieces go forward."""

    def __init__(self, incident: Incident) -> None:
        self._incident = incident
        self._held: dict[int, Usage] = {}

    def at(
        self, second: NDArray[np.int64], core: NDArray[np.int64]
    ) -> tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]:
        second = np.minimum(second, self._incident.seconds - 1)
        out = [np.zeros(second.shape, np.int16) for _ in range(3)]
        for chunk in np.unique(second // CHUNK_S).tolist():
            if chunk not in self._held:
                self._held = {n: u for n, u in self._held.items() if n >= chunk - 1}
                self._held[chunk] = usage(self._incident, chunk)
            load = self._held[chunk]
            here = second // CHUNK_S == chunk
            row = second[here] - load.first_s
            for values, source in zip(out, (load.user, load.system, load.softirq), strict=True):
                values[here] = source[row, core[here]]
        return out[0], out[1], out[2]


class _Table:
    """Every first line up to the time, and every rest of a sample, by core, kind and variant."""

    def __init__(self, incident: Incident) -> None:
        self.heads: list[str] = []
        self.bodies: list[str] = []
        training = set(incident.training_cores)
        torch, payer = "/opt/conda/lib/libtorch_cpu.so", f"/usr/local/bin/{incident.payer}"
        for core in range(incident.cores):
            trainer = (incident.trainer, 20_000 + core * 7)
            daemon = (
                words.DAEMONS[core % len(words.DAEMONS)],
                900 + core % len(words.DAEMONS) * 31,
            )
            for kind in range(6):
                for n in range(_SEVERAL):
                    user = words.user_frames(words.COMPUTE[n % len(words.COMPUTE)], torch)
                    quiet = words.kernel_frames(words.COLLECT[n % len(words.COLLECT)])
                    who, body = ("swapper", 0), words.idle_frames()
                    if kind == _USER:
                        who = trainer if core in training else daemon
                        body = user if core in training else quiet
                    elif kind == _SYSTEM:
                        who = trainer if core in training else daemon
                        body = words.fault_frames() + user if core in training else quiet
                    elif kind == _SOFTIRQ:
                        body = words.receive_frames()
                    elif kind == _HELD:
                        who = (incident.payer, incident.payer_pid + 11)
                        walk = words.WALK[(n + core) % len(words.WALK)]
                        body = words.kernel_frames(walk) + words.user_frames(words.WALKER, payer)
                    elif kind == _AFTER:
                        who, body = (f"ksoftirqd/{core}", 10 + core * 6), words.ksoftirqd_frames()
                    self.heads.append(f"{who[0]} {who[1]:5} [{core:03}] ")
                    self.bodies.append(f"{body}\n")


def _header(incident: Incident, piece: PieceOfTime, clock: list[float]) -> str:
    ended = incident.epoch_s(piece.first_sample_s + PIECE_S)
    is_frequency = float(piece.hz).is_integer()
    asked = f"-F {piece.hz:.0f}" if is_frequency else f"-c {round(1e9 / piece.hz)}"
    value = round(piece.hz) if is_frequency else round(1e9 / piece.hz)
    freq = ", freq = 1" if is_frequency else ""
    data = name_of(incident, piece).removesuffix(".stacks")
    return (
        "# ========\n"
        f"# captured on    : {time.strftime('%a %b %e %H:%M:%S %Y', time.gmtime(ended))}\n"
        "# header version : 1\n"
        f"# hostname : {incident.host}\n"
        f"# os release : {words.KERNEL}\n"
        f"# perf version : {words.PERF}\n"
        "# arch : x86_64\n"
        f"# nrcpus online : {incident.cores}\n"
        f"# nrcpus avail : {incident.cores}\n"
        f"# cmdline : /usr/bin/perf record {asked} -g -a -o {data} -- sleep {PIECE_S} \n"
        "# event : name = cpu-clock, , id = { 7, 8 }, type = 1, size = 112, "
        f"{{ sample_period, sample_freq }} = {value}, "
        "sample_type = IP|TID|TIME|CALLCHAIN|CPU|PERIOD, "
        f"disabled = 1, inherit = 1, mmap = 1, comm = 1{freq}, task = 1, sample_id_all = 1\n"
        f"# time of first sample : {clock[0]:.6f}\n"
        f"# time of last sample : {clock[-1]:.6f}\n"
        "# ========\n#\n"
    )
