"""To whom a cgroup belongs: its unit, container and pod, with the names that runtimes gave."""

from __future__ import annotations

from msgspec import Struct

from exhume.sources.cgroup_names import parse
from exhume.store.event_rows import decoded, event_rows
from exhume.store.view import SegmentView

_CONTAINER_KINDS = ("container-start", "container-seen", "container-exit")


class Belonging(Struct, frozen=True):
    unit: str = ""
    container: str = ""
    """The name that Docker or CRI gave it; its short id where nobody did."""
    container_id: str = ""
    pod: str = ""
    """namespace/name where CRI told it, else the pod's uid."""


NOBODY = Belonging()


class Owners:
    """Of one view: names come from its own container events, so a segment alone is enough."""

    def __init__(self, view: SegmentView) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        rows = event_rows(view, _CONTAINER_KINDS)
        for subject, text in zip(rows.subject, rows.fields, strict=True):
            fields = decoded(text)
            if "id" in fields:
                self._names[str(fields["id"])] = (subject, str(fields.get("pod", "")))

    def of(self, cgroup: str) -> Belonging:
        name = parse(cgroup)
        label, pod = self._names.get(name.container_id, (name.container_id[:12], ""))
        return Belonging(name.unit, label, name.container_id, pod or name.pod_uid)

    def is_container(self, cgroup: str, wanted: str) -> bool:
        """By its name, or by the beginning of its id."""
        found = self.of(cgroup)
        by_id = len(wanted) >= 6 and found.container_id.startswith(wanted)
        return bool(found.container) and (found.container == wanted or by_id)
