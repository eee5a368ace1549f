"""A case as a file to send: the reports that `exhume why` writes."""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import Struct

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export.report_html import html
from exhume.export.report_markdown import markdown
from exhume.inquiry.report import report_of
from exhume.model.case import Case
from exhume.model.jsonable import from_jsonable, jsonable
from exhume.store.recording import Recording
from exhume.web import cases, questions
from exhume.web.asked import Asked
from exhume.web.places import CaseEntry

_CASE = questions.Parameter("case", "Its id in /api/cases.", {"type": "string"}, required=True)
REPORT = (*cases.CASES, _CASE)


class ReportFormat(Struct, frozen=True):
    suffix: str
    media_type: str
    write: Callable[[Recording, Case], str]


def _json(_: Recording, case: Case) -> str:
    return json.dumps(jsonable(case), allow_nan=False, indent=1) + "\n"


REPORTS: dict[str, ReportFormat] = {
    "html": ReportFormat(".html", "text/html; charset=utf-8", lambda r, c: html(report_of(r, c))),
    "markdown": ReportFormat(".md", "text/markdown; charset=utf-8", lambda _, c: markdown(c)),
    "json": ReportFormat(".json", "application/json", _json),
}


def format_of(asked: Asked) -> ReportFormat:
    name = asked.path["format"]
    if name not in REPORTS:
        raise ExhumeError(
            f"there is no report in the format {name[:40]!r}",
            todo=f"known are: {', '.join(REPORTS)}",
            exit_code=EXIT_USAGE,
        )
    return REPORTS[name]


def case_of(asked: Asked) -> Case:
    """The one that was listed; where nobody has asked for the list yet, it is made now."""
    wanted = asked.query.get(_CASE.name, "")
    limit = questions.number(asked.query, cases.LIMIT)
    found = asked.diagnoses.listed(asked.window, wanted)
    for one in (found,) if found else asked.diagnoses.of(asked.window, limit, asked.made_of):
        entry = from_jsonable(CaseEntry, one)
        if entry.id == wanted:
            return entry.case
    raise ExhumeError(
        f"the parameter case: there is no case {wanted[:80]!r} in this window",
        todo="/api/cases with the same start, end and limit lists them",
        exit_code=EXIT_USAGE,
    )
