"""Cases are made in a process of their own: seconds of work must not delay a map or a flame graph.

    python -m exhume.web.diagnosis DATA START_NS END_NS LIMIT SERVER_PID [NICENESS]

prints them as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path

from exhume.config import default_data_dir
from exhume.errors import ExhumeError
from exhume.inquiry.asked import Question
from exhume.inquiry.runnable import case_on_data, on_data
from exhume.inquiry.why import why
from exhume.model.case import Case
from exhume.model.jsonable import Json, jsonable
from exhume.model.window import Window
from exhume.processes import die_with
from exhume.store.ended import is_imported
from exhume.store.heads import read_heads
from exhume.store.recording import Recording
from exhume.web.places import CaseEntry, place_of

_SECONDS = 120.0
_KEPT = 4


class Diagnoses:
    """One at a time, and the last few are kept: those are told while another is made."""

    def __init__(self, data: Path) -> None:
        self._data = data.absolute()
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, Window, int], list[Json]] = OrderedDict()

    def of(self, window: Window, limit: int, made_of: str) -> list[Json]:
        """`made_of` changes when the recording does."""
        key = made_of, window, limit
        if (found := self._kept(key)) is not None:
            return found
        with self._making:
            # Somebody else may have waited for the same.
            found = self._kept(key)
            if found is None:
                found = self._make(window, limit)
                with self._lock:
                    self._known[key] = found
                    while len(self._known) > _KEPT:
                        self._known.popitem(last=False)
            return found

    def _kept(self, key: tuple[str, Window, int]) -> list[Json] | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def listed(self, window: Window, case: str) -> Json:
        """A case that somebody was told of already, whatever was recorded since; else None."""
        with self._lock:
            known = [made for (_, of, _), made in reversed(self._known.items()) if of == window]
        entries = (one for made in known for one in made)
        return next((one for one in entries if isinstance(one, dict) and one["id"] == case), None)

    def unasked(self, window: Window, limit: int) -> list[Json]:
        """For nobody who waits: at the lowest priority, and in nobody's way."""
        return self._make(window, limit, niceness=19)

    def _make(self, window: Window, limit: int, niceness: int = 0) -> list[Json]:
        numbers = map(str, (window.start_ns, window.end_ns, limit, os.getpid(), niceness))
        command = [sys.executable, "-m", __name__, str(self._data), *numbers]
        try:
            ran = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
            found: list[Json] = json.loads(ran.stdout)
            return found
        except subprocess.TimeoutExpired:
            raise ExhumeError(
                f"the diagnosis of {window.seconds / 3600:.1f} h took longer than {_SECONDS:g} s",
                todo=f"ask for less in the terminal: {self._in_terminal()}",
            ) from None
        except (subprocess.CalledProcessError, ValueError) as error:
            said = getattr(error, "stderr", b"").decode("utf-8", "replace").strip()
            raise ExhumeError(
                f"the diagnosis failed: {said.rpartition(chr(10))[2][:300] or error}",
                todo=f"the terminal says more: {self._in_terminal()}",
            ) from None

    def _in_terminal(self) -> str:
        return on_data("exhume why --last 1h", _to_be_said(self._data))


def entries(
    recording: Recording, window: Window, limit: int, data: Path | None = None
) -> list[CaseEntry]:
    """The worst symptom explained, then each other kind; none where nobody was harmed, and one
    that says so where nobody can tell. `data`: what commands have to say for their --data."""
    first = why(recording, window, Question())
    over = is_imported(recording)
    if first.symptom is None:
        # That nobody can tell is worth a case: it says what is missing.
        untold = first.verdict.status == "unknown"
        return [_entry(first, data, is_over=over)] if untold else []
    times = (Window(one.wall_ns, one.wall_ns + 1) for one in first.symptoms[1:limit])
    others = (Question(event=at) for at in times)
    found = [_entry(first, data, is_over=over)]
    found += [_entry(why(recording, window, other), data, is_over=over) for other in others]
    return list({entry.id: entry for entry in reversed(found)}.values())[::-1]


def _entry(case: Case, data: Path | None, *, is_over: bool) -> CaseEntry:
    symptom = case.symptom
    name = f"{symptom.kind}-{symptom.wall_ns // 1_000_000_000}" if symptom else case.verdict.status
    places = tuple(place_of(one) for one in case.evidence)
    return CaseEntry(name, case_on_data(case, data, is_over=is_over), places)


def _to_be_said(data: Path) -> Path | None:
    """Who pastes a command is in another directory, and asks the default one by saying none."""
    return None if data == default_data_dir() else data


def main(
    data: str, start_ns: str, end_ns: str, limit: str, server_pid: str, niceness: str = "0"
) -> int:
    die_with(int(server_pid), signal.SIGKILL)
    os.nice(int(niceness))
    try:
        recording = Recording.open(Path(data), heads=read_heads)
        window = Window(int(start_ns), int(end_ns))
        found = entries(recording, window, int(limit), _to_be_said(Path(data)))
    except ExhumeError as error:
        print(error.what, file=sys.stderr)
        return 1
    json.dump(jsonable(found), sys.stdout, allow_nan=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
