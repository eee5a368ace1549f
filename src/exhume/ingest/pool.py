"""Processes that work through tasks. One that dies costs the task it was on, not the others."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.ingest import work
from exhume.ingest.together import MOST_AT_ONCE, together

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.context import BaseContext

_TICK_SECONDS = 0.2

Task = TypeVar("Task")
Result = TypeVar("Result")


class Failed(Struct, frozen=True):
    why: str


class Pool:
    """As a context manager. With one job, or one input to read, there are no others.

    What starts them is loaded only where there are any: it takes as long as 50,000 samples. Several
    tasks that follow from one input are done by forks of this process.
    """

    def __init__(self, jobs: int, tasks: int) -> None:
        self._jobs = max(1, min(jobs, tasks))
        self.forks = max(1, min(jobs, MOST_AT_ONCE)) if self._jobs == 1 else 1
        """Processes that one task may be shared out to."""
        self._executor: ProcessPoolExecutor | None = None
        self._careful = False
        self._read_bytes = 0
        if self._jobs > 1:
            import multiprocessing

            # They have everything loaded, and are there before any thread is.
            self._context: BaseContext = multiprocessing.get_context("fork")
            self._done = self._context.Value("q", 0)
            self._stop = self._context.Event()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._stop.set()
            self._executor.shutdown(wait=True, cancel_futures=True)

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Callable[[int], None],
        forks: int | None = None,
    ) -> Iterator[tuple[Task, Result | Failed]]:
        """Results as they come. `tell` is called with the bytes read so far, now and then.

        `forks`: where there is no memory for as many as there may be.
        """
        if self._jobs == 1:

            def note(count: int) -> None:
                self._read_bytes += count
                tell(self._read_bytes)

            step = forks or self.forks
            for begin in range(0, len(tasks), step):
                some = tasks[begin : begin + step]
                with work.noting(note):
                    found = _all_tried(function, some)
                yield from found
            return
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        queue = deque((task, 1) for task in tasks)
        running: dict[Future[Result], tuple[Task, int]] = {}
        while queue or running:
            while queue and len(running) < (1 if self._careful else self._jobs):
                task, attempt = queue.popleft()
                running[self._started().submit(function, task)] = task, attempt
            done, _ = wait(running, _TICK_SECONDS, FIRST_COMPLETED)
            tell(self._done.value)
            for future in done:
                task, attempt = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    # Which of those running died is not told: from now on one at a time.
                    self._careful, self._executor = True, None
                    if attempt < 2:
                        queue.append((task, attempt + 1))
                        continue
                    yield task, Failed("the process that read it was killed (out of memory?)")
                    continue
                yield task, _tried(future.result)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            from concurrent.futures import ProcessPoolExecutor

            self._executor = ProcessPoolExecutor(
                1 if self._careful else self._jobs,
                self._context,
                work.start_worker,
                (os.getpid(), self._done, self._stop),
            )
        return self._executor


def _all_tried(
    function: Callable[[Task], Result], tasks: Sequence[Task]
) -> list[tuple[Task, Result | Failed]]:
    def one(number: int) -> tuple[int, Result | Failed]:
        return number, _tried(partial(function, tasks[number]))

    found = _tried(lambda: together([partial(one, number) for number in range(len(tasks))]))
    if isinstance(found, Failed):  # whose process was killed is all the same: none is whole
        return [(task, found) for task in tasks]
    return [(tasks[number], result) for number, result in sorted(found, key=itemgetter(0))]


def _tried(function: Callable[[], Result]) -> Result | Failed:
    """What is wrong with one input is told, and the others go on."""
    try:
        return function()
    except ExhumeError as error:
        return Failed(str(error))
    except OSError as error:
        return Failed(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
    except MemoryError:
        return Failed("there is not enough memory for it")
    except work.StoppedError:
        raise KeyboardInterrupt from None
    except Exception as error:
        return Failed(f"internal error: {type(error).__name__}: {error}; please report it")
