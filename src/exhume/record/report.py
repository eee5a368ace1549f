"""status.json: what the recorder says about itself, for `exhume status` and whoever else looks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from exhume import __version__
from exhume.host import Host
from exhume.model.jsonable import jsonable
from exhume.model.segment import Origin
from exhume.model.status import Cost, Disk, Missing, SourceState, Status
from exhume.record.background import NAMES
from exhume.record.recorder import Recorder

STATUS_FILE = "status.json"
DAY_SECONDS = 86_400


class Retention(Struct, frozen=True):
    keep_ns: int
    max_bytes: int
    pinned_max_bytes: int


class Reporter:
    def __init__(
        self,
        host: Host,
        data: Path,
        origin: Origin,
        retention: Retention,
        missing: tuple[Missing, ...],
    ) -> None:
        self._host = host
        self._data = data
        self._origin = origin
        self._retention = retention
        self._missing = missing
        self._started_wall = host.clock.wall_ns()
        self._started = host.clock.monotonic_ns()

    def write(self, recorder: Recorder, state: Literal["running", "stopped"]) -> None:
        """All of it or the old one; a full disk is no reason to stop recording."""
        now = self._host.clock.monotonic_ns()
        text = json.dumps(jsonable(self._status(recorder, state, now)), indent=1)
        path = self._data / STATUS_FILE
        draft = path.with_suffix(".tmp")
        try:
            draft.write_text(text + "\n", encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            recorder.problems["status"] = f"{path.name} cannot be written: {error.strerror}"

    def _status(self, recorder: Recorder, state: Literal["running", "stopped"], now: int) -> Status:
        sampler = recorder.sampler
        seconds = max(1.0, (now - self._started) / 1e9)
        return Status(
            state=state,
            data_dir=str(self._data),
            disk=Disk(keep_ns=self._retention.keep_ns, max_bytes=self._retention.max_bytes),
            version=__version__,
            node=self._origin.node,
            boot_id=self._origin.boot_id,
            pid=os.getpid() if state == "running" else None,
            since_wall_ns=self._started_wall if state == "running" else self._host.clock.wall_ns(),
            updated_wall_ns=self._host.clock.wall_ns(),
            event=sampler.offer.event if sampler else "none",
            rate_hz=recorder.governor.rate_hz if sampler else None,
            wanted_rate_hz=recorder.governor.wanted_hz if sampler else None,
            cores_online=len(recorder.cores),
            cores_sampled=len(sampler.cores) if sampler else 0,
            cost=Cost(
                cpu_percent_of_one_core=recorder.cpu_percent,
                rss_bytes=recorder.cost.rss_bytes,
                worst_lateness_ns=recorder.counters.worst_lateness_ns,
                bytes_per_day=int(recorder.head.written_bytes / seconds * DAY_SECONDS),
                lost_samples=sum(recorder.counters.lost_samples.values()),
            ),
            sources=self._sources(recorder),
            missing=self._missing + _kernel_misses(recorder),
        )

    def _sources(self, recorder: Recorder) -> tuple[SourceState, ...]:
        """Those that should work, and whatever else has a problem right now."""
        states = list(recorder.source_states().values())
        problems = dict(recorder.problems)
        if recorder.head.dropped_frames:
            problems["disk"] = f"{recorder.head.dropped_frames} frames could not be written"
        expected = NAMES if recorder.sampler is not None else ()
        states += [_state(name, problems) for name in dict.fromkeys((*expected, *problems))]
        return tuple(states)


def _state(name: str, problems: dict[str, str]) -> SourceState:
    return (
        SourceState(name, "broken", problems[name]) if name in problems else SourceState(name, "ok")
    )


def _kernel_misses(recorder: Recorder) -> tuple[Missing, ...]:
    if recorder.sampler is None:
        return ()
    return tuple(
        Missing(
            feature.gives,
            f"this kernel does not offer it ({feature.name})",
            f"Linux {feature.since} or newer",
        )
        for feature in recorder.sampler.offer.missing
    )
