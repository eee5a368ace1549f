"""Configuration files, cron tables and limits, as hashes of their scrubbed text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found, files_below, read_file
from exhume.host import Host
from exhume.model.fingerprint import Kind

# Files, and directories of which every file counts.
CONFIGURATION = (
    "etc/sysctl.conf", "etc/sysctl.d", "usr/lib/sysctl.d", "etc/modprobe.d", "etc/modules",
    "etc/modules-load.d", "etc/fstab", "etc/default", "etc/security/limits.conf",
    "etc/security/limits.d", "etc/systemd/system.conf", "etc/systemd/system.conf.d",
    "etc/systemd/journald.conf", "etc/systemd/logind.conf", "etc/systemd/timesyncd.conf",
    "etc/chrony", "etc/chrony.conf", "etc/ntp.conf", "etc/udev/rules.d", "etc/resolv.conf",
    "etc/nsswitch.conf", "etc/hosts", "etc/docker/daemon.json", "etc/containerd/config.toml",
    "etc/containerd/conf.d", "etc/crio", "etc/cni/net.d", "etc/nvidia-container-runtime",
    "var/lib/kubelet/config.yaml", "var/lib/kubelet/kubeadm-flags.env", "etc/kubernetes/kubelet",
    "etc/kubernetes/kubelet.conf", "etc/kubernetes/manifests", "etc/eks", "etc/ecs/ecs.config",
    "etc/cloud/cloud.cfg", "etc/cloud/cloud.cfg.d", "etc/amazon", "etc/tuned/active_profile",
    "etc/irqbalance.env", "etc/ld.so.preload", "etc/rc.local",
)  # fmt: skip
CRON = ("etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly",
        "etc/cron.monthly", "etc/anacrontab", "var/spool/cron")  # fmt: skip
_IDENTITY = frozenset({"etc/hosts", "etc/resolv.conf"})
"""Mostly the node's own address in them."""
_MAX_FILES = 2_000
_LIMIT = re.compile(r"(Max [a-z ]+?) {2,}(\S+) +(\S+)")


def collect(host: Host) -> Found:
    found = Found()
    found.area("file", "cron")
    for area, places in (("file", CONFIGURATION), ("cron", CRON)):
        for index, path in enumerate(_all(host, places)):
            if index >= _MAX_FILES:
                found.lack(area, f"more than {_MAX_FILES:,} files: the rest is left out")
                break
            name = str(path.relative_to(host.root))
            try:
                text = read_file(path)
            except OSError as error:
                found.lack(f"{area}/{name}", error)
                continue
            if text is not None:
                kind: Kind = "identity" if name in _IDENTITY else "config"
                found.put(area, name, scrub.text_hash(without_comments(text)), kind)
    # What every daemon inherits, unless its unit says otherwise.
    for name, soft, hard in parse_limits(host.read_proc("1/limits") or ""):
        found.put("limit", name, f"{soft} {hard}")
    return found


def parse_limits(text: str) -> list[tuple[str, str, str]]:
    matches = (_LIMIT.match(line) for line in text.splitlines())
    return [(match[1].lower(), match[2], match[3]) for match in matches if match]


def without_comments(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _all(host: Host, places: tuple[str, ...]) -> Iterator[Path]:
    for place in places:
        path = host.root / place
        if path.is_dir():
            yield from (
                file for file in files_below(path) if not file.name.startswith(".placeholder")
            )
        elif path.exists():
            yield path
