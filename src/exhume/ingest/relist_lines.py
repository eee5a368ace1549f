"""What the kubelet and dockerd log of containers they found ended or begun → ends, and starts anew.

    "Generic (PLEG): container finished" podID="8f0d…" containerID="5c2e…" exitCode=2
    "SyncLoop (PLEG): event for pod" pod="default/web-0" event={"ID":…,"Type":"ContainerDied",
      "Data":"5c2e…"}
    SyncLoop (PLEG): "web-0_default(8f0d…)", event: &pleg.PodLifecycleEvent{…}      up to 1.19
    msg="received task-delete event from containerd" container=5c2e… … topic=/tasks/delete …

The kubelet lists containers each second, or when it gets to it, and names the pod, not the
container; what holds the pod's namespaces is one too. dockerd names nobody. Both know less than the
runtime's own record, and give way to it (`same_events`).
"""

from __future__ import annotations

import re

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive.looks import GONE
from exhume.ingest.bounded import keep
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.sources.containers import event_of

KUBELET, DOCKERD = "kubelet", "dockerd"
SEEN_BY = frozenset({KUBELET, DOCKERD})
_ID = r"[0-9a-f]{64}"
_QUOTE = r'(?:\\{0,3}")'
_WORD = r'[^"\\\s]{1,253}'
_PLEG = re.compile(
    rf"SyncLoop \(PLEG\): (?:event for pod{_QUOTE} pod={_QUOTE}(?P<pod>{_WORD}/{_WORD}){_QUOTE}"
    rf"|{_QUOTE}(?P<name>[^_\"\\\s]{{1,253}})_(?P<namespace>[^(\"\\\s]{{1,253}})\([^)]{{0,64}}\)"
    rf"{_QUOTE}),? event[=:] ?(?:&[\w.]{{0,32}})?\{{.{{0,100}}?Type{_QUOTE}?:{_QUOTE}?"
    rf"Container(?P<what>Started|Died){_QUOTE}?,? ?{_QUOTE}?Data{_QUOTE}?:{_QUOTE}?(?P<id>{_ID})"
)
_FINISHED = re.compile(
    rf"Generic \(PLEG\): container finished{_QUOTE}.{{0,100}}? containerID={_QUOTE}(?P<id>{_ID})"
    rf"{_QUOTE} exitCode=(?P<code>\d{{1,9}})"
)
# Until 27 it ignores the event; on a terminal it writes no quotes. Up to 19.03 it has no id.
_DELETED = re.compile(
    rf"(?:ignoring|received task-delete) event(?: from containerd)?{_QUOTE}? {{1,80}}"
    rf"container=(?P<id>{_ID}) .{{0,200}}?topic=/tasks/delete"
)
_LEAST_NS = 100_000_000
"""Docker waits before it starts one anew; then twice as long each time (moby's restartmanager)."""
_MOST_NS = 600 * 1_000_000_000
LITERALS = ("(PLEG): ", "topic=/tasks/delete")


class RelistLines(Struct):
    """Line after line of a node."""

    _codes: dict[str, int] = field(default_factory=dict)
    """How each ended of which the kubelet has not said yet that it did."""
    _over: dict[str, None] = field(default_factory=dict)
    """Pods of which one ended, and none has begun since."""
    _ended_ns: dict[str, int] = field(default_factory=dict)
    """When each of Docker's ended last."""

    def events(self, text: str, time_ns: int) -> tuple[Event, ...]:
        if (found := _PLEG.search(text)) is not None:
            return self._of_pod(found, time_ns)
        if (found := _FINISHED.search(text)) is not None:
            keep(self._codes, found["id"], int(found["code"]))
        elif (found := _DELETED.search(text)) is not None:
            return self._of_docker(found["id"], time_ns)
        return ()

    def _of_pod(self, found: re.Match[str], time_ns: int) -> tuple[Event, ...]:
        pod, identity = found["pod"] or f"{found['namespace']}/{found['name']}", found["id"]
        namespace, _, name = pod.partition("/")
        one = _container(identity, "", "containerd")
        one = replace(one, pod_namespace=namespace, pod_name=name)
        if found["what"] == "Died":
            keep(self._over, pod, None)
            code = self._codes.pop(identity, None)
            return (_told("container-exit", replace(one, state="exited", exit_code=code), time_ns,
                          KUBELET),)  # fmt: skip
        if pod not in self._over:
            return ()  # a pod of many containers begins with as many starts, once
        del self._over[pod]
        return (_told("container-start", one, time_ns, KUBELET),)

    def _of_docker(self, identity: str, time_ns: int) -> tuple[Event, ...]:
        one = _container(identity, identity[:12], "docker")
        over = _told("container-exit", replace(one, state="exited"), time_ns, DOCKERD, GONE)
        before_ns = self._ended_ns.get(identity)
        keep(self._ended_ns, identity, time_ns)
        # What ended before, under the same id, was started in between: as a rule by Docker itself,
        # which waits up to a minute.
        if before_ns is None or not _LEAST_NS < time_ns - before_ns < _MOST_NS:
            return (over,)
        return _told("container-start", one, before_ns + _LEAST_NS, DOCKERD), over


def _told(kind: str, one: Container, time_ns: int, by: str, text: str = "") -> Event:
    event = event_of(kind, one, time_ns, text)
    return replace(event, fields={**event.fields, "told_by": by})


def _container(identity: str, name: str, runtime: str) -> Container:
    return Container(
        id=identity, name=name, image="", runtime=runtime, state="running", created_wall_ns=0
    )
