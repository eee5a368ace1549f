from __future__ import annotations

from pathlib import Path

import pytest

from exhume.perf.symbols.cache import path_of
from exhume.store.symbols import kernel_key
from tests.perf.test_naming import (
    KERNEL_FUNCTIONS,
    USER_FUNCTIONS,
    K,
    table_of,
)
from tests.store.head_maker import BOOT, Log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A log that stands before its first frame, and the tables to name its addresses by."""
    symbols = tmp_path / "symbols"
    symbols.mkdir()
    table_of(KERNEL_FUNCTIONS, K).save(path_of(symbols, kernel_key(BOOT)))
    table_of(USER_FUNCTIONS, 0).save(path_of(symbols, "abc123"))
    return Log(tmp_path / "x.head")
