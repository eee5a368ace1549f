"""One tick a second: drain the rings, read the counters, append a frame."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume import __version__
from exhume.derive.signatures import Signature
from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.sample import Stretch
from exhume.model.segment import Origin
from exhume.perf.native import NO_SAMPLES, tally
from exhume.perf.records import NO_COMMS, NO_FORKS, NO_MAPPINGS
from exhume.record import sources
from exhume.record.background import Background
from exhume.record.budget import Governor, own_cost
from exhume.record.cgroup_births import CgroupBirths
from exhume.record.clocks import Clocks
from exhume.record.counters import Counters
from exhume.record.epoch import Epoch
from exhume.record.head import Head
from exhume.record.hearing import Hearing
from exhume.record.kmsg_place import KmsgPlace
from exhume.record.lanes import Lanes, Problems
from exhume.record.sampled import Owners, hottest, seen_mappings, without_idle
from exhume.record.scan import file_key
from exhume.record.sources import Context
from exhume.sampler.kernel_clock import KernelClock
from exhume.sampler.sampler import Drained, Sampler
from exhume.sampler.tracepoints import Tracepoint
from exhume.sources.cpu import online_cores
from exhume.store.headlog import FrameKind
from exhume.store.layout import symbols_path
from exhume.store.ticks import FileEntry, Tick, encode_tick

TICK_NS = 1_000_000_000
GOVERN_EVERY_NS = 60 * TICK_NS
SEGMENT_NS = 600 * TICK_NS
EVENTS_KEPT = 1_000
"""While nothing can be written."""
PATIENCE_SECONDS = 0.25
"""How long a tick waits for its sources."""

Wait = Callable[[int], bool]
"""Sleep until that monotonic time; True when somebody asked us to stop."""


class Options(Struct, frozen=True):
    data: Path
    rate_hz: float = 97.0
    budget_percent: float = 1.0
    segment_ns: int = SEGMENT_NS
    trust_user_kmsg: bool = False
    follow: tuple[Path, ...] = ()
    extra_signatures: tuple[Signature, ...] = ()


class Recorder:
    """Holds the parts together; `run` is the loop, `tick` one second of it."""

    def __init__(
        self,
        host: Host,
        options: Options,
        head: Head,
        sampler: Sampler | None,
        clock: KernelClock,
        on_rotate: Callable[[str], None],
        births: CgroupBirths | None = None,
        kmsg_place: KmsgPlace | None = None,
    ) -> None:
        """`on_rotate` gets the name of the new head log: all older ones are ready to be closed."""
        self._host = host
        self._options = options
        self.head = head
        self.sampler = sampler
        self.clocks = Clocks(host.clock, clock)
        self._on_rotate = on_rotate
        self.counters = Counters()
        self.governor = Governor(options.rate_hz, options.budget_percent)
        self.problems: dict[str, str] = {}
        """What does not work right now, by source: for `exhume status`."""
        context = Context(
            host, lambda: self.clocks.pair, lambda: self._hot_pids,
            options.trust_user_kmsg, options.follow, options.extra_signatures, kmsg_place,
        )  # fmt: skip
        self._fast = Lanes(sources.fast(context), PATIENCE_SECONDS)
        self._slow = Lanes(sources.slow(context), 0)
        self._hot_pids: list[int] = []
        folder = symbols_path(options.data)
        self.background = Background(host, head, folder, self.problems)
        self._births = births
        self._kmsg_place = kmsg_place
        self._epoch = Epoch()
        self._instances: dict[str, tuple[str, ...]] = {}
        self._owners = Owners(host)
        self._hearing = Hearing(host.clock, sampler, self.problems)
        self._last_end = self.clocks.pair.monotonic_ns
        self._next_segment = 0
        self._governed = (0, own_cost(host))
        self.cost = own_cost(host)
        self.cpu_percent: float | None = None
        self._events: list[Event] = []
        self._last_readings: list[Reading] = []

    def run(self, wait: Wait) -> None:
        start = self._host.clock.monotonic_ns()
        self._events.append(
            Event(start, "recorder-start", "exhume", f"exhume {__version__} began to record")
        )
        # The events first, so that our own children are heard of.
        with suppress(ExhumeError, OSError):  # the source itself will say what is wrong
            self._events += self._hearing.mind_cores(online_cores(self._host), start)
        if self._births is not None:
            self.background.on_tracepoints = self._watch_cgroups
            self.background.ask_for_tracepoints(start)
        self._rotate(start)
        self.tick(start)
        planned = start + TICK_NS
        while not wait(planned):
            now = self._host.clock.monotonic_ns()
            self.tick(planned)
            # A second that is long gone is not made up for: its samples wait in the rings.
            planned += TICK_NS * max(1, (now - planned) // TICK_NS)
        self._events.append(
            Event(self._host.clock.monotonic_ns(), "recorder-stop", "exhume", "stopped as asked")
        )
        self.tick(planned, final=True)

    def tick(self, planned_ns: int, *, final: bool = False) -> None:
        now = self._host.clock.monotonic_ns()
        lateness = max(0, now - planned_ns)
        self.counters.worst_lateness_ns = max(self.counters.worst_lateness_ns, lateness)
        self.counters.ticks += 1
        step = self.clocks.mind(now, self.head)
        if step is not None:
            self._events.append(step)
            self._plan_rotation()  # set back by a year, the old plan would be a year away
        self._align_sampler_clock()
        # Before the cores are looked at: the last second of one that went off line is in its ring.
        drained = self._drain(now)
        readings = self._collect(now)
        self._hearing.mind_silence(drained, readings)
        if self._hearing.wants_scan(now):
            self._hearing.scanned(now)
            self.background.scan(now)
        if now - self._last_end > 3 * TICK_NS:
            text = f"nothing was read for {(now - self._last_end) / 1e9:.1f} s"
            self._events.append(Event(self._last_end, "gap", "recorder", text))
        if self._births is not None:
            readings += self._births.tick(self.cores)
            if self._births.problem:
                self.problems["cgroup-births"] = self._births.problem
        readings += self._own_readings(lateness)
        tick = self._make_tick(drained, readings, now)
        self._write(tick)
        self._last_end = now
        self._last_readings = readings
        if self._kmsg_place is not None:
            self._kmsg_place.save()
        if final:
            self.stop()
            return
        self.background.poll(now)
        self._mind_epoch(now, drained)
        self._mind_budget(now)
        if self.clocks.wall_ns(now) >= self._next_segment:
            self._rotate(now)

    def _write(self, tick: Tick) -> None:
        dropped = self.head.dropped_frames
        self.head.write(
            FrameKind.TICK, tick.start_ns, tick.end_ns, encode_tick(tick, self._instances)
        )
        if self.head.dropped_frames == dropped:
            self._events.clear()
            return
        # Later frames build on what this one told first, so all of that has to be told again.
        del self._events[:-EVENTS_KEPT]
        self._new_epoch(tick.end_ns)
        if self.sampler is not None:
            self.sampler.forget_files()

    def _collect(self, now: int) -> list[Reading]:
        """What the sources brought: all that answered, whoever hangs."""
        readings: list[Reading] = []
        for lanes in (self._fast, self._slow):
            for name, collected in lanes.collect(now):
                readings += collected.readings
                self._events += collected.events
                if name == "cpu":
                    self._events += self._hearing.mind_cores(_cores_of(collected.readings), now)
        return readings

    def _drain(self, now: int) -> Drained | None:
        if self.sampler is None:
            return None
        try:
            return self.sampler.drain()
        except Exception as error:  # counters go on without samples
            self.problems["samples"] = f"the rings could not be read: {error}"
            self._new_epoch(now)  # stacks may be in the sampler's dictionary that nobody wrote down
            return None

    def _watch_cgroups(self, points: tuple[Tracepoint, ...]) -> None:
        if self._births is None:
            return
        if points:
            self._births.use_tracepoints(points)
        else:
            self._births.use_inotify()

    def source_states(self) -> Problems:
        """Every source with its state: `ok`, or what is wrong with it."""
        states: Problems = {}
        for lanes in (self._fast, self._slow):
            states |= lanes.states()
        return states

    @property
    def cores(self) -> tuple[int, ...]:
        return self._hearing.cores

    def _make_tick(self, drained: Drained | None, readings: list[Reading], now: int) -> Tick:
        if drained is None:
            samples, words, counts = NO_SAMPLES, np.empty(0, np.uint64), np.empty(0, np.uint32)
        else:
            samples, words, counts = drained.samples, drained.words, drained.word_count
            self.background.learn_files(drained)
        start = min(self._last_end, int(samples.time.min(initial=np.uint64(self._last_end))))
        kept = without_idle(samples, self.background.idle_ranges, self.counters)
        sampled, hits = tally(kept.pid)
        if sampled:
            self._hot_pids = hottest(sampled, hits)
        return Tick(
            start_ns=start,
            end_ns=now,
            epoch=self._epoch.number,
            samples=kept,
            stack_base=0 if self.sampler is None else self.sampler.stack_count - len(counts),
            words=words,
            word_count=counts,
            comms=drained.comms if drained else NO_COMMS,
            forks=drained.forks if drained else NO_FORKS,
            exits=drained.exits if drained else NO_FORKS,
            mappings=seen_mappings(drained, now) if drained else NO_MAPPINGS,
            files=[
                FileEntry(h, file_key(identity), identity.path) for h, _, identity in drained.files
            ]
            if drained
            else (),
            cgroup_names=drained.cgroups if drained else {},
            pid_cgroups=self._owners.ask(drained, sampled) if drained else {},
            kernel_symbols=drained.kernel_symbols if drained else (),
            readings=readings,
            events=list(self._events),
        )

    def _own_readings(self, lateness_ns: int) -> list[Reading]:
        cost = self.cost = own_cost(self._host)
        readings = [
            *Reading.of_nodes(
                {
                    "self.cpu_ns": cost.cpu_ns,
                    "self.rss_bytes": cost.rss_bytes,
                    "self.lateness_ns": lateness_ns,
                    "self.written_bytes": self.head.written_bytes,
                    "self.rate_hz": round(self.governor.rate_hz),
                }
            )
        ]
        if self.sampler is not None:
            readings += self.counters.readings(self.sampler.cores)
        return readings

    def _mind_epoch(self, now: int, drained: Drained | None) -> None:
        if drained is not None:
            Counters.add(self.counters.lost_samples, drained.lost_samples)
            Counters.add(self.counters.lost_sideband, drained.lost_sideband)
            self._epoch.add(drained)
        if self._epoch.is_over(now):
            self._new_epoch(now)

    def _new_epoch(self, now: int) -> None:
        """From here on stacks are written anew, so that no reader needs what came before."""
        self._epoch.begin(now)
        self._instances.clear()
        if self.sampler is not None:
            self.sampler.forget_stacks()

    def _mind_budget(self, now: int) -> None:
        since, before = self._governed
        if since == 0:
            self._governed = (now, self.cost)
            return
        if now - since < GOVERN_EVERY_NS:
            return
        self.cpu_percent = 100 * (self.cost.cpu_ns - before.cpu_ns) / (now - since)
        self._governed = (now, self.cost)
        self.counters.worst_lateness_ns = 0
        rate = self.governor.decide(self.cpu_percent)
        if rate is not None and self.sampler is not None:
            self.sampler.set_rate(rate)
            self.head.write_stretch(self._stretch(now))
            text = (
                f"sampling at {rate:g} Hz from now on: the recorder took {self.cpu_percent:.2f} % "
                f"of a core, its budget is {self.governor.budget_percent:g} %"
            )
            self._events.append(Event(now, "rate", "recorder", text, fields={"rate_hz": rate}))

    def _stretch(self, now: int) -> Stretch:
        if self.sampler is None:
            return Stretch(now, "none", 0.0)
        return Stretch(now, self.sampler.offer.event, self.sampler.rate_hz)

    def _rotate(self, now: int) -> None:
        pair = self.clocks.renew()
        self._align_sampler_clock()
        self.head.rotate(pair, self._stretch(now))
        self._plan_rotation()
        self._new_epoch(now)
        if self.sampler is not None:
            self.sampler.forget_files()
            self._owners.forget()
            self.background.look_around(now)
            self._hearing.scanned(now)
        if self._last_readings:
            # Counters are read as differences: the first second needs something to differ from.
            last = self._make_tick(None, self._last_readings, self._last_end)
            self._write(replace(last, start_ns=self._last_end))
        self._on_rotate(self.head.name)

    def _plan_rotation(self) -> None:
        """At whole multiples of wall time, so that logs of many nodes begin together."""
        span = self._options.segment_ns
        self._next_segment = (self.clocks.pair.wall_ns // span + 1) * span

    def _align_sampler_clock(self) -> None:
        """Where events cannot be on CLOCK_MONOTONIC they are on the kernel log's clock."""
        pair = self.clocks.pair
        if self.sampler is None or pair.kernel_log_ns is None:
            return
        if not self.sampler.offer.has_monotonic_times:
            self.sampler.clock_offset_ns = pair.monotonic_ns - pair.kernel_log_ns

    def stop(self) -> None:
        self.background.stop()
        if self._births is not None:
            self._births.close()
        self.head.close()
        if self.sampler is not None:
            self.sampler.close()


def _cores_of(readings: tuple[Reading, ...]) -> tuple[int, ...]:
    return tuple(int(name) for name in readings[0].instances)


def origin_of(host: Host) -> Origin:
    return Origin(
        node=host.hostname(),
        boot_id=host.boot_id(),
        kernel=host.kernel_release(),
        architecture=os.uname().machine,
        user_hz=os.sysconf("SC_CLK_TCK"),
        recorder=f"exhume {__version__}",
    )
