"""Cases of a recording: what `exhume why` says of its symptoms."""

from __future__ import annotations

from msgspec import Struct

from exhume.model.jsonable import from_jsonable
from exhume.model.window import Window
from exhume.web import questions
from exhume.web.asked import Asked
from exhume.web.places import CaseEntry

LIMIT = questions.counted("limit", "How many to explain, the worst first.", 5, 10)
CASES = (*questions.WINDOW, LIMIT)


class Cases(Struct, frozen=True):
    window: Window
    cases: tuple[CaseEntry, ...]
    """Of each kind of symptom one, the worst first; none where nobody was harmed, and one without a
    symptom where the files can't tell whether anybody was."""


def cases(asked: Asked) -> Cases:
    limit = questions.number(asked.query, LIMIT)
    found = asked.diagnoses.of(asked.window, limit, asked.made_of)
    return Cases(asked.window, tuple(from_jsonable(CaseEntry, one) for one in found))
