"""A unit and the container that it runs: told by their names where looks miss the unit's starts."""

from __future__ import annotations

import re

from exhume.model.lifecycles import Lifecycle

_PARTS = re.compile(r"[-_.@]")


def is_run_by(container: Lifecycle, unit: Lifecycle) -> bool:
    """Looks see another container each time, but of the unit a state, and so few of its starts.

    `ecs.service` runs `ecs-agent`; `node-exporter` has nothing to do with `node-problem-detector`.
    """
    if (unit.kind, container.kind) != ("unit", "container") or unit.starts > container.starts:
        return False
    own = _PARTS.split(unit.name.removesuffix(".service"))
    its = _PARTS.split(container.name.rpartition("/")[2])
    shorter, longer = sorted((own, its), key=len)
    return longer[: len(shorter)] == shorter
