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


def on_data(command: str, data: Path | None) -> str:
    """`exhume top …` → `exhume top --data DIR …`."""
    if data is None:
        return command
    option = f" --data {shlex.quote(str(data))}"
    return _COMMAND.sub(lambda found: found[0] + option, command)


def case_on_data(case: Case, data: Path | None) -> Case:
    if data is None:
        return case
    actions = case.actions
    return replace(
        case,
        evidence=tuple(replace(one, check=on_data(one.check, data)) for one in case.evidence),
        risks=risks_on_data(case.risks, data),
        meanwhile=risks_on_data(case.meanwhile, data),
        actions=Actions(
            *(
                tuple(on_data(line, data) for line in lines)
                for lines in (actions.now, actions.for_good, actions.undo, actions.verify)
            )
        ),
    )


def risks_on_data(risks: tuple[Risk, ...], data: Path | None) -> tuple[Risk, ...]:
    return tuple(replace(one, check=on_data(one.check, data)) for one in risks)
