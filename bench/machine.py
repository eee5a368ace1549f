"""The machine a result was measured on; printed with every result."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def describe() -> str:
    """One paragraph: processor, memory, kernel, versions, and what else was going on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "pyarrow", "zstandard"))
    return (
        f"{_processor()}, {os.cpu_count()} cores{_guest()}, {memory:.0f} GiB, "
        f"Linux {platform.release()}, Python {platform.python_version()}, {libraries}; "
        f"load average {load} when this was printed"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _guest() -> str:
    flags = Path("/proc/cpuinfo").read_text()
    return " of a virtual machine" if "hypervisor" in flags else ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


if __name__ == "__main__":
    print(describe())
