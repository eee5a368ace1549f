"""Parts of one input, read at the same time: by forked children, which have everything loaded."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from exhume.errors import ExhumeError
from exhume.ingest.room import NoRoomError
from exhume.processes import Child, fork
from exhume.store.allocator import give_back

Result = TypeVar("Result")


def together(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """The last by this process, the others by one each, or by this one where there can't be more.

    Results in no certain order. What one of them raises is raised here, and the others are stopped.
    """
    children: list[Child] = []
    here = [*works[-1:]]
    if len(works) > 1:
        give_back()  # what is free need not be copied when either writes to it
    try:
        for work in works[:-1]:
            try:
                children.append(fork(partial(_tried, work)))
            except OSError:
                here.append(work)
        found = [work() for work in here]
        while children:
            result, error = _result(children.pop())
            if error is not None:
                raise error
            found.append(result)
        return found
    finally:
        for child in children:
            child.stop()


def _result(child: Child) -> tuple[Any, Exception | None]:
    """What `_tried` made of it."""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(child.pipe, 1 << 20):
            chunks.append(chunk)
    except BaseException:
        child.stop()
        raise
    os.close(child.pipe)
    _, status = os.waitpid(child.pid, 0)
    if os.WIFSIGNALED(status):
        raise ExhumeError(
            "a process that read a part of it was killed (out of memory?)",
            todo="with --jobs 1 it takes less memory",
        )
    if status:
        raise RuntimeError(b"".join(chunks).decode("utf-8", "replace"))
    found: tuple[Any, Exception | None] = pickle.loads(b"".join(chunks))
    return found


def _tried(work: Callable[[], object]) -> bytes:
    """What it gives, or what is wrong with the input."""
    try:
        return pickle.dumps((work(), None), pickle.HIGHEST_PROTOCOL)
    except (ExhumeError, OSError, MemoryError, NoRoomError) as error:
        return pickle.dumps((None, error))
