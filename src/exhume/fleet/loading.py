"""Files and directories to a fleet: fingerprints, cases beside them, whole fleets as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from exhume.errors import ExhumeError, ParseError
from exhume.fleet import codec, table
from exhume.fleet.codec import NotAFingerprintError, OtherVersionError
from exhume.fleet.cohort import UNKNOWN, CaseFacts, Column, Fleet, fleet_of
from exhume.fleet.suspects import case_facts
from exhume.model.fingerprint import AREA, Fingerprint, Value, hash_of
from exhume.store import fingerprints, layout

MAX_DEPTH = 4
MAX_CASE_BYTES = 16 << 20
_SUFFIXES = (".json", ".json.zst", ".jsonl", ".parquet")
_SHOWN = 3


class Loaded(Struct):
    fingerprints: list[Fingerprint] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """Where each of them came from."""
    fleets: list[Fleet] = field(default_factory=list)
    cases: list[tuple[str, Path, CaseFacts]] = field(default_factory=list)
    """Node where the case says it, file, and what it says."""
    skipped: list[str] = field(default_factory=list)


def load(paths: Sequence[Path]) -> Fleet:
    """One fleet of all that is there; ExhumeError where it contradicts itself."""
    loaded = Loaded()
    for path in paths:
        if not path.exists():
            raise ExhumeError(f"there is no {path}", todo="name fingerprints, or their directory")
        if path.is_dir():
            for file in files_of(path):
                _take(file, loaded, is_named=False)
        else:
            _take(path, loaded, is_named=True)
    _refuse_twins(loaded)
    fleets = list(loaded.fleets)
    if loaded.fingerprints:
        fleets.append(fleet_of(loaded.fingerprints))
    if not fleets:
        shown = ", ".join(map(str, paths[:_SHOWN]))
        raise ExhumeError(
            f"there are no fingerprints in {shown}",
            todo="'exhume fingerprint -o DIR/NODE.json' on each node makes some",
        )
    fleet = fleets[0] if len(fleets) == 1 else merged(fleets)
    return _with_cases(fleet, loaded)


def files_of(folder: Path, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """A recording has one fingerprint that counts, its newest; other directories all they hold."""
    if layout.fingerprints_path(folder).is_dir():
        stored = fingerprints.stored(folder)
        if stored:
            yield stored[-1].path
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and depth > 1:
            yield from files_of(path, depth - 1)
        elif path.name.endswith(_SUFFIXES) and not path.name.startswith("."):
            yield path


def merged(fleets: Sequence[Fleet]) -> Fleet:
    total = sum(len(fleet.nodes) for fleet in fleets)
    starts = np.cumsum([0, *(len(fleet.nodes) for fleet in fleets)]).tolist()
    keys: dict[str, Column] = {}
    for fleet in fleets:
        for column in fleet.columns:
            keys.setdefault(column.key, column)
    by_key = [{column.key: column for column in fleet.columns} for fleet in fleets]
    looked = [_looked_at(fleet) for fleet in fleets]
    columns: list[Column] = []
    for key, like in keys.items():
        values: dict[str, tuple[int, Value | None]] = {}
        codes = np.full(total, UNKNOWN, np.int32)
        for place, known in enumerate(by_key):
            part = slice(starts[place], starts[place + 1])
            if key in known:
                column = known[key]
                new = [_code(values, value) for value in column.values]
                codes[part] = np.array([*new, UNKNOWN], np.int32)[column.codes]
            elif like.area in looked[place] and AREA[like.area].is_inventory:
                absent = _code(values, None)
                codes[part] = np.where(looked[place][like.area], absent, UNKNOWN)
        listed = tuple(value for _, value in values.values())
        columns.append(Column(like.area, like.name, like.kind, codes, listed))
    nodes = tuple(node for fleet in fleets for node in fleet.nodes)
    notes = tuple(dict.fromkeys(note for fleet in fleets for note in fleet.notes))
    return Fleet(nodes, tuple(columns), {}, notes)


def _code(values: dict[str, tuple[int, Value | None]], value: Value | None) -> int:
    digest = "absent" if value is None else hash_of(value)
    return values.setdefault(digest, (len(values), value))[0]


def _looked_at(fleet: Fleet) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
    """By area, the nodes of which anything in it is known."""
    found: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for column in fleet.columns:
        known = column.codes != UNKNOWN
        found[column.area] = found[column.area] | known if column.area in found else known
    return {area: known for area, known in found.items() if area in AREA}


def _take(path: Path, loaded: Loaded, *, is_named: bool) -> None:
    try:
        if path.suffix == ".parquet":
            if not is_named and not table.is_fleet(path):
                loaded.skipped.append(f"{path} (no fleet)")
                return
            loaded.fleets.append(table.read(path))
        elif path.suffix == ".jsonl":
            _lines(path, loaded)
        else:
            _json(path, loaded)
    except OtherVersionError as error:
        if is_named:
            raise
        loaded.skipped.append(error.what)
    except NotAFingerprintError as error:
        if is_named:
            raise
        loaded.skipped.append(f"{path} ({error.expected} expected)")


def _json(path: Path, loaded: Loaded) -> None:
    try:
        with open(path, "rb") as file:
            data = file.read(fingerprints.MAX_BYTES + 1)
    except OSError as error:
        raise ExhumeError(f"{path} can't be read: {error.strerror}") from error
    body = codec.load_json(fingerprints.unpack(data, str(path)), str(path))
    facts = case_facts(body)
    if facts is not None:
        node = body.get("node")
        loaded.cases.append((node if isinstance(node, str) else "", path, facts))
        return
    loaded.fingerprints.append(codec.from_json(body, str(path)))
    loaded.sources.append(str(path))


def _lines(path: Path, loaded: Loaded) -> None:
    """A fingerprint a line, or `{"node": …, "case": …}`."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            if len(line) > MAX_CASE_BYTES:
                raise ParseError(str(path), number, "a line of at most 16 MiB")
            try:
                body = json.loads(line)
            except (ValueError, RecursionError):
                raise ParseError(str(path), number, "JSON") from None
            facts = case_facts(body.get("case")) if isinstance(body, dict) else None
            if facts is not None:
                loaded.cases.append((str(body.get("node", "")), path, facts))
            else:
                loaded.fingerprints.append(codec.from_json(body, where))
                loaded.sources.append(where)


