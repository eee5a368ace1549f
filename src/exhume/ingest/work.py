"""What the processes of an import do: read an input into pieces, merge pieces into a segment."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ExhumeError
from exhume.ingest import spill
from exhume.ingest.clocks import ClockHints
from exhume.ingest.context import Context
from exhume.ingest.inputs import Input
from exhume.ingest.kept_pieces import KEPT_BYTES, KeptPieces, size_bytes
from exhume.ingest.merge import SEGMENT_NS, Placed, is_empty, merge, windows
from exhume.ingest.overlaps import Span, is_whole, some_threads, without
from exhume.ingest.piece import Claim, ClockKind, Facts, Hints, Interval, Piece
from exhume.ingest.recognise import BY_NAME
from exhume.ingest.room import FORKS, Room, make_room
from exhume.ingest.row_table import SLOT_NS
from exhume.ingest.streams import Progress, Source
from exhume.ingest.symbols import Places
from exhume.ingest.together import together
from exhume.ingest.tuning import tune
from exhume.ingest.written import Named, as_piece, candidates, listed, origin, remove, written
from exhume.processes import die_with
from exhume.store.allocator import give_back
from exhume.store.writer import write_segment

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event as Flag

SHARE_ROWS = 1 << 19
"""What one process writes has at least as many samples: for less it does not pay to start one."""
_DRAFT = ".draft"
_AGAIN = ".again"


class StoppedError(Exception):
    """The user wants no more."""


class ReadTask(Struct, frozen=True):
    input: Input
    format: str
    folder: Path
    """Where the pieces go. It is there only when they are all in it."""
    places: Places
    clock: ClockHints
    event: str
    nodes: tuple[str, ...] = ()
    jobs: int = 1
    """Processes that may read it at once."""
    beside: int = 0
    """Processes that read other inputs at the same time."""


class PieceSummary(Struct, frozen=True):
    """What has to be known of a piece to place it in time; the rest stays on disk."""

    number: int
    hints: Hints
    clock: ClockKind
    claim: Claim | None
    span_ns: tuple[int, int] | None
    sampled_ns: tuple[int, int] | None
    """Part of the span: from when to when samples were taken."""
    slots: tuple[int, ...]
    """The ten minutes of its clock that it says anything about."""
    rows: int
    fields: tuple[str, ...]
    """Of its counters."""
    sketch: tuple[int, ...]
    facts: Facts
    intervals: tuple[Interval, ...] = ()
    threads: tuple[int, ...] = ()
    """Some of those that have samples."""
    is_whole: bool = False
    """Whoever ran has samples."""
    guesses: tuple[Claim, ...] = ()
    told_ns: tuple[int, int] | None = None
    edge: str = ""
    size_bytes: int = 0
    """About how much memory it takes once it is loaded."""
    cron_slots: tuple[int, ...] = ()
    """Ten minutes of its clock of which it says only what cron started."""


class Part(Struct, frozen=True):
    """A piece in its place."""

    folder: Path
    number: int
    source: Named
    offset_ns: int
    with_samples: bool
    without: tuple[Span, ...]
    """Stretches of wall time whose samples others have."""
    is_kernel_log: bool


class MergeTask(Struct, frozen=True):
    root: Path
    start_ns: int
    hints: Hints
    parts: tuple[Part, ...]
    rows: int = 0
    """About how many samples it has."""
    size_bytes: int = 0
    """Of its pieces, once they are loaded."""
    jobs: int = 1
    """Processes that may write it at once, a segment each."""


class MergeResult(Struct, frozen=True):
    kept: dict[str, int]
    """Of which input how many samples."""
    has_too_many: bool = False
    """Not all that its pieces tell apart is told apart in it."""


class _Shared:
    """Set once in each worker: the counter of bytes read, the wish to stop, and the memory."""

    done: Synchronized[int] | None = None
    stop: Flag | None = None
    note: Progress | None = None
    """Instead of the counter where one process does all."""
    room: Room | None = None
    kept = KeptPieces()


def start_worker(
    parent_pid: int,
    done: Synchronized[int],
    stop: Flag,
    room: Room | None,
    started: Synchronized[int],
) -> None:
    die_with(parent_pid)
    with started.get_lock():
        number, started.value = started.value, started.value + 1
    if room is not None:
        use(room.of_reader(number))
    # An interrupt goes to the whole group; the parent tells us when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Shared.done, _Shared.stop = done, stop
    tune()


def use(room: Room | None) -> None:
    """From now on, by this process."""
    _Shared.room = room


@contextmanager
def noting(progress: Progress) -> Iterator[None]:
    """Where this process does all: tell how much was read."""
    _Shared.note = progress
    try:
        yield
    finally:
        _Shared.note = None


def note_progress(count: int) -> None:
    if _Shared.note is not None:
        _Shared.note(count)
    if _Shared.done is not None:
        with _Shared.done.get_lock():
            _Shared.done.value += count
    if _Shared.stop is not None and _Shared.stop.is_set():
        raise StoppedError
    if _Shared.room is not None:
        _Shared.room.check()


def read_input(task: ReadTask) -> list[PieceSummary]:
    """Raises ExhumeError or OSError where the input can't be read at all."""
    _Shared.kept.clear()  # of an earlier import by this process, maybe to the same place
    if not spill.is_there(task.folder):
        shutil.rmtree(task.folder, ignore_errors=True)
        draft = task.folder.with_name(task.folder.name + _DRAFT)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            context = Context(
                draft, task.places, task.clock, task.event, note_progress, task.nodes, task.jobs,
                task.beside, _Shared.room,
            )  # fmt: skip
            reader = BY_NAME[task.format].read
            if reader is None:
                raise ExhumeError(f"{task.input.path} has nothing to import")
            found = []
            with _watched():
                for number, piece in enumerate(reader(Source.of(task.input.path), context)):
                    spill.save(draft, number, piece)
                    found.append(_summary(number, piece))
                    if (saved := spill.in_folder(piece, task.folder)) is not None:
                        _Shared.kept.keep(spill.path_of(task.folder, number), saved)
            draft.rename(task.folder)
            return found
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            _rest()
    return [_summary(number, piece) for number, piece in enumerate(spill.load_all(task.folder))]


