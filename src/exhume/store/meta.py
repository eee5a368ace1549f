"""meta.json: what a segment is, how its times read, and what each of its files must look like."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from exhume.errors import ExhumeError
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.sample import Stretch
from exhume.model.segment import Origin
from exhume.store.files import DamagedFileError, checksum
from exhume.store.layout import FORMAT_VERSION, META, segments_path, wall_ns_of_name

MAX_BYTES = 16 << 20
"""Far more than any meta.json has; a damaged or hostile one is not read into memory."""


class NewerFormatError(ExhumeError):
    """Written by a later exhume than this one."""


class FileFacts(Struct, frozen=True):
    bytes: int
    crc32: int
    rows: int


class BlockFacts(Struct, frozen=True):
    """One row group of counters.parquet."""

    field: str
    instances: int
    ticks: int


class Meta(Struct, frozen=True):
    origin: Origin
    start_ns: int
    end_ns: int
    clock: ClockMap
    stretches: tuple[Stretch, ...]
    core_samples: tuple[tuple[int, int], ...]
    """(core, samples) in the order of samples.parquet."""
    blocks: tuple[BlockFacts, ...]
    files: dict[str, FileFacts]

    @property
    def samples(self) -> int:
        return sum(count for _, count in self.core_samples)

    @property
    def size_bytes(self) -> int:
        return sum(facts.bytes for facts in self.files.values())


def encode(meta: Meta) -> bytes:
    body = {
        "origin": to_builtins(meta.origin),
        "start_ns": meta.start_ns,
        "end_ns": meta.end_ns,
        "clock": [[p.monotonic_ns, p.wall_ns, p.kernel_log_ns] for p in meta.clock.pairs],
        "stretches": [[s.start_ns, s.event, s.rate_hz] for s in meta.stretches],
        "core_samples": [list(pair) for pair in meta.core_samples],
        "blocks": [[b.field, b.instances, b.ticks] for b in meta.blocks],
        "files": {name: to_builtins(facts) for name, facts in sorted(meta.files.items())},
    }
    if any(s.cores for s in meta.stretches):
        # Apart from the stretches: who does not know of it passes it over.
        body["watched_cores"] = [list(s.cores) for s in meta.stretches]
    document = {"format": FORMAT_VERSION, "crc32": checksum(_canonical(body)), "segment": body}
    return json.dumps(document, indent=1, ensure_ascii=True).encode()


def read(directory: Path) -> Meta:
    """Raises DamagedFileError or NewerFormatError."""
    path = directory / META
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DamagedFileError(
            str(path), "whole file", f"a readable file ({error.strerror})"
        ) from error
    return decode(data, str(path))


def read_all(root: Path) -> list[Meta]:
    """Of every segment of a recording whose meta data can be used, oldest first."""
    found: list[Meta] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted(segments_path(root).iterdir()):
            if wall_ns_of_name(path.name) is not None:
                with suppress(DamagedFileError, NewerFormatError):
                    found.append(read(path))
    return found


def decode(data: bytes, path: str) -> Meta:
    try:
        document = json.loads(data)
        version, body = document["format"], document["segment"]
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{path} has format {version}, this exhume reads up to {FORMAT_VERSION}",
                todo="read it with the exhume that wrote it, or a later one",
            )
        if version != FORMAT_VERSION or checksum(_canonical(body)) != document["crc32"]:
            raise ValueError("checksum")
        return _decode(body)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFileError(
            path, "whole file", "the meta data of a segment, unchanged"
        ) from error


def _decode(body: dict[str, Any]) -> Meta:
    return Meta(
        origin=Origin(**body["origin"]),
        start_ns=int(body["start_ns"]),
        end_ns=int(body["end_ns"]),
        clock=ClockMap.of([ClockPair(*pair) for pair in body["clock"]]),
        stretches=_stretches(body),
        core_samples=tuple((int(core), int(count)) for core, count in body["core_samples"]),
        blocks=tuple(BlockFacts(*facts) for facts in body["blocks"]),
        files={str(name): FileFacts(**facts) for name, facts in body["files"].items()},
    )


def _stretches(body: dict[str, Any]) -> tuple[Stretch, ...]:
    found, watched = body["stretches"], body.get("watched_cores", ())
    cores = [*watched, *((),) * (len(found) - len(watched))]
    return tuple(
        Stretch(start_ns, event, rate_hz, tuple(map(int, own)))
        for (start_ns, event, rate_hz), own in zip(found, cores, strict=True)
    )


def _canonical(body: object) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
