"""/proc/self/mounts: what is mounted where, with the options that hold no secret."""

from __future__ import annotations

import re

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found
from exhume.host import Host

# Come and go with containers, pods, sessions and removable media.
_PASSING = re.compile(
    r".*/overlay2/.*|/run/(?:containerd|docker|user|netns|credentials|crio)/.*|/run/netns"
    r"|.*/(?:docker|kubelet|containers|containerd)/.*|/tmp/.*|/var/tmp/.*|/media/.*|/mnt/wsl.*"
    r"|/snap/.*|/sys/fs/cgroup/.+|/run/snapd/.*|.*/netns/.*|/proc/\d+/.*|.*/\.\w+/.*"
)
# Sizes that the kernel works out by itself, and ids.
_DROPPED = frozenset(
    {"lowerdir", "upperdir", "workdir", "fd", "pgrp", "pipe_ino", "nr_inodes", "inode64",
     "clientaddr", "addr", "mountaddr", "port", "mountport", "gid", "seclabel"}
)  # fmt: skip
_CLEAR = re.compile(
    r"size|mode|ptmxmode|uid|errors|data|commit|stripe|barrier|journal_\w+|resuid|resgid|subvol"
    r"|subvolid|compress|space_cache|discard|logbufs|logbsize|sunit|swidth|allocsize|vers|nfsvers"
    r"|rsize|wsize|timeo|retrans|proto|sec|namlen|lookupcache|local_lock|acregmin|acregmax|acdirmin"
    r"|acdirmax|nconnect|cache|hidepid|max_read|blksize|codepage|iocharset|shortname|umask|dmask"
    r"|fmask|utf8|timeout|minproto|maxproto|direct|memory|nsdelegate|memory_recursiveprot|access"
    r"|msize|trans|huge|mpol|dir_umask|file_umask|prjquota|usrquota|grpquota|init_itable"
)
_DEVICE = re.compile(r"/dev/(?:sd|nvme|vd|xvd|dm-|md|loop|mapper/)")


def collect(host: Host) -> Found:
    found = Found()
    text = host.read_proc("self/mounts")
    if text is None:
        return found
    found.area("mount")
    for place, value in parse(text).items():
        found.put("mount", place, value)
    return found


def parse(text: str) -> dict[str, str]:
    """By mount point `file system, options, source`; the last of several on one place counts."""
    mounts: dict[str, str] = {}
    for line in text.splitlines():
        columns = line.split(" ")
        if len(columns) < 4:
            continue
        source, place, system, options = (_unescaped(column) for column in columns[:4])
        if _PASSING.fullmatch(place) or system in ("nsfs", "autofs", "binfmt_misc", "fuse.lxcfs"):
            continue
        mounts[scrub.without_users(place)] = (
            f"{system} {','.join(_options(options))}{_source(source)}"
        )
    return mounts


def _options(text: str) -> list[str]:
    shown: list[str] = []
    for option in text.split(","):
        name, equals, value = option.partition("=")
        if name in _DROPPED:
            continue
        if equals and (not _CLEAR.fullmatch(name) or scrub.is_secret_value(value)):
            shown.append(f"{name}={scrub.short(value)}")
        else:
            shown.append(option if not scrub.is_secret_value(option) else scrub.short(option))
    return sorted(shown)


def _source(source: str) -> str:
    """Network file systems by their server; disks have other names on each node."""
    if _DEVICE.match(source) or not re.search(r"[:/]", source):
        return ""
    return f" from {scrub.value('source', scrub.without_users(source))}"


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
