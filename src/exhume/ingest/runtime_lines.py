"""What containerd and CRI-O log of the pods' containers → their starts and ends, each at its time.

    … msg="CreateContainer within sandbox \\"9b1f…\\" for &ContainerMetadata{Name:agent,Attempt:7,}
      returns container id \\"5c2e…\\""
    … msg="StartContainer for \\"5c2e…\\" returns successfully"
    … msg="TaskExit event container_id:\\"5c2e…\\" id:\\"5c2e…\\" pid:97304 exit_status:255 …"
    … msg="received container exit event container_id:\\"5c2e…\\"  id:\\"5c2e…\\"  …"   2.0 on
    … msg="shim disconnected" id=5c2e… namespace=k8s.io             all that some 1.x say of an end

Of Docker's containers containerd knows no name. What the kubelet and dockerd log is in
`relist_lines`.
"""

from __future__ import annotations

import re

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.ingest import relist_lines
from exhume.ingest.bounded import keep
from exhume.ingest.relist_lines import RelistLines
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.sources.containers import noted_events
from exhume.sources.docker_events import Happened

_ID = r"[0-9a-f]{64}"
_QUOTE = r'\\{0,3}"'
"""Lines in JSON, or in another line, have them escaped once or twice."""
_SANDBOX = re.compile(
    rf"RunPodSandbox for &PodSandboxMetadata\{{Name:(?P<pod>[^,}}]{{1,253}}),Uid:[^,}}]{{0,64}},"
    rf"Namespace:(?P<namespace>[^,}}]{{1,253}}),[^}}]{{0,64}}\}} returns sandbox id "
    rf"{_QUOTE}(?P<id>{_ID})"
)
_STOPPED = re.compile(rf"(?:Stop|Remove)PodSandbox for {_QUOTE}(?P<id>{_ID})")
_CREATED = re.compile(
    rf"CreateContainer within sandbox {_QUOTE}(?P<sandbox>{_ID}){_QUOTE} for "
    rf"&ContainerMetadata\{{Name:(?P<name>[^,}}]{{1,253}}),Attempt:(?P<attempt>\d{{1,9}}),?\}} "
    rf"returns container id {_QUOTE}(?P<id>{_ID})"
)
_STARTED = re.compile(rf"StartContainer for {_QUOTE}(?P<id>{_ID}){_QUOTE} returns successfully")
# Until 1.6 as Go prints it, since then as protobuf does, which leaves out a status of 0. What was
# started in it by `exec`, as probes are, ends by itself, and has an id of its own.
_ENDED = re.compile(
    rf"(?:TaskExit event (?P<handler>in podsandbox handler )?|received (?:container )?exit event )"
    rf"(?:&TaskExit\{{ContainerID:|container_id:{_QUOTE})(?P<id>{_ID})"
    rf"(?:,ID:|{_QUOTE} {{1,2}}id:{_QUOTE})(?P=id)(?:,|{_QUOTE} ?)(?P<rest>.{{0,200}})"
)
_SHIM_GONE = re.compile(rf"shim disconnected{_QUOTE}? {{1,80}}id={_QUOTE}?(?P<id>{_ID})")
_STATUS = re.compile(r"(?:ExitStatus:|exit_status:)(\d{1,9})")
# CRI-O, which says nothing of an end.
_CRIO = re.compile(
    rf"Started container{_QUOTE}? (?:PID=\d{{1,9}} )?containerID=(?P<id>{_ID}) "
    rf"description=(?P<namespace>[^/\s]{{1,253}})/(?P<pod>[^/\s]{{1,253}})/(?P<name>[^/\s]{{1,253}})"
    r"(?: |$)"
)
_LITERALS = (
    *("PodSandbox for ", "CreateContainer within ", "StartContainer for ", "TaskExit event "),
    *("received exit event ", "received container exit event ", "shim disconnected"),
    "Started container",
)


class RuntimeLines(Struct):
    """Line after line of a node."""

    _pods: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By sandbox, its namespace and name."""
    _known: dict[str, Container] = field(default_factory=dict)
    _ended: dict[str, None] = field(default_factory=dict)
    _relists: RelistLines = field(default_factory=RelistLines)

    def events(self, text: str, time_ns: int) -> tuple[Event, ...]:
        """The starts and ends that a line tells of."""
        if any(literal in text for literal in relist_lines.LITERALS):
            found = self._relists.events(text, time_ns)
            return tuple(one for one in found if not self._has_told(str(one.fields["id"])))
        one = self.event(text, time_ns)
        return () if one is None else (one,)

    def _has_told(self, identity: str) -> bool:
        return identity in self._known or identity in self._pods or identity in self._ended

    def event(self, text: str, time_ns: int) -> Event | None:
        """What the runtime itself tells."""
        if not any(literal in text for literal in _LITERALS):
            return None
        if (found := _STARTED.search(text)) is not None:
            return self._told(found["id"], "running", time_ns)
        if (found := _ENDED.search(text)) is not None:
            return self._end(found, time_ns)
        if (found := _SHIM_GONE.search(text)) is not None:
            return self._shim_gone(found["id"], time_ns)
        if (found := _CRIO.search(text)) is not None:
            pod = found["namespace"], found["pod"]
            self._keep(found["id"], pod, found["name"], None, "cri-o")
            return self._told(found["id"], "running", time_ns)
        if (found := _CREATED.search(text)) is not None:
            pod = self._pods.get(found["sandbox"], ("", ""))
            self._sandbox(found["sandbox"], pod)
            self._keep(found["id"], pod, found["name"], int(found["attempt"]), "containerd")
        elif (found := _SANDBOX.search(text)) is not None:
            self._sandbox(found["id"], (found["namespace"], found["pod"]))
        elif (found := _STOPPED.search(text)) is not None:
            self._sandbox(found["id"], self._pods.get(found["id"], ("", "")))
        return None

    def _end(self, found: re.Match[str], time_ns: int) -> Event | None:
        identity = found["id"]
        # It is told again until it has been cleaned up. A pod's own one holds its namespaces only.
        if found["handler"] or identity in self._pods or identity in self._ended:
            return None
        keep(self._ended, identity, None)
        status = _STATUS.search(found["rest"])
        return self._told(identity, "exited", time_ns, int(status[1]) if status else 0)

    def _shim_gone(self, identity: str, time_ns: int) -> Event | None:
        # Pods' own ones have shims, too, and so have Docker's, whose ends dockerd tells.
        if identity not in self._known or identity in self._ended:
            return None
        keep(self._ended, identity, None)
        return self._told(identity, "exited", time_ns)

    def _sandbox(self, identity: str, pod: tuple[str, str]) -> None:
        keep(self._pods, identity, pod)

    def _keep(
        self, identity: str, pod: tuple[str, str], name: str, attempt: int | None, runtime: str
    ) -> None:
        keep(self._known, identity, _container(identity, pod, name, attempt, runtime))

    def _told(
        self, identity: str, state: str, time_ns: int, exit_code: int | None = None
    ) -> Event | None:
        made_before = _container(identity, ("", ""), identity[:13], None, "containerd")
        one = self._known.get(identity, made_before)
        one = replace(one, state=state, exit_code=exit_code)
        (event,) = noted_events((Happened(time_ns, one),), 0)
        return event


def _container(
    identity: str, pod: tuple[str, str], name: str, attempt: int | None, runtime: str
) -> Container:
    return Container(
        id=identity,
        name=name,
        image="",
        runtime=runtime,
        state="created",
        created_wall_ns=0,
        restarts_total=attempt,
        pod_namespace=pod[0],
        pod_name=pod[1],
    )
