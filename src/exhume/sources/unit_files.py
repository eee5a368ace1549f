"""What an image starts by itself: services enabled by links, and who brought their files.

Read from the directories, so it works for an image that was never booted. What the administrator,
or a script of the base image, put there lies in /etc or /usr/local by systemd's convention; files
elsewhere are a package's, and where dpkg's lists are there they must say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from exhume.host import Host
from exhume.model.check import EnabledUnit

SUFFIXES = (".service", ".timer", ".socket", ".path")
ENABLED_IN = "etc/systemd/system"
_BY_HAND = ("/etc/systemd/system/", "/usr/local/lib/systemd/system/")
_WANTS = (".wants", ".requires")
_DPKG_LISTS = "var/lib/dpkg/info"
_MOST_LINKS = 8


def read(host: Host) -> tuple[EnabledUnit, ...] | None:
    """By name; None where there is no systemd."""
    folder = host.root / ENABLED_IN
    if not folder.is_dir():
        return None
    wanted: dict[str, set[str]] = {}
    files: dict[str, str] = {}
    for entry in sorted(folder.iterdir()):
        if not entry.name.endswith(_WANTS):
            continue
        with suppress(OSError):
            for link in sorted(entry.iterdir()):
                path = _resolved(host.root, link) if link.name.endswith(SUFFIXES) else None
                if path is not None:
                    files[link.name] = path
                    wanted.setdefault(link.name, set()).add(entry.name.rpartition(".")[0])
    listed = _listed_by_dpkg(host.root, files.values())
    return tuple(
        EnabledUnit(
            name,
            path,
            tuple(sorted(wanted[name])),
            path in listed if listed is not None else not path.startswith(_BY_HAND),
        )
        for name, path in sorted(files.items())
    )


def _resolved(root: Path, link: Path) -> str | None:
    """The file behind a link, within that root; None for one that leads nowhere."""
    path = link
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            break
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    path = Path(os.path.normpath(path))
    # A link may leave the root by dots, or end in /dev/null: masked.
    if not path.is_relative_to(root) or not path.is_file():
        return None
    return f"/{path.relative_to(root)}"


def _listed_by_dpkg(root: Path, paths: Iterable[str]) -> set[str] | None:
    """Those that belong to a package; None where dpkg is not what installs here."""
    folder = root / _DPKG_LISTS
    if not folder.is_dir():
        return None
    left = {form: path for path in paths for form in _forms(path)}
    found: set[str] = set()
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".list"):
            continue
        with suppress(OSError):
            lines = (folder / name).read_bytes().decode("utf-8", "surrogateescape").split("\n")
            found.update(left[line] for line in left.keys() & set(lines))
    return found


def _forms(path: str) -> Iterator[str]:
    """/lib is /usr/lib on merged systems, and packages say either."""
    yield path
    yield path.removeprefix("/usr") if path.startswith("/usr/lib/") else f"/usr{path}"
