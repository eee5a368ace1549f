"""Pieces that were read → where they belong: which recording, wall time and ten minutes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from msgspec.structs import replace

from exhume.ingest.adopted import adopt
from exhume.ingest.alignment import Read, aligned
from exhume.ingest.boot_clocks import Anchor, settle, settle_all
from exhume.ingest.clocks import DAY_NS
from exhume.ingest.collect import TOO_MANY, TOO_MANY_TOGETHER
from exhume.ingest.continued import continued
from exhume.ingest.manifest import Finished, Manifest
from exhume.ingest.merge_tasks import LEFT_BY_CRON, merge_tasks
from exhume.ingest.name_zones import zone_of_boot, zoned
from exhume.ingest.node_names import host_named
from exhume.ingest.nodes import NAMELESS, Nodes
from exhume.ingest.overlaps import Span, left_out, note, without
from exhume.ingest.piece import Claim, ClockKind, Trust
from exhume.ingest.placed import PlacedInput, covered_by, told_by, with_zone_notes
from exhume.ingest.recognise import FORMATS
from exhume.ingest.recorded import recorded
from exhume.ingest.report import InputReport, RecordingReport
from exhume.ingest.rows import is_part, likeness
from exhume.ingest.snapshots_placing import chosen, is_floating, zone_of
from exhume.ingest.work import MergeResult, MergeTask, PieceSummary, ReadTask
from exhume.model.window import Window

SAME_SAMPLES = 0.5
_RANK = {one.name: rank for rank, one in enumerate(FORMATS)}
_LEFT_OUT = (
    "left out: nothing tells when it was, and other files tell the same with their times; a name "
    "like proc_stat-20261115-201517.txt or stat_end.txt would tell"
)
_MARGIN = 0.05
"""So much more of its frames must be named for text to be taken instead of perf.data."""
_OF_PROGRAMS = "job log"


class Placing:
    def __init__(self, into: Path, node: str, hosts: set[str], manifest: Manifest) -> None:
        """`hosts`: the machines the inputs come from, as far as that showed at once."""
        self._into = into
        self._node = node
        self._manifest = manifest
        self._recall()
        self._nodes = Nodes(node, hosts | (self._folders.keys() - {NAMELESS}), self._anchors)
        self._waiting: list[Read] = []
        self._kept: Counter[str] = Counter()
        """Samples that are in segments, by input."""
        self._crowded: set[str] = set()
        """Inputs that have more together than a segment tells apart."""
        self._by_cron: set[str] = set()
        """Inputs of which what cron started is left out in part."""
        self._merged: set[str] = set()
        """Nodes of which something was put into a recording."""
        self._guessed: list[tuple[str, Span]] = []
        """And those of which only the times of files tell when they were."""
        self._zones: dict[str, int] = {}
        """Of each node, what takes its local times to wall time, where one of its tables shows."""
        self._told: set[tuple[str, str]] = set()
        """Of each node, the counters that they tell of."""

    def _recall(self) -> None:
        """What earlier imports noted down."""
        finished = self._manifest.all()
        self._folders = {f.node: f.folder for f in finished if f.folder is not None}
        """Of each node below `into`; empty for `into` itself."""
        self._anchors: list[Anchor] = [one for f in finished for one in f.anchors]
        self._samples = [(f.node, frozenset(f.sketch), f.path) for f in finished if f.sketch]
        self._covered = [f.covered for f in finished if f.covered]
        self._spans = [(f.node, (w.start_ns, w.end_ns)) for f in finished if (w := _sure(f))]
        """Of each node, the stretches that inputs with a clock of their own tell of."""

    def _adopt(self) -> None:
        """What was imported of nobody knows which node is of the one that shows now, if it does."""
        node = self._node or self._nodes.only
        is_free = "" not in (folder for own, folder in self._folders.items() if own != NAMELESS)
        if node and node not in self._folders and is_free:
            adopt(self._manifest, self._into, node)  # also what a kill left before it was noted
            self._recall()

    def add(self, task: ReadTask, pieces: list[PieceSummary]) -> None:
        self._waiting.append((task, pieces))

    def settled(self) -> list[PlacedInput]:
        """Those that wait, each in its place. The best-named of equal samples comes first."""
        ordered = sorted(self._waiting, key=lambda entry: self._preference(*entry))
        self._waiting = []
        self._nodes.learn(ordered)
        self._adopt()
        self._learn_zones(ordered)
        ordered = self._zoned(ordered)
        ordered = continued(ordered, self._nodes.of)
        ordered = aligned(ordered, self._nodes.of, self._anchors, self._said(ordered))
        # One that comes late may know better.
        settle_all(self._said(ordered), self._anchors, self._nodes.strangers)
        placed = [self._placed(task, pieces) for task, pieces in ordered]
        return with_zone_notes(self._each_once(placed))

    def _learn_zones(self, inputs: Sequence[Read]) -> None:
        known = [*self._anchors, *self._said(inputs)]
        for task, pieces in inputs:
            node = self._nodes.of(task, pieces)
            own = [one.claim for one in known if one.node in (node, "")]
            for piece in pieces:
                zone_ns = piece.hints.zone_ns
                if zone_ns is None and piece.hints.booted_ns is not None:
                    zone_ns = zone_of_boot(piece.hints.booted_ns, own)
                if zone_ns is not None:
                    self._zones.setdefault(node, zone_ns % DAY_NS)

    def _said(self, inputs: Sequence[Read]) -> list[Anchor]:
        """All that they say of the kernel's clock."""
        said = []
        for task, pieces in inputs:
            node = self._nodes.of(task, pieces)
            for one in pieces:
                if one.clock == ClockKind.KERNEL_LOG and one.claim is not None:
                    # Copies of /proc files don't say whose they are: their clock counts for all,
                    # unless their names tell.
                    named = one.hints.node or host_named(task.input.path, self._nodes.hosts)
                    whose = named if one.span_ns is None else node
                    said.append(_anchor(whose, one, one.claim))
        return said

    def _zoned(self, inputs: Sequence[Read]) -> list[Read]:
        """Claims by local times, in the zone that fits what the others tell."""
        known = [*self._anchors, *self._said(inputs)]
        spans = list(self._spans)
        for task, pieces in inputs:
            told = (one for one in pieces if one.clock == ClockKind.WALL and one.fields)
            spans += [(self._nodes.of(task, pieces), one.span_ns) for one in told if one.span_ns]
        found = []
        for task, pieces in inputs:
            node = self._nodes.of(task, pieces)
            claims = [one.claim for one in known if one.node in (node, "")]
            others = [span for other, span in spans if other in (node, NAMELESS)]
            found.append((task, [_in_zone(one, claims, others) for one in pieces]))
        return found

    @staticmethod
    def _preference(
        task: ReadTask, pieces: Sequence[PieceSummary]
    ) -> tuple[tuple[bool, bool], int, int, str]:
        named = min((p.facts.named_ratio for p in pieces), default=0.0)
        rank = _RANK[task.format]
        # What is guessed comes last, and goes where the others are.
        kind = (_is_floating(pieces), not any(piece.rows for piece in pieces))
        return kind, -round(named / _MARGIN), rank, str(task.input.path)

    def _placed(self, task: ReadTask, pieces: Sequence[PieceSummary]) -> PlacedInput:
        node = self._nodes.of(task, pieces)
        settled: list[tuple[PieceSummary, Claim | None]] = []
        for piece in pieces:
            boot, until_ns, strangers = piece.hints.boot, _until_ns(piece), self._nodes.strangers
            claim = settle(
                node, piece.clock, piece.claim, self._anchors, boot, until_ns, strangers
            )  # fmt: skip
            settled.append((piece, claim))
        settled = self._fitted(node, settled, is_of_system=task.format != _OF_PROGRAMS)
        same = self._same_samples(node, task, pieces)
        report = self._report(task, settled, same)
        if whose := self._nodes.why(task, pieces, node):
            report = replace(report, notes=(whose, *report.notes))
        covered = None if same else covered_by(node, task, settled)
        return PlacedInput(task, node, tuple(settled), not same, report, covered=covered)

    def _each_once(self, placed: Sequence[PlacedInput]) -> list[PlacedInput]:
        """Where several tell of the same time, the best of them does. What is written stays."""
        found = {number: one for number, one in enumerate(placed) if one.covered is None}
        told = [(one.covered, number) for number, one in enumerate(placed) if one.covered]
        for covered, number in sorted(told, key=lambda entry: entry[0].rank):
            taken = left_out(covered, self._covered)
            spans = tuple(span for span, _ in taken)
            rest = replace(covered, spans=without(covered.spans, spans))
            self._covered.append(rest)
            one = replace(placed[number], without=spans, covered=rest)
            if taken:
                notes = (*one.report.notes, note(taken, covered))
                one = replace(one, report=replace(one.report, notes=notes))
            found[number] = one
        return [found[number] for number in range(len(placed))]

    def _fitted(
        self, node: str, settled: list[tuple[PieceSummary, Claim | None]], is_of_system: bool
    ) -> list[tuple[PieceSummary, Claim | None]]:
        """Where the clock of an input is a guess, what the other inputs make likely.

        `is_of_system`: its local times are of the node's own zone. In a container they are UTC.
        """
        pieces = [piece for piece, _ in settled if not _is_of_clock(piece)]
        claims = [claim for piece, claim in settled if claim is not None and piece.span_ns]
        if _is_floating(pieces) and claims:
            sure, guessed = (
                [span for other, span in some if other in (node, NAMELESS)]
                for some in (self._spans, self._guessed)
            )
            zone_ns = self._zones.get(node) if is_of_system else None
            claim = chosen(pieces, claims[0], sure, guessed, zone_ns)
            shown_ns = zone_of(pieces, claim)
            if shown_ns is not None and any(piece.fields for piece in pieces):
                self._zones.setdefault(node, shown_ns)
            is_told = all((node, f) in self._told for piece in pieces for f in piece.fields)
            if claim.trust == Trust.NONE and is_told:
                # Beside those that know their time it would only contradict them.
                return [(piece, None) for piece, _ in settled]
            return [
                (piece, old if old is None or _is_of_clock(piece) else claim)
                for piece, old in settled
            ]
        for piece, own in settled:
            # Logs go back further: a kernel's to its boot.
            self._told.update((node, field) for field in piece.fields)
            if piece.span_ns is not None and own is not None and (piece.rows or piece.fields):
                start, end = piece.span_ns
                some = self._spans if own.trust > Trust.FILE_TIME else self._guessed
                some.append((node, (start + own.offset_ns, end + own.offset_ns)))
        return settled

    def _same_samples(self, node: str, task: ReadTask, pieces: Sequence[PieceSummary]) -> str:
        """The input that has these samples already; empty where none has."""
        sketch = frozenset(hash_ for piece in pieces for hash_ in piece.sketch)
        for other_node, other, path in self._samples:
            is_same = likeness(sketch, other) >= SAME_SAMPLES or is_part(sketch, other)
            if other_node == node and is_same:
                return path
        if sketch:
            self._samples.append((node, sketch, str(task.input.path)))
        return ""

    @staticmethod
    def _report(
        task: ReadTask, settled: Sequence[tuple[PieceSummary, Claim | None]], same: str
    ) -> InputReport:
        facts = [piece.facts for piece, _ in settled]
        spans = [
            (span[0] + claim.offset_ns, span[1] + claim.offset_ns)
            for piece, claim in settled
            if (span := piece.sampled_ns or piece.span_ns) is not None and claim is not None
        ]
        notes = [note for fact in facts for note in fact.notes]
        if same:
            notes.insert(0, f"its samples are those of {Path(same).name}, and count once")
        if any(piece.span_ns is not None and claim is None for piece, claim in settled):
            notes.append(_LEFT_OUT)
        others = {name: n for fact in facts for name, n in fact.other_events.items()}
        if others:
            listed = ", ".join(
                f"{count} of {name or 'an event without a name'}" for name, count in others.items()
            )
            notes.append(
                f"left out, as they measure something else, or the same again: {listed} "
                "(--event NAME takes others)"
            )
        problems = tuple(problem for fact in facts for problem in fact.problems)
        if not (spans or notes or problems):
            notes.append("there is nothing in it that can be asked about")
        return InputReport(
            path=str(task.input.path),
            format=task.format,
            state="same" if same else "imported",
            samples=sum(fact.samples for fact in facts),
            kept=0 if same else sum(piece.rows for piece, _ in settled),
            cores=len({core for fact in facts for core in fact.cores}),
            window=Window(min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None,
            clock="; ".join(dict.fromkeys(_hows(settled))),
            notes=tuple(notes),
            problems=problems,
        )

    def root(self, node: str) -> Path:
        """A recording is of one node: several get a directory each."""
        if node not in self._folders:
            is_only = node == (self._node or self._nodes.only) or not self._nodes.hosts
            is_free = "" not in self._folders.values()
            own = re.sub(r"[^\w.-]", "_", node).lstrip(".")[:64] or NAMELESS
            self._folders[node] = "" if is_only and is_free else own
        return self._into / self._folders[node]

    def merges(self, ready: Sequence[PlacedInput]) -> list[MergeTask]:
        found = merge_tasks(ready, self.root)
        self._by_cron |= found.crowded_by_cron
        told = (one for one in ready for piece, claim in one.pieces if piece.span_ns and claim)
        self._merged.update(one.node for one in told)
        return found.tasks

    def note_merged(self, ids: Set[str], found: MergeResult) -> None:
        """What became of these inputs in a segment."""
        self._kept.update(found.kept)
        if found.has_too_many:
            self._crowded |= ids

    def report(self, one: PlacedInput) -> InputReport:
        """Now that it is in the recording."""
        report, id_ = one.report, one.task.input.id
        if one.without:
            report = replace(report, kept=self._kept[id_])
        if id_ in self._crowded and TOO_MANY not in report.notes:
            report = replace(report, notes=(*report.notes, TOO_MANY_TOGETHER))
        if id_ in self._by_cron:
            report = replace(report, notes=(*report.notes, LEFT_BY_CRON))
        return report

    def finished(self, one: PlacedInput) -> Finished:
        anchors = dict.fromkeys(
            _anchor(one.node, piece, claim)
            for piece, claim in one.pieces
            if piece.claim is not None and claim is not None and piece.clock == ClockKind.KERNEL_LOG
        )
        sketch = tuple(h for p, _ in one.pieces for h in p.sketch) if one.with_samples else ()
        source = one.task.input
        return Finished(
            source.id, str(source.path.resolve()), source.size_bytes, source.modified_ns, one.node,
            self._folders.get(one.node), self.report(one), tuple(anchors), sketch, one.covered,
            told_by(one),
        )  # fmt: skip

    def recordings(self, known: Set[str]) -> tuple[RecordingReport, ...]:
        """`known`: nodes of inputs that were imported before."""
        found = (recorded(node, self.root(node)) for node in sorted(self._merged | known))
        return tuple(one for one in found if one is not None)


def _anchor(node: str, piece: PieceSummary, claim: Claim) -> Anchor:
    return Anchor(node, piece.clock, claim, piece.hints.boot, _until_ns(piece))


def _in_zone(piece: PieceSummary, known: Sequence[Claim], others: Sequence[Span]) -> PieceSummary:
    own = piece.sampled_ns or piece.span_ns or piece.told_ns
    if piece.claim is None or own is None:
        return piece
    return replace(piece, claim=zoned(piece.claim, own, known, others))


def _is_of_clock(piece: PieceSummary) -> bool:
    """It has nothing to place, and only tells what a clock means."""
    return piece.span_ns is None and piece.clock == ClockKind.KERNEL_LOG


def _until_ns(piece: PieceSummary) -> int:
    """How far its clock counted while anything of it was told."""
    told = piece.told_ns or piece.span_ns
    return 0 if told is None else told[1]


def _hows(settled: Sequence[tuple[PieceSummary, Claim | None]]) -> Iterator[str]:
    """Where its times come from: not what others said of a clock that it does not show."""
    for piece, claim in settled:
        if claim is not None and (piece.claim is not None or piece.span_ns is not None):
            yield claim.how


def _is_floating(pieces: Sequence[PieceSummary]) -> bool:
    return any(not piece.rows and is_floating(piece, piece.claim) for piece in pieces)


def _sure(one: Finished) -> Window | None:
    return None if "guessed" in one.report.clock else one.report.window
