"""A sign of life on anything over a second; silent when it is quicker or nobody watches."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from exhume.cli.safe import printable

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 1.0


class Step:
    """What the work calls to say how far it is. Without a total there is only a spinner."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.done = 0.0
        self.total: float | None = None
        self._shown: Progress | None = None

    def update(self, done: float, total: float | None = None) -> None:
        self.done, self.total = done, total if total is not None else self.total
        shown = self._shown
        if shown is not None:
            shown.update(shown.task_ids[0], completed=self.done, total=self.total)

    def _show(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            console=Console(file=stream, highlight=False),
            transient=True,
        )
        progress.add_task(printable(self.label), total=self.total, completed=0)
        progress.update(progress.task_ids[0], completed=self.done)
        progress.start()
        self._shown = progress

    def _hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


@contextmanager
def step(
    label: str, *, stream: TextIO | None = None, patience_seconds: float = PATIENCE_SECONDS
) -> Iterator[Step]:
    """`with step("reading 12 h") as progress: … progress.update(3, 72)`."""
    stream = sys.stderr if stream is None else stream
    work = Step(label)
    if not stream.isatty():
        yield work
        return
    over = threading.Event()

    def watch() -> None:
        if not over.wait(patience_seconds):
            work._show(stream)

    watcher = threading.Thread(target=watch, daemon=True, name="progress")
    watcher.start()
    try:
        yield work
    finally:
        over.set()
        watcher.join()
        work._hide()
