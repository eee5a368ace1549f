"""The two error classes. `cli.main` catches them once: a message and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

EXIT_USAGE = 64
EXIT_DATA = 65
EXIT_INTERNAL = 70
EXIT_IO = 74
EXIT_PERMISSION = 77
EXIT_INTERRUPTED = 130


class ExhumeError(Exception):
    """Something went wrong that the user can act on: what happened, and what to do now."""

    def __init__(self, what: str, *, todo: str = "", exit_code: int = EXIT_DATA) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.what}\n  {self.todo}" if self.todo else self.what


class ParseError(ExhumeError):
    """A file is there, but not what it should be. Absence is `None`, never this."""

    def __init__(self, path: str, where: int | str, expected: str, *, todo: str = "") -> None:
        place = f"line {where}" if isinstance(where, int) else where
        super().__init__(f"{path}, {place}: expected {expected}", todo=todo)
        self.path = path
        self.where = where
        self.expected = expected

    def __reduce__(self) -> tuple[Callable[..., ParseError], tuple[object, ...]]:
        """It may come from another process: pickle would make it anew of its message alone."""
        return partial(type(self), todo=self.todo), (self.path, self.where, self.expected)
