"""What an import made of each file, and where to ask about it now."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import count, duration
from exhume.cli.render.columns import Column, table
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.ingest.recognise import EXPECTED
from exhume.ingest.report import ImportReport, InputReport, RecordingReport
from exhume.model.window import Window

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_BAD = Style(color="red", bold=True)
_CORE_TIMES = "cpu.idle"
_BY_SAMPLES = "  It has no times of cores: `exhume cores` shows what samples tell."
_NO_CORES = "  It has no times of cores, so `exhume cores` has nothing to show."
_NOTHING = "Nothing of it was kept."
_ONLY_NAMES = "  What was given only names functions: import it together with the captures."
_COLLECT = "  'exhume import --help' says what can be imported, docs/import.md what to collect."
_NEXT = (
    ("why", "the cause, with its evidence"),
    ("cores", "which cores were full, and when"),
    ("top", "who ran; at an instant: --at 03:14:07"),
    ("events", "what happened"),
    ("serve", "all of it as a page"),
)
_ANSWERS_AT = 40
_SHOWN_NOTES = 20
_SHOWN_FILES = 40
_FEW = 3
_DIGITS = re.compile(r"\d+")
_SHOWN_NAMES = 12
_STATES = {
    "imported": Text("imported"), "known": Text("was there", _DIM), "same": Text("the same", _DIM),
    "names": Text("names", _DIM), "failed": Text("failed", _BAD),
}  # fmt: skip
_READ = Text("read", _DIM)
"""Imported, and nothing in it that has a time: at most it told of a clock."""
_COLUMNS = (
    Column("", right=False),
    Column("format", right=False),
    Column("samples"),
    Column("kept", spare=2),
    Column("cores", spare=1),
    Column("length"),
    Column("start", right=False, optional=True),
    Column("file", right=False, least=22, both_ends=True),
)


def render(report: ImportReport, view: Viewpoint, look: Look) -> RenderableType:
    inputs = _briefly(report.inputs)
    shown = [one for one in inputs if one.state != "skipped"]
    skipped = [(one, _reasons(one)) for one in inputs if one.state == "skipped"]
    strange = [one.path for one, reasons in skipped if not reasons]
    parts: list[RenderableType] = []
    if shown:
        rows = [_row(one, view) for one in _grouped(shown)]
        parts += [*table("what was imported", _COLUMNS, rows, look.width), Text()]
    parts += _remarks("problems", [(one, one.problems) for one in shown], _BAD)
    parts += _remarks("clocks", [(one, (one.clock,)) for one in shown if one.clock], _BOLD)
    parts += _remarks("notes", [(one, one.notes) for one in shown], _BOLD)
    parts += _remarks("passed over", skipped, _BOLD)
    if strange:
        what = f"{count(len(strange), 'other file')} could not be read as anything"
        text = f"{what}: {_listed(strange)}"
        parts += [Text(text, _DIM), Text()]
    if report.folders:
        names = _listed([PurePath(folder).name for folder in report.folders])
        text = f"{count(len(report.folders), 'folder')} inside not looked into: {names}"
        parts += [Text(f"{text}; name what belongs to it.", _DIM), Text()]
    for one in report.recordings:
        parts += _recording(one, view)
    if not report.recordings:
        only_names = {one.state for one in shown} == {"names"}
        parts += [Text(_NOTHING, _BAD), Text(_ONLY_NAMES if only_names else _COLLECT)]
    return Group(*parts)


def _briefly(inputs: Sequence[InputReport]) -> list[InputReport]:
    """Files by their names, with the folder's where several have one name."""
    paths = [PurePath(one.path) for one in inputs]
    names = {n: Counter(path.parts[-n:] for path in paths) for n in (1, 2)}
    found = []
    for one, path in zip(inputs, paths, strict=True):
        problems = tuple(text.removeprefix(one.path).lstrip(", ") for text in one.problems)
        parts = next((n for n in (1, 2) if names[n][path.parts[-n:]] == 1), 3)
        found.append(replace(one, path=str(PurePath(*path.parts[-parts:])), problems=problems))
    return found


