from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.host import Host
from tests.record.fake import Desk, FakeSampler, machine

TINY_BYTES = 8 << 20


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB that can be filled."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a tmpfs of its own")
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={TINY_BYTES}", "tiny", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("may not mount a tmpfs here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine(tmp_path / "host")


@pytest.fixture
def desk(host: Host, tmp_path: Path) -> Desk:
    """Counters only."""
    return Desk(host, tmp_path / "data")


@pytest.fixture
def sampling(host: Host, tmp_path: Path) -> Desk:
    return Desk(host, tmp_path / "data", FakeSampler())
