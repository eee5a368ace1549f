"""Kernel, its command line, operating system, cgroup mode, clock, and which node this is."""

from __future__ import annotations

import re
import shlex

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found, line_of, read_file
from exhume.host import Host
from exhume.sources import cgroups

_VERSION = re.compile(r"Linux version (\S+) \((.*?)\) \((.*)\) (#.*)", re.DOTALL)
_PREEMPT = re.compile(r"\bPREEMPT(?:_(?:DYNAMIC|RT|VOLUNTARY|LAZY))?\b")

# Parameters whose values are no secrets: kernel, initramfs and systemd. Others may be anything, a
# bootstrap script's password too, and are hashed.
_CLEAR = re.compile(
    r"acpi\w*|apparmor|apic\w*|audit\w*|bgrt_disable|boot|cgroup_\w+|clocksource|console\w*|cpu\w*"
    r"|crashkernel|default_hugepagesz|debug|dyndbg|earlyprintk|edd|efi\w*|elevator|fastboot"
    r"|hugepage\w*|hpet|idle|init|initcall_\w+|intel_\w+|amd_\w+|iommu\w*|ipv6\w*|irqaffinity"
    r"|isolcpus|kaslr|nokaslr|kpti|kvm\w*|l1tf|lockdown|loglevel|lsm|max_cstate|maxcpus|mce|mds"
    r"|mem\w*|mitigations|mmio\w*|module_blacklist|modprobe\.blacklist|nmi_watchdog|no\w*|nvme\w*"
    r"|numa\w*|panic\w*|pci\w*|possible_cpus|preempt|printk\w*|processor\w*|psi|quiet|raid|rcu\w*"
    r"|rcupdate\w*|random\w*|reboot|rd\.(?!luks)\w+|resume|retbleed|ro|root|rootdelay|rootflags"
    r"|rootfstype|rootwait|rw|sched\w*|scsi\w*|security|selinux|skew_tick|slab\w*|smt|softlockup\w*"
    r"|spec\w*|splash|srbds|swiotlb|swapaccount|sysctl\..*|systemd\.(?!setenv|set_credential).+"
    r"|threadirqs|transparent_hugepage|tsc\w*|tsx\w*|udev\w*|usbcore\w*|vga|video|vt\.\w+|watchdog"
    r"|workqueue\w*|x2apic\w*|xen\w*|zswap\w*|net\.ifnames|biosdevname|ip|nfsroot|BOOT_IMAGE"
)
_MODULE_PARAMETER = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+")


def collect(host: Host) -> Found:
    found = Found()
    _kernel(host, found)
    _cmdline(host, found)
    _os(host, found)
    _cgroups(host, found)
    clock = host.sys / "devices/system/clocksource/clocksource0"
    found.put("time", "clocksource", line_of(clock / "current_clocksource"))
    synchronised = (host.run / "systemd/timesync/synchronized").exists()
    if synchronised:
        found.put("time", "systemd-timesyncd synchronised", True, "volatile")
    found.put("time", "zone", _zone(host))
    found.put("node", "hostname", host.hostname(), "identity")
    found.put("node", "machine id", _hashed(line_of(host.root / "etc/machine-id")), "identity")
    found.put("node", "boot id", host.boot_id(), "volatile")
    uptime = host.read_proc("uptime")
    if uptime:
        found.put("node", "uptime seconds", int(float(uptime.split()[0])), "volatile")
    return found


def parse_cmdline(text: str) -> dict[str, tuple[str, ...]]:
    """Parameters with their values; one given twice has both. Node-specific ids are normalised."""
    try:
        words = shlex.split(text, posix=False)
    except ValueError:  # an odd quote
        words = text.split()
    values: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        values.setdefault(_named(name), []).append(_shown(name, value) if equals else "")
    return {name: tuple(given) for name, given in values.items()}


def _named(name: str) -> str:
    return name if len(name) <= 60 and not scrub.is_secret_value(name) else scrub.short(name)


def _shown(name: str, value: str) -> str:
    if name == "BOOT_IMAGE":
        return value.rpartition("/")[2]
    if name in ("root", "resume") and (match := re.match(r"(PART)?(UUID|LABEL)=", value)):
        return f"{match[0]}*"
    is_clear = _CLEAR.fullmatch(name) or _MODULE_PARAMETER.fullmatch(name)
    return scrub.value(name, value) if is_clear else scrub.short(value)


def _kernel(host: Host, found: Found) -> None:
    found.put("kernel", "release", host.kernel_release())
    text = host.read_proc("version") or ""
    match = _VERSION.match(text.strip())
    if match:
        found.put("kernel", "compiler", match[3])
        found.put("kernel", "build", match[4])
    live = line_of(host.sys / "kernel/debug/sched/preempt")
    chosen = re.search(r"\((\w+)\)", live) if live else None
    built = _PREEMPT.search(text)
    model = chosen[1] if chosen else built[0].lower() if built else "none or voluntary"
    found.put("kernel", "preempt model", model)
    found.put("kernel", "tainted", line_of(host.proc / "sys/kernel/tainted"), "state")
    lockdown = line_of(host.sys / "kernel/security/lockdown")
    if lockdown and (match := re.search(r"\[(\w+)\]", lockdown)):
        found.put("kernel", "lockdown", match[1])


def _cmdline(host: Host, found: Found) -> None:
    text = host.read_proc("cmdline")
    if text is None:
        return
    found.area("cmdline")
    for name, values in parse_cmdline(text).items():
        found.put("cmdline", name, " ".join(values) if any(values) else True)


def _os(host: Host, found: Found) -> None:
    for name in ("etc/os-release", "usr/lib/os-release"):
        text = read_file(host.root / name)
        if text is None:
            continue
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            if equals and key in ("ID", "VERSION_ID", "PRETTY_NAME", "VARIANT_ID", "IMAGE_VERSION"):
                found.put("os", key.lower(), value.strip("\"'"))
        return


def _cgroups(host: Host, found: Found) -> None:
    base = host.sys / "fs/cgroup"
    if (base / "cgroup.controllers").exists():
        found.put("cgroup", "mode", "v2")
        controllers = line_of(base / "cgroup.controllers") or ""
        found.put("cgroup", "controllers", tuple(sorted(controllers.split())))
        return
    known = cgroups.read(host)
    if known is None:
        return
    is_hybrid = (base / "unified/cgroup.controllers").exists()
    found.put("cgroup", "mode", "hybrid" if is_hybrid else "v1")
    used = (one.name for one in known.values() if one.is_enabled)
    found.put("cgroup", "controllers", tuple(sorted(used)))


def _zone(host: Host) -> str | None:
    try:
        target = str((host.root / "etc/localtime").readlink())
    except OSError:
        return None
    return target.partition("zoneinfo/")[2] or None


def _hashed(text: str | None) -> str | None:
    return None if text is None else scrub.text_hash(text)
