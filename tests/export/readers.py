"""The programs that read what is exported, where they are installed: `make setup-dev` does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.export.browser import chromium

MODULES = Path(__file__).parent / "node" / "node_modules"
FIREFOX = MODULES / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
SPEEDSCOPE = MODULES / "speedscope/dist/release"
NODE = shutil.which("node") or "node"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not MODULES.is_dir(),
    reason="node, or tests/export/node/node_modules, is missing: make setup-dev",
)
needs_browser = pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")


def node(*words: str | Path, env: dict[str, str] | None = None) -> str:
    """What a script prints; fails with what it says on failing."""
    done = subprocess.run(
        [NODE, *map(str, words)], capture_output=True, text=True, timeout=60, env=env, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
