"""Many inputs → one recording: who reads what, in which order, and what becomes of each."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.host import Host
from exhume.ingest import room
from exhume.ingest.archives import Archives
from exhume.ingest.clocks import ClockHints, name_host
from exhume.ingest.inputs import Input, Missing, expand, folders_inside
from exhume.ingest.manifest import Manifest
from exhume.ingest.piped import Tell, tell_nobody, without_pipes
from exhume.ingest.placed import PlacedInput, out_of_reach
from exhume.ingest.placing import Placing
from exhume.ingest.pool import Failed, Pool
from exhume.ingest.recognise import EXPECTED, Format, Role, recognise
from exhume.ingest.report import ImportReport, InputReport
from exhume.ingest.room import Memory, Room
from exhume.ingest.streams import Source
from exhume.ingest.symbols import Places
from exhume.ingest.work import ReadTask, merge_segment, read_input, shared_out
from exhume.perf import script_header
from exhume.perf.datafile import PerfData
from exhume.store import layout
from exhume.store.absent import recordings_inside

MERGE_EVERY = 16
MERGE_EVERY_BYTES = 256 << 20
"""Inputs read before they are merged: then what was read can be asked, even if this is killed."""
_LARGE_BYTES = 32 << 20
"""From here on an input takes long: such ones are read by several processes each, if there are."""
_BUILD_ID_CACHE = ".debug"
_GONE_SECONDS = 2.0
"""So soon nothing is left of an import that was killed."""
_ASK_SECONDS = 0.02

Watch = Callable[[int, int], None]
"""Told how many bytes of how many were read."""


class Options(Struct, frozen=True):
    files: tuple[str, ...]
    into: Path
    node: str = ""
    """Instead of what the inputs say."""
    offset_ns: int | None = None
    zone: tzinfo | None = None
    """Of local times that do not say it; None: to be guessed."""
    symfs: Path | None = None
    event: str = ""
    jobs: int = 1


class _Known(Struct, frozen=True):
    input: Input
    source: Source
    format: Format
    host: str


class _Import(Struct):
    options: Options
    memory: Memory
    manifest: Manifest
    pool: Pool
    placing: Placing
    reports: dict[str, InputReport] = field(default_factory=dict)
    """By path."""


def run(
    options: Options, host: Host, watch: Watch | None = None, tell: Tell = tell_nobody
) -> ImportReport:
    """Raises ExhumeError where there is nothing to import, or no place to put it.

    `tell`: what keeps it from going on.
    """
    began = time.monotonic()
    memory = Memory.of(host)
    if options.symfs is not None and not options.symfs.is_dir():
        raise ExhumeError(
            f"--symfs {options.symfs} is no directory",
            todo="give the root of the recorded machine, or a copy of parts of it",
            exit_code=EXIT_USAGE,
        )
    if layout.heads_path(options.into).is_dir():
        raise ExhumeError(
            f"{options.into} is where a recorder keeps what it sees of this node",
            todo="name a directory of its own with --into: a recording is of one node, and "
            "commands answer for the newest of it",
            exit_code=EXIT_USAGE,
        )
    folder = layout.import_path(options.into)
    piped = folder / "piped"
    with _alone(options.into, folder), without_pipes(options.files, piped, tell) as files:
        inputs, missing = expand(files, options.into, piped)
        archives = Archives(piped, lambda given: expand((given,), options.into, piped), tell)
        inputs = archives.opened(inputs)
        missing += archives.missing
        folders = folders_inside((*files, *archives.folders), options.into)
        if not (inputs or archives.reports or any(one.is_named for one in missing)):
            raise _nothing(options.files, folders)
        manifest = Manifest(folder)
        reports = {str(one.path): _missing(one) for one in missing}
        reports |= {one.path: one for one in archives.reports}
        known = []
        for one in _recognised(inputs, manifest, reports):
            known.append(one)
            if watch is not None:  # of a night's pieces it takes seconds
                watch(0, sum(each.size_bytes for each in inputs))
        places = _places(options, host, known)
        hosts = {one.host for one in known if one.host}
        placing = Placing(options.into, options.node, hosts, manifest)
        clock = ClockHints(options.offset_ns, options.zone)
        of = (options.node,) if options.node else tuple(sorted(hosts))
        content = [one for one in known if one.format.role != Role.SYMBOLS]
        tasks = [
            ReadTask(
                one.input, one.format.name, folder / one.input.id, places, clock, options.event,
                of, *processes,
            )
            for one, processes in zip(content, _processes(content, options.jobs), strict=True)
        ]  # fmt: skip
        with Pool(options.jobs, len(tasks), Room(memory, options.jobs)) as pool:
            work = _Import(options, memory, manifest, pool, placing, reports)
            _read_and_merge(work, content, tasks, watch)
        for one in known:
            if one.format.role == Role.SYMBOLS:
                path, broken = str(one.input.path), one.source.damage()
                problems = (broken,) if broken else ()
                reports[path] = InputReport(path, one.format.name, "names", problems=problems)
        own = (manifest.of(one) for one in inputs)
        nodes = {one.node for one in own if one is not None and one.folder is not None}
        return ImportReport(
            recordings=placing.recordings(nodes),
            inputs=tuple(sorted((_named(one, archives) for one in reports.values()), key=_path)),
            seconds=time.monotonic() - began,
            folders=tuple(map(archives.told, folders)),
        )


def _nothing(files: Sequence[str], folders: Sequence[str]) -> ExhumeError:
    todo = f"name the folders inside too: {folders[0]}, …" if folders else "name files"
    for path in map(Path, files):
        if made := [path] if layout.segments_path(path).is_dir() else recordings_inside(path):
            todo = f"that is a recording already: exhume why --data {shlex.quote(str(made[0]))}"
    given = ", ".join(dict.fromkeys(files))
    return ExhumeError(f"there is nothing to import in {given}", todo=todo)


def _processes(content: Sequence[_Known], jobs: int) -> list[tuple[int, int]]:
    """Of each input: how many may read it at once, and how many read others meanwhile."""
    is_large = [one.input.size_bytes >= _LARGE_BYTES for one in content]
    large = min(jobs, sum(is_large))
    of_large = jobs // max(1, large)
    total = large * of_large + max(0, min(jobs, len(content)) - large)
    each = [of_large if one else 1 for one in is_large]
    return [(own, total - own) for own in each]


def _read_and_merge(
    work: _Import, content: Sequence[_Known], tasks: Sequence[ReadTask], watch: Watch | None
) -> None:
    total = sum(task.input.size_bytes for task in tasks)

    def tell(done: int) -> None:
        if watch is not None:
            watch(min(done, total), total)

    roles = {known.input.id: known.format.role for known in content}
    formats = {known.format.name for known in content if known.format.role == Role.CONTENT}
    # The same samples may come as perf.data and as text; which is better shows when both are read.
    merge_early = len(formats) < 2
    waiting = waiting_bytes = 0
    for role in (Role.CLOCK, Role.CONTENT):
        some = [task for task in tasks if roles[task.input.id] == role]
        for task, found in work.pool.run(read_input, some, tell):
            if isinstance(found, Failed):
                work.reports[str(task.input.path)] = _failed(task, found)
                continue
            work.placing.add(task, found)
            waiting, waiting_bytes = waiting + 1, waiting_bytes + task.input.size_bytes
            enough = waiting >= MERGE_EVERY or waiting_bytes >= MERGE_EVERY_BYTES
            if merge_early and role == Role.CONTENT and enough:
                _merge(work, tell)
                waiting = waiting_bytes = 0
    _merge(work, tell)


def _merge(work: _Import, tell: Callable[[int], None]) -> None:
    """Put into the recording what was read so far."""
    ready: list[PlacedInput] = []
    for one in work.placing.settled():
        if why := out_of_reach(one):
            work.reports[str(one.task.input.path)] = _failed(one.task, Failed(why))
        else:
            ready.append(one)
    room.make_room(work.memory)
    failed: dict[str, Failed] = {}
    merges = work.placing.merges(ready)
    most = room.at_once([task.size_bytes for task in merges], work.pool.at_once)
    forks = room.forks(work.memory, min(most, work.pool.forks))
    if work.pool.forks > 1:
        most = forks
    for task, found in work.pool.run(merge_segment, shared_out(merges, forks), tell, most):
        ids = {part.source.id for part in task.parts}
        if isinstance(found, Failed):
            failed.update(dict.fromkeys(ids, found))
        else:
            work.placing.note_merged(ids, found)
    for one in ready:
        path = str(one.task.input.path)
        problem = failed.get(one.task.input.id)
        if problem is not None:
            work.reports[path] = _failed(one.task, problem)
            continue
        work.reports[path] = work.placing.report(one)
        work.manifest.add(work.placing.finished(one))
        shutil.rmtree(one.task.folder, ignore_errors=True)


def _recognised(
    inputs: Sequence[Input], manifest: Manifest, reports: dict[str, InputReport]
) -> Iterator[_Known]:
    seen: dict[str, str] = {}
    for one in inputs:
        path = str(one.path)
        if (before := manifest.of(one)) is not None:
            reports[path] = replace(before.report, path=path, state="known")
            continue
        if manifest.was_other(one):
            problem = (
                f"{path} has changed since it was imported; "
                "import into a fresh directory, its first state can't be taken out of this one"
            )
            reports[path] = InputReport(path, "", "failed", problems=(problem,))
            continue
        try:
            source = Source.of(one.path)
            found = recognise(source)
            if found is not None:
                told = replace(one, id=one.named_id) if found.is_told_by_name else one
                if told.id in seen:
                    notes = (f"a copy of {seen[told.id]}, counts once",)
                    reports[path] = InputReport(path, found.name, "same", notes=notes)
                    continue
                seen[told.id] = path
                yield _Known(told, source, found, _host(source, found))
                continue
            problem = _unknown(source) if one.size_bytes else f"{path} is empty"
        except OSError as error:
            problem = f"{path} can't be read: {error.strerror or error}"
        reports[path] = InputReport(
            path, "", "failed" if one.is_named else "skipped", problems=(problem,)
        )


def _unknown(source: Source) -> str:
    """What is wrong with a file that is nothing known."""
    from exhume.ingest.not_read import explained  # takes 30 ms to load, and is seldom asked

    head, damage = source.head(), source.head_problem()
    if damage and not head:
        return f"{source.path}, {damage}"
    known = "; ".join(filter(None, (explained(head), damage)))
    return f"{source.path}, offset 0: expected {EXPECTED}" + (f"; {known}" if known else "")


def _host(source: Source, found: Format) -> str:
    """Which machine it is of, as far as that shows at once."""
    try:
        if found.name == "perf script":
            return script_header.parse(source.head()).hostname or name_host(source.path.name)
        if found.host is not None:
            return found.host(source.head()) or name_host(source.path.name)
        if found.name == "perf.data" and not source.compression:
            return PerfData(source.open, str(source.path)).features.hostname
    except ExhumeError:
        return ""  # it says so again when it is read
    return name_host(source.path.name)


def _places(options: Options, host: Host, known: Sequence[_Known]) -> Places:
    def of(name: str) -> tuple[Path, ...]:
        return tuple(one.input.path for one in known if one.format.name == name)

    return Places(
        host, options.symfs, Path.home() / _BUILD_ID_CACHE, of("kallsyms"), of("perf map")
    )


def _named(report: InputReport, archives: Archives) -> InputReport:
    return replace(
        report,
        path=archives.told(report.path),
        notes=tuple(map(archives.told, report.notes)),
        problems=tuple(map(archives.told, report.problems)),
    )


def _path(report: InputReport) -> str:
    return report.path


def _missing(one: Missing) -> InputReport:
    state: Literal["failed", "skipped"] = "failed" if one.is_named else "skipped"
    return InputReport(str(one.path), "", state, problems=(one.why,))


def _failed(task: ReadTask, failed: Failed) -> InputReport:
    return InputReport(str(task.input.path), task.format, "failed", problems=(failed.why,))


@contextmanager
def _alone(into: Path, folder: Path) -> Iterator[None]:
    """One import at a time into a directory."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise ExhumeError(
            f"cannot write to {into}: {error.strerror}", todo="name another place with --into"
        ) from error
    try:
        if not _locked(fd):
            raise ExhumeError(
                f"another import into {into} is going on", todo="wait for it, or give --into"
            )
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    """Processes of an import that was killed hold its lock too, until they are gone themselves."""
    deadline = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_ASK_SECONDS)
