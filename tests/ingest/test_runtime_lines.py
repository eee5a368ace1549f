from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest.runtime_lines import RuntimeLines
from exhume.model.event import Event

POD, ONE, TWO = "9b" * 32, "5c" * 32, "7d" * 32
SANDBOX = (
    "RunPodSandbox for &PodSandboxMetadata{Name:agent-x7k2p,Uid:8f0d,Namespace:kube-system,"
    f'Attempt:0,}} returns sandbox id "{POD}"'
)
CREATED = (
    f'CreateContainer within sandbox "{POD}" for &ContainerMetadata{{Name:agent,Attempt:7,}} '
    f'returns container id "{ONE}"'
)
STARTED = f'StartContainer for "{ONE}" returns successfully'
ENDED = (
    f'TaskExit event container_id:"{ONE}" id:"{ONE}" pid:4020 exit_status:2 '
    "exited_at:{seconds:1742293282 nanos:547387052}"
)
# containerd 1.2, where it could not clean up at once.
ENDED_ONCE = (
    f"failed to handle container TaskExit event &TaskExit{{ContainerID:{ONE},ID:{ONE},Pid:211974,"
    "ExitStatus:0,ExitedAt:2023-09-06 07:44:42.439304235 +0000 UTC,XXX_unrecognized:[],}"
)


def quoted(message: str) -> str:
    escaped = message.replace('"', '\\"')
    return f'time="2025-03-18T10:21:52.551980894Z" level=info msg="{escaped}"'


def read(*messages: str) -> list[Event]:
    lines = RuntimeLines()
    found = [lines.event(quoted(message), at) for at, message in enumerate(messages)]
    return [event for event in found if event is not None]


def test_a_container_of_a_pod_starts_and_ends_under_its_name() -> None:
    started, ended = read(SANDBOX, CREATED, STARTED.replace(" returns successfully", ""), STARTED,
                          ENDED)  # fmt: skip
    assert (started.kind, ended.kind) == ("container-start", "container-exit")
    assert started.subject == ended.subject == "kube-system/agent-x7k2p/agent"
    assert started.fields["restarts_total"] == 7
    assert (ended.fields["exit_code"], ended.fields["id"], ended.time_ns) == (2, ONE, 4)


def test_an_end_that_is_told_until_it_was_cleaned_up_is_one() -> None:
    first, *others = read(ENDED_ONCE, ENDED_ONCE, ENDED)
    assert (first.subject, first.fields["exit_code"], others) == (ONE[:13], 0, [])


def test_neither_a_probe_nor_the_pod_itself_is_a_container_that_died() -> None:
    probe = ENDED.replace(f' id:"{ONE}"', f' id:"{TWO}"')
    assert read(CREATED, STARTED, probe, ENDED.replace(ONE, POD))[1:] == []
    assert read(f'StopPodSandbox for "{POD}"', ENDED.replace(ONE, POD)) == []
    assert read(ENDED.replace("event ", "event in podsandbox handler ")) == []


def test_a_status_that_protobuf_leaves_out_is_0() -> None:
    (ended,) = read(ENDED.replace(" exit_status:2", ""))
    assert ended.fields["exit_code"] == 0


def test_an_end_is_told_as_newer_ones_of_containerd_do() -> None:
    newer = ENDED.replace(" id:", "  id:").replace(" pid", "  pid").replace(" exit_", "  exit_")
    for words in ("received exit event ", "received container exit event "):
        _, ended = read(CREATED, STARTED, newer.replace("TaskExit event ", words))
        assert (ended.kind, ended.fields["exit_code"]) == ("container-exit", 2)
    assert read(newer.replace("TaskExit event", "received sandbox exit event")) == []


def test_where_only_its_shim_is_told_to_be_gone_a_container_has_ended() -> None:
    def gone(identity: str) -> str:
        return f'time="…" level=info msg="shim disconnected" id={identity} namespace=k8s.io'

    lines = RuntimeLines()
    for message in (SANDBOX, CREATED, STARTED):
        lines.event(quoted(message), 1)
    ended = lines.event(gone(ONE), 2)
    assert ended is not None
    assert (ended.kind, ended.subject) == ("container-exit", "kube-system/agent-x7k2p/agent")
    assert ended.fields.get("exit_code") is None
    assert [lines.event(gone(one), 3) for one in (ONE, POD, TWO)] == [None] * 3
    assert lines.event(quoted(ENDED), 4) is None


def test_cri_o_tells_of_starts() -> None:
    line = (
        f'time="2025-03-18 10:21:52.551980894Z" level=info msg="Started container" PID=4020 '
        f"containerID={ONE} description=kube-system/agent-x7k2p/agent id=3f2 name=/runtime.v1"
    )
    event = RuntimeLines().event(line, 5)
    assert event is not None
    assert (event.kind, event.subject) == ("container-start", "kube-system/agent-x7k2p/agent")


@given(st.text(), st.sampled_from((SANDBOX, CREATED, STARTED, ENDED, ENDED_ONCE)), st.integers(0))
def test_no_line_is_too_odd(noise: str, line: str, at: int) -> None:
    at %= len(line)
    lines = RuntimeLines()
    lines.event(line[:at] + noise + line[at:], 0)
