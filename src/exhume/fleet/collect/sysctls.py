"""/proc/sys: net, vm, kernel and fs, without what changes by itself and what is a secret."""

from __future__ import annotations

import os
import re
from pathlib import Path

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found, names_in
from exhume.host import Host, read_text
from exhume.model.fingerprint import Kind

TREES = ("net", "vm", "kernel", "fs")

# Counters, random numbers, tables of what is there now, and files that do something when read.
_VOLATILE = re.compile(
    r"kernel\.random\.(?!poolsize).*|kernel\.ns_last_pid|kernel\.(?:hung_task_detect_count)"
    r"|kernel\.(?:osrelease|version|ostype|tainted|pty\.nr|cap_last_cap|usermodehelper\..*)"
    r"|kernel\.(?:acct|keys\..*count.*|seccomp\.actions_avail|sched_domain\..*|spl\..*)"
    r"|fs\.(?:dentry-state|inode-nr|inode-state|file-nr|aio-nr|quota\..*|binfmt_misc\..*)"
    r"|fs\.(?:mqueue\.queues.*|pipe-user-pages.*now|nfs\..*count.*)"
    r"|net\.netfilter\.nf_conntrack_count|net\.(?:.*\.)?route\.flush|net\.(?:.*)flush"
    r"|net\.ipv4\.(?:tcp_fastopen_key|ipfrag_.*secret.*)|net\.ipv6\..*stable_secret"
    r"|net\.(?:ipv4|ipv6)\.neigh\..*|vm\.(?:stat_refresh|compact_memory|drop_caches)"
    r"|net\.sunrpc\.transports|net\.rds\..*|net\.ipv4\.tcp_available_.*"
)
_IDENTITY = re.compile(r"kernel\.(?:hostname|domainname)|fs\.nfs\.nfs_callback.*")
_INTERFACE = re.compile(r"(net\.(?:ipv4|ipv6|mpls)\.(?:conf|neigh)\.)(.+?)(\.[^.]+)$")
_MAX_DEPTH = 8


def collect(host: Host) -> Found:
    found = Found()
    root = host.proc / "sys"
    if not root.is_dir():
        return found
    found.area("sysctl")
    cards = {name for name in names_in(host.sys / "class/net") if _has_hardware(host, name)}
    kept = {"all", "default", "lo", *cards}
    for tree in TREES:
        _walk(root / tree, tree, kept, found, 0)
    return found


def _has_hardware(host: Host, name: str) -> bool:
    return (host.sys / "class/net" / name / "device").exists()


def _walk(folder: Path, name: str, kept: set[str], found: Found, depth: int) -> None:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        if folder.is_dir():
            found.lack(f"sysctl/{name}", error)
        return
    for entry in entries:
        path = f"{name}.{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            is_interface = name.endswith((".conf", ".neigh")) and entry.name not in kept
            if depth < _MAX_DEPTH and not is_interface:
                _walk(Path(entry.path), path, kept, found, depth + 1)
        elif not _VOLATILE.fullmatch(path):
            _one(Path(entry.path), path, found)


def _one(path: Path, name: str, found: Found) -> None:
    try:
        # Those without any read permission are triggers, not settings.
        if not path.stat().st_mode & 0o444:
            return
        text = read_text(path)
    except OSError as error:
        if error.errno is not None and isinstance(error, PermissionError):
            found.lack(f"sysctl/{name}", error)
        return  # EINVAL, EIO: offered, and without a value here
    if text is None:
        return
    kind: Kind = "identity" if _IDENTITY.fullmatch(name) else "config"
    found.put("sysctl", name, shown(name, text), kind)


def shown(name: str, text: str) -> str:
    value = " ".join(text.split())
    if name == "kernel.core_pattern" and value.startswith("|"):
        program, _, arguments = value.partition(" ")
        return f"{program} {scrub.short(arguments)}" if arguments else program
    # Numbers have no secrets, whatever their name: net.ipv4.tcp_challenge_ack_limit.
    if re.fullmatch(r"[-0-9. ]*", value):
        return value
    return scrub.value(name, value)