def _watched() -> AbstractContextManager[None]:
    """Where others read at the same time there may be no room for all."""
    if _Shared.done is None or _Shared.room is None:
        return nullcontext()
    return _Shared.room.watched()


def _rest() -> None:
    """One of several may have nothing to do for long, while others need memory."""
    if _Shared.done is not None:
        give_back()
    if _Shared.room is not None:
        make_room(_Shared.room.memory)
        _Shared.room.leave()


def _summary(number: int, piece: Piece) -> PieceSummary:
    sampled = piece.sampled
    return PieceSummary(
        number, piece.hints, piece.clock, piece.claim, piece.span_ns(),
        piece.sampled_ns(),
        piece.slots(),
        0 if sampled is None else len(sampled.rows),
        tuple(dict.fromkeys(block.field for block in piece.blocks)),
        () if sampled is None else tuple(sampled.sketch.tolist()),
        piece.facts,
        () if sampled is None else sampled.intervals,
        () if sampled is None else some_threads(sampled.threads.tid),
        sampled is not None
        and is_whole(piece.hints.command, piece.facts.idle, sampled.threads.tid),
        piece.guesses, piece.told_ns, piece.edge, size_bytes(piece), piece.cron_slots(),
    )  # fmt: skip


def shared_out(tasks: Sequence[MergeTask], jobs: int) -> list[MergeTask]:
    """So many processes among all: who has most gets several."""
    rows = max(1, sum(task.rows for task in tasks))
    return [
        replace(task, jobs=max(1, min(round(jobs * task.rows / rows), task.rows // SHARE_ROWS)))
        for task in tasks
    ]


def merge_segment(task: MergeTask) -> MergeResult:
    """Put pieces into the ten minutes from `start_ns` on."""
    whole = (task.start_ns, task.start_ns + SEGMENT_NS)
    before = written(task.root, task.hints.node, *whole)
    fresh = [p for p in task.parts if not any(p.source.id in one.ids for one in before)]
    if not fresh:
        return MergeResult({})
    placed = [
        Placed(
            partial(_loaded, spill.path_of(part.folder, part.number)),
            part.offset_ns,
            part.with_samples,
            part.without,
            part.is_kernel_log,
            input_id=part.source.id,
        )
        for part in fresh
    ]
    reach = [span for one in placed if before and (span := one.reach_ns()) is not None]
    old = [one for one in before if not one.stays(reach)]
    names = list(dict.fromkeys(part.source for part in fresh))
    inputs = ", ".join([*(one.inputs for one in old), listed(names)])
    again = fresh[0].folder / f"{task.start_ns}{_AGAIN}"  # which goes with what is in it
    again.mkdir(exist_ok=True)
    for number, segment in enumerate(segment for one in old for segment in one.segments):
        placed.append(Placed(_aside(as_piece(segment, again), again, number), 0, was_written=True))
    stay = [span for one in before if one not in old for span in one.spans]
    parts = [
        part
        for free in without([whole], stay)
        if not stay or not is_empty(placed, *free)
        for part in windows(placed, *free, task.jobs)
    ]

    # What is merged anew stays until all of the new is there: one of both is whole at any time.
    there = candidates(task.root, *whole)

    def write(number: int, begin: int, end: int) -> MergeResult:
        found = merge(placed, begin, end, origin(task.hints, inputs, number, len(parts)))
        if found is None:
            return MergeResult({})
        write_segment(task.root, found.data, found.pieces, found.counts, there)
        return MergeResult(found.kept, found.has_too_many)

    works = [partial(write, number, *part) for number, part in enumerate(parts, 1)]
    kept: Counter[str] = Counter()
    has_too_many = False
    for at in range(0, len(works), task.jobs):
        for made in together(works[at : at + task.jobs]):
            kept.update(made.kept)
            has_too_many |= made.has_too_many
    for one in old:
        remove(one.segments)
    placed.clear()
    shutil.rmtree(again, ignore_errors=True)
    _rest()
    return MergeResult(kept, has_too_many)


def _loaded(path: Path) -> Piece:
    if _Shared.room is not None:
        make_room(_Shared.room.memory)  # of the one before
    return _Shared.kept.load(path)


def _aside(piece: Piece, folder: Path, number: int) -> Callable[[], Piece]:
    """Where it is large it waits in a file."""
    if size_bytes(piece) <= KEPT_BYTES // FORKS:
        return lambda: piece
    spill.save(folder, number, piece)
    return partial(spill.load, spill.path_of(folder, number))


def buckets(slots: Sequence[int], offset_ns: int) -> list[int]:
    """The starts of the ten minutes of wall time that ten minutes of a piece's clock lie in."""
    found: set[int] = set()
    for slot in slots:
        first = slot * SLOT_NS + offset_ns
        found.update(range(first // SEGMENT_NS * SEGMENT_NS, first + SLOT_NS, SEGMENT_NS))
    return sorted(found)
