"""Processes that work through tasks. One that dies costs the task it was on, not the others."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from errno import EDQUOT, ENOSPC
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.ingest import work
from exhume.ingest.room import FORKS, NoRoomError, Room
from exhume.ingest.together import together

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.context import BaseContext

_TICK_SECONDS = 0.2
_MAKE_ROOM = (
    " where it is imported to: make room there and call it again, it goes on where it stopped; or "
    "name another place with --into, and delete this one"
)

Task = TypeVar("Task")
Result = TypeVar("Result")


class Failed(Struct, frozen=True):
    why: str


class Pool:
    """As a context manager. With one job, or one input to read, there are no others.

    What starts them is loaded only where there are any: it takes as long as 50,000 samples. Several
    tasks that follow from one input are done by forks of this process.
    """

    def __init__(self, jobs: int, tasks: int, room: Room | None = None) -> None:
        """`room`: for as many readers as there are jobs."""
        self._jobs = max(1, min(jobs, tasks))
        self.forks = max(1, min(jobs, FORKS)) if self._jobs == 1 else 1
        """Processes that one task may be shared out to."""
        self._room = room
        self._executor: ProcessPoolExecutor | None = None
        self._careful = False
        self._read_bytes = 0
        if self._jobs > 1:
            import multiprocessing

            # They have everything loaded, and are there before any thread is.
            self._context: BaseContext = multiprocessing.get_context("fork")
            self._done = self._context.Value("q", 0)
            self._stop = self._context.Event()
            self._workers = self._context.Value("i", 0)
            """How many were started: each has a number."""
        else:
            work.use(room)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._stop.set()
            self._executor.shutdown(wait=True, cancel_futures=True)

    @property
    def at_once(self) -> int:
        """Tasks that are done at the same time."""
        return max(self._jobs, self.forks)

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Callable[[int], None],
        most: int | None = None,
    ) -> Iterator[tuple[Task, Result | Failed]]:
        """Results as they come. `tell` is called with the bytes read so far, now and then.

        `most`: where there is no memory for as many at once as there may be.
        """
        if self._jobs == 1:

            def note(count: int) -> None:
                self._read_bytes += count
                tell(self._read_bytes)

            step = most or self.forks
            for begin in range(0, len(tasks), step):
                some = tasks[begin : begin + step]
                with work.noting(note):
                    found = _all_tried(function, some)
                yield from found
            return
        if most is not None and most < self._jobs:
            self._stop_workers()  # whoever has nothing to do would hold on to what it has
        crowded: list[Task] = []
        yield from self._run(function, tasks, tell, most or self._jobs, crowded)
        if crowded:
            self._stop_workers()
            yield from self._run(function, crowded, tell, 1, [])
            self._stop_workers()

    def _run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Callable[[int], None],
        most: int,
        crowded: list[Task],
    ) -> Iterator[tuple[Task, Result | Failed]]:
        """Those for which there was no room beside the others are `crowded`: later, alone."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        queue = deque((task, 1) for task in tasks)
        running: dict[Future[Result], tuple[Task, int]] = {}
        while queue or running:
            while queue and len(running) < (1 if self._careful else most):
                task, attempt = queue.popleft()
                running[self._started(most).submit(function, task)] = task, attempt
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
                if isinstance(future.exception(), NoRoomError):
                    crowded.append(task)
                    continue
                yield task, _tried(future.result)

    def _stop_workers(self) -> None:
        """All memory that they have goes back."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None

    def _started(self, most: int) -> ProcessPoolExecutor:
        if self._executor is None:
            from concurrent.futures import ProcessPoolExecutor

            self._workers.value = 0
            if self._room is not None:
                self._room.clear()
            self._executor = ProcessPoolExecutor(
                1 if self._careful else most,
                self._context,
                work.start_worker,
                (os.getpid(), self._done, self._stop, self._room, self._workers),
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
        what = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
        return Failed(what + (_MAKE_ROOM if error.errno in (ENOSPC, EDQUOT) else ""))
    except MemoryError:
        return Failed("there is not enough memory for it")
    except work.StoppedError:
        raise KeyboardInterrupt from None
    except Exception as error:
        return Failed(f"internal error: {type(error).__name__}: {error}; please report it")
