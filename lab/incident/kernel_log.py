"""dmesg as it is at the end of the night: boot, a week of little, and the resets."""

from __future__ import annotations

import random
import time
from pathlib import Path

from lab.incident import words
from lab.incident.plan import Burst, Incident

_CHATTER = (
    "IPv6: ADDRCONF(NETDEV_CHANGE): {veth}: link becomes ready",
    "eth0: renamed from {veth}",
    "overlayfs: upperdir is in-use by another mount, accessing files from both mounts is undefined",
    "nvme nvme1: 32/0/0 default/read/poll queues",
    "systemd-journald[{pid}]: Received client request to flush runtime journal.",
)


def write(path: Path, incident: Incident) -> None:
    lines = [*_boot(incident), *_week(incident)]
    for burst in incident.resets:
        lines += _reset(incident, burst)
    lines.sort(key=lambda line: line[0])
    path.write_text("".join(f"[{at:12.6f}] {text}\n" for at, text in lines), encoding="ascii")


def _boot(incident: Incident) -> list[tuple[float, str]]:
    at = incident.booted_s + 2.0
    clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    device = f"ena {incident.pci}"
    queues = len(incident.queue_cores)
    return [
        (0.0, f"Linux version {words.KERNEL} (buildd@lcy02) {words.BUILD}"),
        (0.0, f"Command line: BOOT_IMAGE=/boot/vmlinuz-{words.KERNEL} ro console=ttyS0"),
        (0.31, f"smpboot: Allowing {incident.cores} CPUs, 0 hotplug CPUs"),
        (1.12, f"smp: Brought up 2 nodes, {incident.cores} CPUs"),
        (2.0, f"rtc_cmos rtc_cmos: setting system clock to {clock} UTC ({int(at)})"),
        (3.41, f"{device}: {words.DRIVER}"),
        (3.52, f"{device}: Elastic Network Adapter (ENA) found at mem c0510000, mac addr 02:4c:11"),
        (3.53, f"{device} {incident.interface}: Created {queues} IO queues, queue size 1024"),
        (9.80, f"systemd[1]: Set hostname to <{incident.host}>."),
        (14.2, "cgroup: cgroup: disabling cgroup2 socket matching due to net_prio or net_cls"),
    ]  # fmt: skip


def _week(incident: Incident) -> list[tuple[float, str]]:
    rng = random.Random(f"week {incident.seed}")
    until = incident.kernel_s(incident.seconds)
    found = []
    for _ in range(60):
        text = rng.choice(_CHATTER).format(
            veth=f"veth{rng.randrange(16**7):07x}", pid=rng.randrange(300, 900)
        )
        found.append((rng.uniform(60, until), text))
    return found


def _reset(incident: Incident, burst: Burst) -> list[tuple[float, str]]:
    """As ENA 2.11 says it."""
    if burst.reset_s is None:
        return []
    rng = random.Random(f"reset {incident.seed} {burst.start_s}")
    at = incident.kernel_s(burst.reset_s)
    since_ms = round((burst.reset_s - burst.start_s) * 250) * 4  # in jiffies of 4 ms
    pci, full = f"ena {incident.pci}", f"ena {incident.pci} {incident.interface}"
    lines = [
        f"{full}: TX q {burst.queue} is paused for too long (threshold 5000000). "
        f"Time since last napi {since_ms * 1000} usec. napi scheduled: 1",
        f"{full}: napi handler hasn't been called for a long time but is scheduled",
        f"{full}: Resetting the device",
        f"{full}: Trigger reset is on",
        f"{full}: tx_timeout: {rng.randrange(1, 40)}",
        f"{full}: suspend: 0",
        f"{full}: resume: 0",
        f"{full}: wd_expired: 0",
    ]
    for queue in range(len(incident.queue_cores)):
        lines.append(f"{full}: queue_{queue}_tx_cnt: {rng.randrange(10**9)}")
        missed = rng.randrange(90) if queue == burst.queue else 0
        lines.append(f"{full}: queue_{queue}_tx_missed_tx: {missed}")
    lines.append(f"{pci}: ENA Large LLQ is disabled")
    lines.append(f"{pci}: Device reset completed successfully, Driver info: {words.DRIVER}")
    return [(at + number * 211e-6, text) for number, text in enumerate(lines)]
