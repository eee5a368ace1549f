"""A stretch that lies in memory, the live head above all, behind the interface of a segment."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from exhume.model.arrays import I64
from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import Block
from exhume.model.window import Window
from exhume.store.layout import segment_name
from exhume.store.rollups import CoreSeconds, FrameMinutes, ProcessSeconds, RollUps
from exhume.store.sampled_cores import SampledRollUp, has_core_times, sampled_cores
from exhume.store.summing import CoreRollUp, FrameRollUp, ProcessRollUp
from exhume.store.view import SampleColumns, SegmentView, ThreadIndex, TreeIndex, sample_columns
from exhume.store.view import wall_window as _wall_window


class MemorySegment:
    """Roll-ups are computed when asked for, by the code that writes them at segment close."""

    def __init__(
        self,
        data: SegmentData,
        *,
        state: str = "head",
        size_bytes: int = 0,
        summed_up: RollUps | None = None,
    ) -> None:
        """`summed_up`: roll-ups that someone has made already."""
        self.data = data
        self.state = state
        self.size_bytes = size_bytes
        self._summed_up = summed_up

    @property
    def name(self) -> str:
        data = self.data
        return segment_name(data.clock.wall(data.start_ns), data.origin.boot_id, data.start_ns)

    @property
    def origin(self) -> Origin:
        return self.data.origin

    @property
    def clock(self) -> ClockMap:
        return self.data.clock

    @property
    def start_ns(self) -> int:
        return self.data.start_ns

    @property
    def end_ns(self) -> int:
        return self.data.end_ns

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        return self.data.stretches

    @property
    def sample_count(self) -> int:
        return len(self.data.samples)

    @cached_property
    def window(self) -> Window:
        return _wall_window(self.data.clock, self.data.start_ns, self.data.end_ns)

    @cached_property
    def _samples(self) -> SampleColumns:
        return sample_columns(self.data.samples)

    @cached_property
    def _tree(self) -> TreeIndex:
        return TreeIndex(self.data.tree)

    @cached_property
    def _threads(self) -> ThreadIndex:
        return ThreadIndex(self.data.threads)

    @cached_property
    def _core_seconds(self) -> CoreSeconds | None:
        if self._summed_up is not None:
            return self._summed_up.core_seconds
        roll_up = CoreRollUp(self.data.blocks, self.data.origin.user_hz)
        roll_up.add(self.data.samples)
        return roll_up.result()

    @cached_property
    def _sampled_seconds(self) -> CoreSeconds | None:
        if self._summed_up is not None:
            return self._summed_up.sampled_seconds
        return sampled_seconds_of(self)

    @cached_property
    def _process_seconds(self) -> ProcessSeconds:
        if self._summed_up is not None:
            return self._summed_up.process_seconds
        return process_seconds_of(self, self.data.samples)

    @cached_property
    def _frame_minutes(self) -> FrameMinutes:
        return frame_minutes_of(self, self.data.samples)

    def samples(self, cores: Collection[int] = ()) -> SampleColumns:  # noqa: ARG002
        return self._samples

    def tree(self) -> TreeIndex:
        return self._tree

    def stack_counts(self) -> I64:
        return np.bincount(self.data.samples.stack, minlength=len(self.data.tree.parent))

    def threads(self) -> ThreadIndex:
        return self._threads

    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.field for block in self.data.blocks))

    def blocks(self, field: str) -> tuple[Block, ...]:
        return tuple(block for block in self.data.blocks if block.field == field)

    def events(self) -> tuple[Event, ...]:
        return self.data.events

    def core_seconds(self) -> CoreSeconds | None:
        return self._core_seconds

    def sampled_seconds(self) -> CoreSeconds | None:
        return self._sampled_seconds

    def process_seconds(self) -> ProcessSeconds:
        return self._process_seconds

    def frame_minutes(self) -> FrameMinutes:
        return self._frame_minutes


def as_samples(columns: SampleColumns) -> Samples:
    """The columns of a view as plain samples, for a roll-up that has to be made anew."""
    rows = columns.rows(-(1 << 62), 1 << 62)
    time_ns: I64 = columns.time_ns(rows)
    return Samples(
        time_ns,
        rows.core(),
        columns.thread_of(rows),
        columns.stack_of(rows),
        np.zeros(len(time_ns), np.uint32),
    )


def sampled_seconds_of(view: SegmentView) -> CoreSeconds | None:
    if not sampled_cores(view) or has_core_times(view.fields()):
        return None
    roll_up = SampledRollUp(view.start_ns, view.end_ns, view.stretches, view.tree().tree)
    roll_up.add(as_samples(view.samples()))
    return roll_up.result()


def process_seconds_of(view: SegmentView, samples: Samples) -> ProcessSeconds:
    roll_up = ProcessRollUp(
        view.start_ns, view.stretches, view.tree().tree, view.threads().processes
    )
    roll_up.add(samples)
    return roll_up.result()


def frame_minutes_of(view: SegmentView, samples: Samples) -> FrameMinutes:
    roll_up = FrameRollUp(view.start_ns, view.end_ns, view.stretches, view.tree().tree)
    roll_up.add(samples)
    return roll_up.result()
