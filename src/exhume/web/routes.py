"""Every question of the API: its path, its parameters, and the type of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from starlette.datastructures import QueryParams

from exhume.model.answers import (
    CoreMoment,
    CoreNode,
    CoreProcesses,
    CoreQueues,
    CoreTimes,
    SamplesAnswer,
    SeriesAnswer,
    Span,
    Top,
)
from exhume.model.evidence import IrqsAnswer
from exhume.model.lifecycles import UnitsAnswer
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import Status
from exhume.store import queries
from exhume.web import cases, node, questions, selection, timeline
from exhume.web.answers import (
    CoreCells,
    EventGroups,
    FieldEntries,
    FlameColumns,
    FlameDiff,
    Gauge,
    Marks,
    RecordingInfo,
    SubSecondCells,
)
from exhume.web.asked import Asked
from exhume.web.questions import WINDOW, Parameter


class Question(Struct, frozen=True):
    path: str
    about: str
    answer: Callable[[Asked], Any]
    kind: Any
    """The type of the answer."""
    parameters: tuple[Parameter, ...] = ()
    of_samples: bool | Callable[[QueryParams], bool] = True
    """Without samples the live head is read much quicker."""
    is_aside: bool = False
    """Made elsewhere: others need not wait for it."""

    def wants_samples(self, query: QueryParams) -> bool:
        return self.of_samples if isinstance(self.of_samples, bool) else self.of_samples(query)


def spans(asked: Asked) -> list[Span]:
    return asked.recording.spans()


def series(asked: Asked) -> list[SeriesAnswer]:
    instances = questions.strings(asked.query, "instance")
    return queries.series(asked.recording, asked.path["field"], asked.window, instances)


_SERIES = (*WINDOW, Parameter("instance", "Only these.", {"type": "string"}, True))

QUESTIONS: tuple[Question, ...] = (
    Question("/api/recording", "What there is to look at.", timeline.recording, RecordingInfo,
             of_samples=False),
    Question("/api/spans", "What is recorded, and in which state.", spans, tuple[Span, ...]),
    Question("/api/cores", "Core × time: the worst second of every cell.", timeline.cores,
             CoreCells, timeline.CORES, of_samples=timeline.by_samples),
    Question("/api/core-times", "Each core over a window, by mode.", timeline.core_times,
             tuple[CoreTimes, ...], WINDOW, of_samples=False),
    Question("/api/marks", "Events that matter, as marks on an axis.", timeline.marks, Marks,
             timeline.MARKS, of_samples=False),
    Question("/api/gauge/{field}", "A field as lines to draw; counters as rates.", timeline.gauge,
             Gauge, timeline.GAUGE, of_samples=False),
    Question("/api/fields", "Every field, and whether it is recorded.", timeline.fields,
             FieldEntries, of_samples=False),
    Question("/api/queues", "Which network queues interrupt which core.", timeline.queues,
             tuple[CoreQueues, ...], WINDOW, of_samples=False),
    Question("/api/numa-nodes", "Which core belongs to which NUMA node; empty where unknown.",
             timeline.numa_nodes, tuple[CoreNode, ...], WINDOW, of_samples=False),
    Question("/api/sub-second", "FlameScope's heat map.", selection.sub_second, SubSecondCells,
             selection.SUB_SECOND),
    Question("/api/flame", "Where the core time went, as a tree of calls.", selection.flame,
             FlameColumns, selection.FLAME),
    Question("/api/diff", "The same against a baseline.", selection.diff, FlameDiff,
             selection.DIFF),
    Question("/api/top", "Processes and frames, with their own past.", selection.top, Top,
             selection.SELECTED),
    Question("/api/who-ran", "Core × process.", selection.who_ran, CoreProcesses,
             selection.SELECTED),
    Question("/api/samples", "Samples as they were taken.", selection.samples, SamplesAnswer,
             selection.SELECTED),
    Question("/api/who", "Who was on a core at an instant.", selection.who, CoreMoment | None,
             selection.WHO),
    Question("/api/events", "What happened, like events as one.", selection.events, EventGroups,
             selection.EVENTS, of_samples=False),
    Question("/api/series/{field}", "Raw readings of a field.", series, tuple[SeriesAnswer, ...],
             _SERIES, of_samples=False),
    Question("/api/irqs", "Which interrupt goes to which core.", node.irqs, IrqsAnswer, WINDOW,
             of_samples=False),
    Question("/api/zombies", "Memory cgroups dead and not gone.", node.zombies, ZombiesAnswer,
             WINDOW, of_samples=False),
    Question("/api/units", "Who keeps dying, and what it leaves behind.", node.units, UnitsAnswer,
             WINDOW),
    Question("/api/status", "What the recorder does, misses and costs.", node.status, Status,
             of_samples=False),
    Question("/api/cases", "Symptoms and their causes.", cases.cases, cases.Cases, cases.CASES,
             of_samples=False, is_aside=True),
)  # fmt: skip
"""Times are epoch seconds. An answer is the JSON of a dataclass, by the rules of model.jsonable."""
