"""systemd's units: which run (over D-Bus), and what their files say (from the directories).

The files are read by ourselves: they are there in an image that isn't booted too, and a drop-in
changes a unit as much as its own file does. Only hashes of their scrubbed text are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exhume.errors import ParseError
from exhume.fleet import scrub
from exhume.fleet.collect.found import Found, names_in, read_file
from exhume.host import Host
from exhume.model.fingerprint import Kind
from exhume.sources import units
from exhume.sources.dbus import Connection, DBusError

SUFFIXES = (".service", ".timer", ".socket", ".path", ".mount", ".target", ".slice", ".swap")
RUNNING = (".service", ".timer", ".socket", ".path")
# By precedence; /lib is a link to /usr/lib nearly everywhere.
FOLDERS = ("etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system",
           "lib/systemd/system")  # fmt: skip
_SYSTEMD = "org.freedesktop.systemd1"
_ROOT = "/org/freedesktop/systemd1"
_MANAGER = f"{_SYSTEMD}.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_MAX_ASKED = 400


def collect(host: Host) -> Found:
    found = Found()
    _files(host, found)
    if (host.run / "systemd/system").exists():
        try:
            with units.connect(host) as connection:
                _over_dbus(connection, found)
        except (OSError, DBusError, ParseError, ImportError) as error:
            why = f"systemd does not answer over D-Bus: {error}"
            for area in ("unit", "unit_enabled", "unit_restarts"):
                found.fields.pop(area, None)
                found.lack(area, why)
    return found


def coarse(active: str, sub: str) -> str:
    """What does not flicker: a unit between two crashes still `runs`."""
    if active == "failed":
        return "failed"
    if active in ("inactive", "deactivating"):
        return "off"
    return "done" if sub in ("exited", "dead") else "runs"


def _over_dbus(connection: Connection, found: Found) -> None:
    patterns = [f"*{suffix}" for suffix in RUNNING]
    body = connection.call(_SYSTEMD, _ROOT, _MANAGER, "ListUnitsByPatterns", "asas", [], patterns)
    rows = [row for row in units.parse_list(body) if row[1] in ("loaded", "masked")]
    names = {row[0] for row in rows}
    found.area("unit", "unit_enabled")
    for name, _, active, sub, path in rows:
        timed = name.removesuffix(".service") + ".timer" in names and name.endswith(".service")
        kind: Kind = "load" if timed or _is_passing(name) else "state"
        found.put("unit", name, coarse(active, sub), kind)
        if name.endswith(".service") and active != "inactive" and len(found.fields) < _MAX_ASKED:
            answer = connection.call(
                _SYSTEMD, path, _PROPERTIES, "Get", "ss", f"{_SYSTEMD}.Service", "NRestarts"
            )
            found.put("unit_restarts", name, _number(answer), "load")
    (files,) = connection.call(_SYSTEMD, _ROOT, _MANAGER, "ListUnitFiles")
    for path, state in files:
        name = str(path).rpartition("/")[2]
        if name.endswith(SUFFIXES) and state not in ("generated", "transient"):
            found.put("unit_enabled", name, str(state))


def _number(answer: object) -> int | None:
    """The body of Get: one variant, a pair of signature and value."""
    match answer:
        case ((_, int(count)),):
            return count
    return None


def _is_passing(name: str) -> bool:
    """Sessions and transient units come and go by themselves."""
    return name.startswith(("run-", "session-", "user@", "user-runtime-dir@", "systemd-fsck@"))


def _files(host: Host, found: Found) -> None:
    folders = [host.root / name for name in FOLDERS]
    folders.insert(1, host.run / "systemd/system")
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        return
    found.area("unit_file", "unit_wanted")
    fragments: dict[str, Path] = {}
    drop_ins: dict[str, dict[str, Path]] = {}
    wanted: dict[str, set[str]] = {}
    for folder in there:
        for name in names_in(folder):
            path = folder / name
            if name.endswith(SUFFIXES):
                fragments.setdefault(name, path)
            elif name.endswith(".d"):
                mine = drop_ins.setdefault(name.removesuffix(".d"), {})
                for conf in names_in(path):
                    if conf.endswith(".conf"):
                        mine.setdefault(conf, path / conf)  # a higher one hides a lower one
            elif name.endswith((".wants", ".requires")):
                for unit in names_in(path):
                    wanted.setdefault(unit, set()).add(name)
    for name in sorted({*fragments, *drop_ins}):
        _file(name, fragments.get(name), drop_ins, found)
    for name, by in sorted(wanted.items()):
        found.put("unit_wanted", name, tuple(sorted(by)))


def _file(
    name: str, fragment: Path | None, drop_ins: dict[str, dict[str, Path]], found: Found
) -> None:
    pieces: list[str] = []
    try:
        if fragment is not None:
            if fragment.is_symlink() and str(fragment.readlink()) == "/dev/null":
                found.put("unit_file", name, "masked")
                return
            text = read_file(fragment)
            if text is None:
                return  # an alias of a unit that is gone
            pieces.append(meaning(text))
        for conf, path in sorted(_drop_ins_of(name, drop_ins)):
            text = read_file(path)
            if text is not None:
                pieces.append(f"# {conf}\n{meaning(text)}")
    except OSError as error:
        found.lack(f"unit_file/{name}", error)
        return
    if pieces:
        found.put("unit_file", name, scrub.text_hash("\n".join(pieces)))


def _drop_ins_of(name: str, drop_ins: dict[str, dict[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Its own, those of its template (a@.service.d) and of its prefixes (a-.service.d)."""
    stem, dot, suffix = name.rpartition(".")
    owners = [name]
    if "@" in stem:
        owners.append(f"{stem.partition('@')[0]}@{dot}{suffix}")
    parts = stem.split("-")
    owners += ["-".join(parts[:count]) + f"-{dot}{suffix}" for count in range(1, len(parts))]
    for owner in owners:
        yield from drop_ins.get(owner, {}).items()


def meaning(text: str) -> str:
    """Without comments and blank lines: they change nothing."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and line[0] not in "#;")
