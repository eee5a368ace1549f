"""Answers about a selection: flame graphs, the sub-second map, who ran, events, samples."""

from __future__ import annotations

from base64 import b64encode

import numpy as np

from exhume.derive import flame_shapes
from exhume.derive.event_groups import folded, severity
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.answers import CoreMoment, CoreProcesses, FlameTree, SamplesAnswer, Top
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.queries.events import event_tallies
from exhume.web import questions
from exhume.web.answers import EventGroups, FlameColumns, FlameDiff, SubSecondCells
from exhume.web.asked import Asked

MAX_SECONDS = 4 * 3600
"""Columns of the sub-second map: more than any screen has."""
_COUNTED = ("exec", "exit")
_ROWS = questions.counted("rows", "Slices of a second.", 50, 1000)
_LIMIT = questions.counted("limit", "How many at most.", 100, 2000)
_THIN = questions.counted(
    "per_million", "Branches thinner than this share of everything are cut.", 300, 1_000_000
)
_TEXT = {"type": "string"}
_HIDE = questions.Parameter("hide", "As if no stack with this frame were there.", {**_TEXT}, True)
_ONLY = questions.Parameter("only", "Only stacks with this frame.", {**_TEXT}, True)
_FOCUS = questions.Parameter("focus", "The frame that callers and callees are of.", {**_TEXT})
_SHAPE = questions.chosen("shape", "What of the frame in focus.", ("callees", "callers"))
_RECURSION = questions.chosen("recursion", "Frames that call themselves.", ("keep", "collapse"))
_BASE = questions.chosen(
    "base", "What to compare with.", ("preceding", "whole", "window")
)  # fmt: skip
_BASE_WINDOW = (
    questions.Parameter("base_start", "With base=window: epoch seconds.", {"type": "number"}),
    questions.Parameter("base_end", "With base=window: epoch seconds.", {"type": "number"}),
)
_AT = questions.Parameter("at", "Epoch seconds.", {"type": "number"}, required=True)

SUB_SECOND = (*questions.WINDOW, _ROWS, *questions.FILTER)
_TREE = (*questions.WINDOW, _THIN, _HIDE, _ONLY, _RECURSION, *questions.FILTER)
FLAME = (*_TREE, _FOCUS, _SHAPE)
DIFF = (*_TREE, _BASE, *_BASE_WINDOW)
SELECTED = (*questions.WINDOW, _LIMIT, *questions.FILTER)
EVENTS = (
    *questions.WINDOW,
    _LIMIT,
    questions.Parameter("kind", "Only events of this kind.", {**_TEXT}, True),
)
WHO = (_AT, *questions.FILTER[:1])


def sub_second(asked: Asked) -> SubSecondCells:
    window, rows = asked.window, questions.number(asked.query, _ROWS)
    if window.seconds > MAX_SECONDS:
        raise ExhumeError(
            f"a sub-second map of {window.seconds / 3600:.1f} h has more columns than a screen",
            todo=f"select {MAX_SECONDS // 3600} h or less",
            exit_code=EXIT_USAGE,
        )
    found = queries.sub_second(asked.recording, window, rows, asked.filter)
    packed = np.minimum(found.counts, 65_535).astype("<u2")
    return SubSecondCells(
        window=window,
        start_ns=found.start_ns,
        rows=rows,
        columns=found.counts.shape[1],
        most=int(found.counts.max(initial=0)),
        counts=b64encode(packed.tobytes()).decode("ascii"),
    )


def flame(asked: Asked) -> FlameColumns:
    window = asked.window
    return _columns(asked, _tree(asked, window), window)


def diff(asked: Asked) -> FlameDiff:
    window, base = asked.window, _base(asked)
    mine, theirs = _tree(asked, window), _tree(asked, base)
    # Thin branches of one may be fat in the other, so each keeps what is fat in itself.
    both, total, own = flame_shapes.against(mine, theirs)
    tree = _columns(asked, both, window)
    seconds = queries.seconds_sampled(asked.recording, base)
    scale = tree.seconds_recorded / seconds if seconds else 0.0
    return FlameDiff(
        tree=tree,
        base_window=base,
        base_seconds_recorded=seconds,
        base_samples=theirs.samples,
        base_total_ns=np.rint(total * scale).astype(np.int64),
        base_self_ns=np.rint(own * scale).astype(np.int64),
    )


