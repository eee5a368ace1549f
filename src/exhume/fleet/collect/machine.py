"""Processor, mitigations, NUMA, memory, huge pages, and graphics processors."""

from __future__ import annotations

import os
import re

from exhume.fleet.collect.found import Found, line_of, names_in, read_file
from exhume.host import Host

_CPUINFO = {
    "model name": "model",
    "vendor_id": "vendor",
    "microcode": "microcode",
    "CPU implementer": "implementer",
    "CPU part": "part",
}
_CHOSEN = re.compile(r"\[([\w-]+)\]")
_GIB = 1 << 30


def collect(host: Host) -> Found:
    found = Found()
    _cpu(host, found)
    _memory(host, found)
    _gpu(host, found)
    return found


def parse_cpuinfo(text: str) -> dict[str, tuple[str, ...]]:
    """What the cores say of themselves; more than one where they differ."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        known = _CPUINFO.get(name.strip())
        if colon and known:
            found.setdefault(known, set()).add(value.strip())
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _cpu(host: Host, found: Found) -> None:
    for name, values in parse_cpuinfo(host.read_proc("cpuinfo") or "").items():
        found.put("cpu", name, " | ".join(values))
    found.put("cpu", "architecture", os.uname().machine)
    base = host.sys / "devices/system/cpu"
    for name in ("possible", "present", "isolated", "nohz_full"):
        found.put("cpu", name, line_of(base / name))
    found.put("cpu", "online", line_of(base / "online"), "state")
    found.put("cpu", "smt", line_of(base / "smt/control"))
    found.put("cpu", "governor", line_of(base / "cpu0/cpufreq/scaling_governor"))
    nodes = [n for n in names_in(host.sys / "devices/system/node") if re.fullmatch(r"node\d+", n)]
    found.put("cpu", "numa nodes", len(nodes) or None)
    for node in nodes[:64]:
        cores = line_of(host.sys / "devices/system/node" / node / "cpulist")
        found.put("cpu", f"{node} cores", cores)
    for name in names_in(base / "vulnerabilities"):
        found.put("mitigation", name, line_of(base / "vulnerabilities" / name))


def _memory(host: Host, found: Found) -> None:
    match = re.search(r"^MemTotal: +(\d+) kB", host.read_proc("meminfo") or "", re.MULTILINE)
    if match:
        # Firmware and kernel take a little less or more of it: nodes of a kind must agree.
        found.put("memory", "GiB", max(1, round(int(match[1]) * 1024 / _GIB)))
    base = host.sys / "kernel/mm"
    for name in ("enabled", "defrag", "shmem_enabled"):
        text = line_of(base / "transparent_hugepage" / name)
        chosen = _CHOSEN.search(text) if text else None
        found.put("memory", f"transparent hugepages {name}", chosen[1] if chosen else None)
    for name in names_in(base / "hugepages"):
        text = line_of(base / "hugepages" / name / "nr_hugepages")
        found.put("memory", name, int(text) if text and text.isdigit() else None)
    found.put("memory", "ksm", line_of(base / "ksm/run"))


def _gpu(host: Host, found: Found) -> None:
    text = host.read_proc("driver/nvidia/version")
    if text and (match := re.search(r"Kernel Module +(?:for \S+ +)?([\d.]+)", text)):
        found.put("gpu", "nvidia driver", match[1])
    models: list[str] = []
    for name in names_in(host.proc / "driver/nvidia/gpus"):
        about = read_file(host.proc / "driver/nvidia/gpus" / name / "information") or ""
        fields = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in about.splitlines())
        }
        models.append(fields.get("Model", "unknown"))
        if fields.get("Video BIOS"):
            found.put("gpu", f"video BIOS of {fields.get('Model', '')}", fields["Video BIOS"])
    for model in sorted(set(models)):
        found.put("gpu", f"count of {model}", models.count(model))
