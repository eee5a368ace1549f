from __future__ import annotations

import io
import time

from exhume.cli.progress import step


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_quick_step_shows_nothing() -> None:
    screen = Terminal()
    with step("reading", stream=screen, patience_seconds=30):
        pass
    assert screen.getvalue() == ""


def test_a_slow_step_shows_what_it_does() -> None:
    screen = Terminal()
    with step("reading \x1b[31m", stream=screen, patience_seconds=0.01) as progress:
        deadline = time.monotonic() + 10
        while "reading" not in screen.getvalue() and time.monotonic() < deadline:
            progress.update(3, 72)
            time.sleep(0.01)
    assert "reading \\x1b[31m" in screen.getvalue()


def test_nothing_is_shown_where_nobody_watches() -> None:
    stream = io.StringIO()
    with step("reading", stream=stream, patience_seconds=0) as progress:
        progress.update(1, 2)
        time.sleep(0.05)
    assert stream.getvalue() == ""
