"""The commands of a case as they can be pasted: with the recording they were found in."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from msgspec.structs import replace

from exhume.model.case import Actions, Case, Risk

# Every command that a case may name reads a recording.
_COMMAND = re.compile(
    r"(?<![\w./-])exhume (?:why|cores|top|flame|events|units|zombies|irqs|series|status)(?![\w-])"
)


_ANEW = "on the node, which must record for that (exhume record); or import files of after the fix"


def on_data(command: str, data: Path | None) -> str:
    """`exhume top …` → `exhume top --data DIR …`."""
    if data is None:
        return command
    option = f" --data {shlex.quote(str(data))}"
    return _COMMAND.sub(lambda found: found[0] + option, command)


def case_on_data(case: Case, data: Path | None, *, is_over: bool = False) -> Case:
    """`is_over`: nothing more comes into it, so that what is to be done is not seen there."""
    if is_over and case.actions.verify:
        verify = (_ANEW, *case.actions.verify)
        case = replace(case, actions=replace(case.actions, verify=verify))
    if data is None:
        return case
    actions = case.actions
    for_actions = None if is_over else data
    return replace(
        case,
        evidence=tuple(replace(one, check=on_data(one.check, data)) for one in case.evidence),
        risks=risks_on_data(case.risks, data),
        meanwhile=risks_on_data(case.meanwhile, data),
        actions=Actions(
            *(
                tuple(on_data(line, for_actions) for line in lines)
                for lines in (actions.now, actions.for_good, actions.undo, actions.verify)
            )
        ),
    )


def risks_on_data(risks: tuple[Risk, ...], data: Path | None) -> tuple[Risk, ...]:
    return tuple(replace(one, check=on_data(one.check, data)) for one in risks)
