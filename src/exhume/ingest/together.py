"""Parts of one input, read at the same time: by forked children, which have everything loaded."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.processes import fork
from exhume.store.allocator import give_back

MOST_AT_ONCE = 4
"""Of processes that share one input: each has memory of its own."""

Result = TypeVar("Result")


def together(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """The last by this process, the others by one each, or by this one where there can't be more.

    Results in no certain order. What one of them raises is raised here, and the others are stopped.
    """
    helpers: list[_Helper[Result]] = []
    here = [*works[-1:]]
    if len(works) > 1:
        give_back()  # what is free need not be copied when either writes to it
    try:
        for work in works[:-1]:
            try:
                helpers.append(_Helper.start(work))
            except OSError:
                here.append(work)
        found = [work() for work in here]
        while helpers:
            found.append(helpers.pop().result())
        return found
    finally:
        for helper in helpers:
            helper.stop()


class _Helper(Struct, Generic[Result], frozen=True):
    pid: int
    pipe: int

    @staticmethod
    def start(work: Callable[[], Result]) -> _Helper[Result]:
        child = fork(partial(_tried, work))
        return _Helper(child.pid, child.pipe)

    def result(self) -> Result:
        chunks: list[bytes] = []
        try:
            while chunk := os.read(self.pipe, 1 << 20):
                chunks.append(chunk)
        except BaseException:
            self.stop()
            raise
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            raise ExhumeError(
                "a process that read a part of it was killed (out of memory?)",
                todo="with --jobs 1 it takes less memory",
            )
        if status:
            raise RuntimeError(b"".join(chunks).decode("utf-8", "replace"))
        found: tuple[Result, None] | tuple[None, Exception] = pickle.loads(b"".join(chunks))
        result, error = found
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # there is one where there is no error

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def _tried(work: Callable[[], object]) -> bytes:
    """What it gives, or what is wrong with the input."""
    try:
        return pickle.dumps((work(), None), pickle.HIGHEST_PROTOCOL)
    except (ExhumeError, OSError, MemoryError) as error:
        return pickle.dumps((None, error))
