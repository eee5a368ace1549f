"""Lines of the kubelet that it waits before it starts a container again → who fails all the time.

It says so at each look, every few seconds: how often it did start the container, they don't tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from exhume.model.answers import EventAnswer

SIGNATURE = "kubelet.backoff"
_LEAST_LINES = 3
# agent-x7k2p_kube-system(8f0d…): names of pods and namespaces have no underscore
_POD = re.compile(r"(?P<pod>[^_]+)_(?P<namespace>[^(]+)\(")


class Backoff(Struct):
    """Of one container, over a window."""

    lines: int = 0
    wait: str = ""
    """The last one, as the kubelet says it: `10s`, twice as long after each end, up to `5m0s`."""

    @property
    def is_loop(self) -> bool:
        """More than an end or two: it waits minutes after the fourth."""
        return self.lines >= _LEAST_LINES or "m" in self.wait

    @property
    def words(self) -> str:
        return f"CrashLoopBackOff, {self.wait}" if self.wait else "CrashLoopBackOff"


def backoffs(events: Iterable[EventAnswer]) -> dict[str, Backoff]:
    """By the name that containers of pods have: namespace, pod and container."""
    found: dict[str, Backoff] = {}
    for event in sorted(events, key=lambda event: event.wall_ns):
        if event.fields.get("signature") == SIGNATURE:
            one = found.setdefault(_label(event.fields), Backoff())
            one.lines += event.count
            one.wait = str(event.fields.get("wait", one.wait))
    return {label: one for label, one in found.items() if one.is_loop}


def _label(fields: Mapping[str, object]) -> str:
    pod, container = str(fields.get("pod", "")), str(fields.get("container", ""))
    parts = _POD.match(pod)
    return f"{parts['namespace']}/{parts['pod']}/{container}" if parts else f"{pod}/{container}"
