"""What an answer is made from: the recording, and what was asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from starlette.datastructures import QueryParams

from exhume.model.answers import Filter
from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.web import questions
from exhume.web.diagnosis import Diagnoses


class Asked(Struct, frozen=True):
    recording: Recording
    whole: Window
    """From the first instant recorded to the last; to ask for it takes a look at every segment."""
    data: Path
    query: QueryParams
    path: Mapping[str, str]
    """The parts of the path that vary."""
    now_ns: int
    diagnoses: Diagnoses
    made_of: str = ""
    """Changes when the closed part of the recording in the window does; empty where it grows."""

    @property
    def window(self) -> Window:
        return questions.window(self.query, self.whole)

    @property
    def filter(self) -> Filter:
        return questions.sample_filter(self.query)
