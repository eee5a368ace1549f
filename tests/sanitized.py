"""C of ours under sanitizers: a driver that includes its source, built for a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def build(folder: Path, driver: str, *sources: Path) -> Path:
    """The program; skips where it can't be built. `sources`: where what it includes lies."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is needed to build C with sanitizers")
    (folder / "driver.c").write_text(driver)
    command = ["gcc", "-g", "-O1", "-std=c11", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", *(f"-I{source}" for source in sources)]
    command += ["driver.c", "-o", "driver", "-lm"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "asan" in built.stderr or "ubsan" in built.stderr:
        pytest.skip("this gcc has no sanitizer libraries")
    assert built.returncode == 0, built.stderr
    return folder / "driver"
