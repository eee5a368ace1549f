from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.looks import GONE
from exhume.ingest.runtime_lines import RuntimeLines
from exhume.model.event import Event

NS = 1_000_000_000
UID, ONE, TWO, BOX = "8f0d-17", "5c" * 32, "7d" * 32, "9b" * 32


def pleg(what: str, identity: str, pod: str = "default/web-0", form: str = "new") -> str:
    if form == "old":
        namespace, name = pod.split("/")
        event = f'{{ID:"{UID}", Type:"Container{what}", Data:"{identity}"}}'
        return (
            f'SyncLoop (PLEG): "{name}_{namespace}({UID})", event: &pleg.PodLifecycleEvent{event}'
        )
    event = f'{{"ID":"{UID}","Type":"Container{what}","Data":"{identity}"}}'
    if form == "1.22":
        event = f"&{{ID:{UID} Type:Container{what} Data:{identity}}}"
    return f'kubelet.go:2500] "SyncLoop (PLEG): event for pod" pod="{pod}" event={event}'


def finished(identity: str, code: int) -> str:
    return (
        f'generic.go:358] "Generic (PLEG): container finished" podID="{UID}" '
        f'containerID="{identity}" exitCode={code}'
    )


def deleted(identity: str) -> str:
    return (
        f'level=info msg="ignoring event" container={identity} module=libcontainerd '
        'namespace=moby topic=/tasks/delete type="*events.TaskDelete"'
    )


@pytest.mark.parametrize(
    "said",
    [
        'level=info msg="received task-delete event from containerd" container=',
        "INFO[2026-11-15T20:15:44.194582749+09:00] ignoring event                container=",
        'level=info msg=\\"ignoring event\\" container=',
    ],
)
def test_dockerd_has_several_words_for_an_end(said: str) -> None:
    line = f"{said}{ONE} module=libcontainerd namespace=moby topic=/tasks/delete type=x"
    assert told(read(line)) == [("exit", ONE[:12])]


def read(*lines: str, every_ns: int = NS) -> list[Event]:
    reader = RuntimeLines()
    return [event for at, line in enumerate(lines) for event in reader.events(line, at * every_ns)]


def told(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.kind.removeprefix("container-"), event.subject) for event in events]


@pytest.mark.parametrize("form", ["new", "1.22", "old"])
def test_the_kubelet_tells_of_ends_and_of_starts_that_follow_one(form: str) -> None:
    lines = [pleg("Started", ONE, form=form), finished(ONE, 2), pleg("Died", ONE, form=form)]
    found = read(*lines, pleg("Started", TWO, form=form))
    assert told(found) == [("exit", "default/web-0"), ("start", "default/web-0")]
    assert found[0].fields["exit_code"] == 2
    assert (found[0].fields["id"], found[1].fields["id"]) == (ONE, TWO)


def test_escaped_as_in_another_line_it_says_the_same() -> None:
    assert told(read(pleg("Died", ONE).replace('"', '\\"'))) == [("exit", "default/web-0")]


def test_a_pod_of_many_containers_is_not_started_again_and_again() -> None:
    many = [f"{number:064x}" for number in range(9)]
    assert read(*(pleg("Started", one) for one in many)) == []
    again = [pleg("Died", one) for one in many] + [pleg("Started", one) for one in many]
    assert [kind for kind, _ in told(read(*again))].count("start") == 1


def test_what_containerd_told_in_the_same_log_is_not_told_again() -> None:
    created = (
        f'CreateContainer within sandbox "{BOX}" for &ContainerMetadata{{Name:web,Attempt:1,}} '
        f'returns container id "{ONE}"'
    )
    assert read(created, pleg("Died", ONE), pleg("Died", BOX)) == []


def test_of_docker_an_end_under_the_same_id_tells_of_the_start_before_it() -> None:
    first, start, second = read(deleted(ONE), deleted(ONE))
    assert told([first, start, second]) == [
        ("exit", ONE[:12]), ("start", ONE[:12]), ("exit", ONE[:12])
    ]  # fmt: skip
    assert first.time_ns < start.time_ns < second.time_ns
    assert second.text == GONE, "how soon it was started nobody says: it lived at most so long"
    assert told(read(deleted(ONE), deleted(TWO))) == [("exit", ONE[:12]), ("exit", TWO[:12])]


def test_who_ends_again_after_hours_may_have_been_started_at_any_time() -> None:
    assert [kind for kind, _ in told(read(deleted(ONE), deleted(ONE), every_ns=3600 * NS))] == [
        "exit", "exit"
    ]  # fmt: skip


@given(
    st.text(), st.sampled_from((pleg("Died", ONE), finished(ONE, 1), deleted(ONE))), st.integers(0)
)
def test_no_line_is_too_odd(noise: str, line: str, at: int) -> None:
    at %= len(line)
    RuntimeLines().events(line[:at] + noise + line[at:], 0)
