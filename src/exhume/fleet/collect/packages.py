"""Installed packages: dpkg's status file, rpm's SQLite database, apk's list."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from exhume.errors import ParseError
from exhume.fleet.collect.found import Found, read_file
from exhume.host import Host

DPKG = "var/lib/dpkg/status"
APK = "lib/apk/db/installed"
RPM = ("usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite")
MAX_BYTES = 64 << 20

# Tags of an rpm header, and the type of a string.
_NAME, _VERSION, _RELEASE, _EPOCH, _ARCH = 1000, 1001, 1002, 1003, 1022
_INT32, _STRING, _I18N = 4, 6, 9


def collect(host: Host) -> Found:
    found = Found()
    for name, parse in ((DPKG, parse_dpkg), (APK, parse_apk)):
        path = host.root / name
        if not path.exists():
            continue
        found.area("package")
        try:
            text = read_file(path, MAX_BYTES) or ""
        except OSError as error:
            found.lack("package", error)
            continue
        for package, version in parse(text):
            found.put("package", package, version)
    for name in RPM:
        if (host.root / name).is_file():
            _rpm(host.root / name, found)
            break
    return found


def parse_dpkg(text: str) -> Iterator[tuple[str, str]]:
    """Name and version of what is installed; a foreign architecture is part of the name."""
    stanzas = [_stanza(block) for block in text.split("\n\n")]
    native = next((s["Architecture"] for s in stanzas if s.get("Package") == "dpkg"), None)
    for fields in stanzas:
        if not fields.get("Status", "").endswith(" installed") or "Package" not in fields:
            continue
        name, architecture = fields["Package"], fields.get("Architecture", "all")
        is_foreign = native is not None and architecture not in ("all", native)
        yield f"{name}:{architecture}" if is_foreign else name, fields.get("Version", "")


def parse_apk(text: str) -> Iterator[tuple[str, str]]:
    for block in text.split("\n\n"):
        fields = dict(line.split(":", 1) for line in block.splitlines() if line[1:2] == ":")
        if "P" in fields:
            yield fields["P"], fields.get("V", "")


def parse_rpm_header(blob: bytes) -> tuple[str, str]:
    """Name and epoch:version-release of one package, as rpm stores its header."""
    try:
        count, size = struct.unpack_from(">II", blob)
        if count > 65_536 or 8 + 16 * count + size > len(blob):
            raise ValueError
        values: dict[int, str] = {}
        data = memoryview(blob)[8 + 16 * count : 8 + 16 * count + size]
        for index in range(count):
            tag, kind, offset, _ = struct.unpack_from(">IIII", blob, 8 + 16 * index)
            if tag not in (_NAME, _VERSION, _RELEASE, _EPOCH, _ARCH):
                continue
            if kind == _INT32:
                values[tag] = str(struct.unpack_from(">I", data, offset)[0])
            elif kind in (_STRING, _I18N):
                raw = bytes(data[offset : offset + 512])
                values[tag] = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
        name = values[_NAME]
    except (struct.error, ValueError, KeyError):
        raise ParseError("rpmdb.sqlite", "a header", "a package with a name") from None
    epoch = f"{values[_EPOCH]}:" if values.get(_EPOCH, "0") != "0" else ""
    return name, f"{epoch}{values.get(_VERSION, '')}-{values.get(_RELEASE, '')}"


def _rpm(path: Path, found: Found) -> None:
    found.area("package")
    versions: dict[str, set[str]] = {}
    try:
        # Immutable: no lock is taken and nothing is written beside it.
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
            for (blob,) in database.execute("SELECT blob FROM Packages"):
                if isinstance(blob, bytes):
                    name, version = parse_rpm_header(blob)
                    versions.setdefault(name, set()).add(version)
    except (sqlite3.Error, ParseError) as error:
        found.lack("package", f"rpm's database can't be read: {error}")
    for name, each in versions.items():  # several kernels are installed side by side
        found.put("package", name, " ".join(sorted(each)))


def _stanza(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in block.splitlines():
        name, colon, value = line.partition(":")
        if colon and not line[:1].isspace():
            fields[name] = value.strip()
    return fields
