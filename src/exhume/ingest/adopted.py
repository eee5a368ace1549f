"""A recording whose node nobody knew becomes that of the node that shows later.

Files come one after the other: a kernel log that names no host, then the mpstat beside it. They are
of one node, as they would be had they come at once, and so they are of one recording.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from exhume.ingest.manifest import Finished, Manifest
from exhume.ingest.nodes import NAMELESS
from exhume.ingest.written import boot_id
from exhume.store import layout, meta
from exhume.store.files import DamagedFileError, write_atomic
from exhume.store.meta import NewerFormatError


def adopt(manifest: Manifest, root: Path, node: str) -> None:
    """The segments first: killed in between, the next import does the rest."""
    folder = layout.segments_path(root)
    with suppress(FileNotFoundError):
        for path in sorted(folder.iterdir()):
            if layout.wall_ns_of_name(path.name) is not None:
                _rename(path, node)
    for one in manifest.all():
        if one.node == NAMELESS and not one.folder:
            manifest.add(_renamed(one, node))


def _rename(segment: Path, node: str) -> None:
    with suppress(DamagedFileError, NewerFormatError):  # it can't be asked either
        facts = meta.read(segment)
        if facts.origin.boot_id == boot_id(NAMELESS):
            origin = replace(facts.origin, node=node, boot_id=boot_id(node))
            write_atomic(segment / layout.META, meta.encode(replace(facts, origin=origin)))


def _renamed(one: Finished, node: str) -> Finished:
    covered = one.covered and replace(one.covered, node=node)
    anchors = tuple(
        replace(anchor, node=node) if anchor.node == NAMELESS else anchor for anchor in one.anchors
    )
    return replace(one, node=node, anchors=anchors, covered=covered)