def top(asked: Asked) -> Top:
    limit = questions.number(asked.query, _LIMIT)
    return queries.top(asked.recording, asked.window, asked.filter, limit)


def who_ran(asked: Asked) -> CoreProcesses:
    limit = questions.number(asked.query, _LIMIT)
    return queries.core_processes(asked.recording, asked.window, asked.filter, limit)


def samples(asked: Asked) -> SamplesAnswer:
    limit = questions.number(asked.query, _LIMIT)
    return queries.samples(asked.recording, asked.window, asked.filter, limit)


def who(asked: Asked) -> CoreMoment | None:
    cores = asked.filter.cores
    if len(cores) != 1:
        raise ExhumeError("the parameter core: expected one core", exit_code=EXIT_USAGE)
    return queries.who(asked.recording, cores[0], questions.seconds(asked.query, "at"))


def events(asked: Asked) -> EventGroups:
    window, limit = asked.window, questions.number(asked.query, _LIMIT)
    kinds = questions.strings(asked.query, "kind")
    found = queries.events(asked.recording, window, kinds, besides=() if kinds else _COUNTED)
    groups = sorted(folded(found), key=lambda group: (-severity(group), group.first_wall_ns))
    kept = sorted(groups[:limit], key=lambda group: group.first_wall_ns)
    return EventGroups(
        window=window,
        groups=tuple(kept),
        severities=tuple(severity(group) for group in kept),
        counted=() if kinds else event_tallies(asked.recording, window, _COUNTED)[:limit],
        left_out=max(0, len(groups) - limit),
        notes=asked.recording.problems(window),
    )


def _tree(asked: Asked, window: Window) -> FlameTree:
    """Shaped before it is thinned: what is thin in the whole may be fat in what is left."""
    hide, keep = (questions.strings(asked.query, name) for name in (_HIDE.name, _ONLY.name))
    collapse = questions.choice(asked.query, _RECURSION) == "collapse"
    focus, shape = asked.query.get(_FOCUS.name), questions.choice(asked.query, _SHAPE)
    share = questions.number(asked.query, _THIN) / 1e6
    shaped = hide or keep or collapse or focus
    tree = queries.flame(asked.recording, window, asked.filter, 0.0 if shaped else share)
    if not shaped:
        return tree
    if collapse:
        tree = flame_shapes.collapsed(tree)
    for name in hide:
        tree = flame_shapes.without(tree, name)
    for name in keep:
        tree = flame_shapes.only(tree, name)
    if focus:
        turned = flame_shapes.callers if shape == "callers" else flame_shapes.callees
        tree = turned(tree, focus)
    return flame_shapes.thinned(tree, share)


def _base(asked: Asked) -> Window:
    window, kind = asked.window, questions.choice(asked.query, _BASE)
    if kind == "preceding":
        return Window(2 * window.start_ns - window.end_ns, window.start_ns)
    if kind == "whole":
        return asked.whole
    start = questions.seconds(asked.query, "base_start")
    end = questions.seconds(asked.query, "base_end")
    if end <= start:
        raise ExhumeError(
            "the parameter base_end: expected a time after base_start", exit_code=EXIT_USAGE
        )
    return Window(start, end)


def _columns(asked: Asked, tree: FlameTree, window: Window) -> FlameColumns:
    number: dict[tuple[str, str], int] = {}
    frame = [number.setdefault((frame.name, frame.module), len(number)) for frame in tree.frames]
    return FlameColumns(
        window=window,
        seconds_recorded=queries.seconds_sampled(asked.recording, window),
        samples=tree.samples,
        counted=queries.no_time_events(asked.recording, window),
        names=tuple(name for name, _ in number),
        modules=tuple(module for _, module in number),
        paints=flame_shapes.PAINTS,
        parent=tree.parent,
        frame=np.array(frame, np.int32),
        paint=flame_shapes.paints(tree),
        total_ns=tree.total_ns,
        self_ns=tree.self_ns,
        pruned_ns=tree.pruned_ns,
    )