def _reasons(one: InputReport) -> list[str]:
    """Why a file was passed over, where more is known than that it is nothing expected."""
    expected = f"expected {EXPECTED}"
    return [text for text in one.problems if not text.endswith(expected)]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(map(printable, names[:_SHOWN_NAMES])) + more


def _row(one: InputReport, view: Viewpoint) -> list[Text]:
    window = one.window
    state = _READ if one.state == "imported" and window is None else _STATES[one.state]
    return [
        state.copy(),
        Text(one.format or "?"),
        Text(f"{one.samples:,}" if one.samples else ""),
        Text(f"{one.kept:,}" if one.samples else ""),
        Text(str(one.cores) if one.cores else ("?" if one.samples else "")),
        Text(duration(window.end_ns - window.start_ns) if window else ""),
        Text(view.show(window.start_ns, 0, with_date=True) if window else ""),
        Text(printable(one.path)),
    ]


def _grouped(inputs: Sequence[InputReport]) -> list[InputReport]:
    """The pieces of a night are one row: their names differ in numbers. If there is still too much
    for a screen, all of a kind are."""
    rows = _folded(inputs, lambda one: _DIGITS.sub("0", one.path))
    return rows if len(rows) <= _SHOWN_FILES else _folded(inputs, lambda _: "")


def _folded(
    inputs: Sequence[InputReport], likeness: Callable[[InputReport], str]
) -> list[InputReport]:
    """A few of a kind stay as they are."""
    groups: dict[tuple[str, str, str], list[InputReport]] = {}
    for one in inputs:
        groups.setdefault((one.state, one.format, likeness(one)), []).append(one)
    return [row for some in groups.values() for row in ([_sum(some)] if len(some) > _FEW else some)]


def _sum(some: Sequence[InputReport]) -> InputReport:
    windows = [one.window for one in some if one.window]
    return replace(
        some[0],
        path=f"{some[0].path} and {len(some) - 1} more",
        samples=sum(one.samples for one in some),
        kept=sum(one.kept for one in some),
        cores=max(one.cores for one in some),
        window=Window(min(w.start_ns for w in windows), max(w.end_ns for w in windows))
        if windows
        else None,
    )


def _remarks(
    title: str, said: Sequence[tuple[InputReport, Sequence[str]]], style: Style
) -> list[RenderableType]:
    """Each remark once, with the files it is about."""
    files: dict[str, list[str]] = {}
    for one, texts in said:
        for text in texts:
            files.setdefault(text, []).append(one.path)
    if not files:
        return []
    lines: list[RenderableType] = [Text(title, style)]
    for text, names in list(files.items())[:_SHOWN_NOTES]:
        about = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        line = Text(f"  {printable(about)}: ", _DIM)
        lines.append(line.append("; ".join(printable(part.strip()) for part in text.splitlines())))
    if len(files) > _SHOWN_NOTES:
        lines.append(Text(f"  and {len(files) - _SHOWN_NOTES} more", _DIM))
    return [*lines, Text()]


def _recording(one: RecordingReport, view: Viewpoint) -> list[RenderableType]:
    when = f"{view.show_window(one.window)} {view.zone_name(one.window.start_ns)}"
    made = count(one.segments, "segment")
    title = Text(f"{printable(one.node)} · {when}", _BOLD)
    title.append(f" · {made} in {printable(one.path)}", _DIM)
    lines: list[RenderableType] = [title]
    has_core_times = _CORE_TIMES in one.fields
    has_cores = has_core_times or one.sampled_cores > 0
    empty = {
        "cores": not has_cores,
        "top": not one.samples,
        "events": bool(one.samples or has_cores),
    }
    # Longer than a line they are wrapped by the terminal, and can be copied all the same.
    where = shlex.quote(printable(one.path))
    asked = [(f"  exhume {c} --data {where}", text) for c, text in _NEXT if not empty.get(c)]
    answers_at = max(_ANSWERS_AT, *(len(ask) for ask, _ in asked))
    for ask, answers in asked:
        lines.append(Text(ask.ljust(answers_at)).append(f"  {answers}", _DIM))
    if not has_core_times:
        lines.append(Text(_BY_SAMPLES if has_cores else _NO_CORES, _DIM))
    return lines