def _refuse_twins(loaded: Loaded) -> None:
    seen: dict[str, str] = {}
    nodes = (one.node for one in loaded.fingerprints)
    pairs = list(zip(nodes, loaded.sources, strict=True))
    pairs += [(node, "a Parquet file") for fleet in loaded.fleets for node in fleet.nodes]
    for node, source in pairs:
        if node in seen:
            raise ExhumeError(
                f"the node {node} is there twice: {seen[node]} and {source}",
                todo="leave one out, or collect with 'exhume fingerprint --node NAME'",
            )
        seen[node] = source


def _with_cases(fleet: Fleet, loaded: Loaded) -> Fleet:
    places = {node: place for place, node in enumerate(fleet.nodes)}
    beside = _beside(loaded)
    cases: dict[int, list[CaseFacts]] = {}
    lost: list[str] = []
    for node, path, facts in loaded.cases:
        owner = node or _owner(path, beside, places)
        if owner in places:
            cases.setdefault(places[owner], []).append(facts)
        else:
            lost.append(f"{path} (a case of no node here)")
    notes = list(fleet.notes)
    left_out = [*loaded.skipped, *lost]
    if left_out:
        more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        notes.append(f"left out: {'; '.join(left_out[:_SHOWN])}{more}")
    if cases and len(cases) < len(fleet.nodes):
        lacking = len(fleet.nodes) - len(cases)
        notes.append(f"{lacking:,} nodes have no case file and are taken as without a case")
    frozen = {place: tuple(each) for place, each in cases.items()}
    return Fleet(fleet.nodes, fleet.columns, frozen, tuple(notes))


def _beside(loaded: Loaded) -> Mapping[str, list[str]]:
    """By directory, the nodes whose fingerprints lie in it."""
    found: dict[str, list[str]] = {}
    for one, source in zip(loaded.fingerprints, loaded.sources, strict=True):
        found.setdefault(str(Path(source).parent), []).append(one.node)
    return found


def _owner(path: Path, beside: Mapping[str, list[str]], places: Mapping[str, int]) -> str:
    """node-1.case.json belongs to node-1; one alone in a directory to the node there."""
    stem = path.name
    while "." in stem:
        stem = stem.rpartition(".")[0]
        if stem in places:
            return stem
    near = beside.get(str(path.parent), [])
    return near[0] if len(near) == 1 else ""
