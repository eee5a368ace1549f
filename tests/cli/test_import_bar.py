"""The bar of an import, as it is drawn on a terminal."""

from __future__ import annotations

import io
import re
import sys

import pytest

from exhume.cli import import_files


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last(terminal: Terminal) -> str:
    """What was drawn since it was asked for last."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    terminal.seek(0)
    terminal.truncate()
    return text


def test_the_bar_tells_the_time_left_only_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(import_files, "_REFRESH_SECONDS", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with import_files._bar() as watch:
        assert watch is not None
        last(terminal)
        watch(0, 1_000_000)
        assert re.search(r"looking .* 0\.0/1\.0 MB .*-:--:--", last(terminal))
        watch(1_000, 1_000_000)  # small files come first
        assert re.search(r"importing .*-:--:--", last(terminal))
        watch(400_000, 1_000_000)
        assert re.search(r"importing .* 0\.4/1\.0 MB .* 0:00:0\d", last(terminal))
        watch(1_000_000, 1_000_000)
        assert re.search(r"writing .*-:--:--", last(terminal))
