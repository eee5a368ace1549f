"""What a cgroup's path says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.sources.cgroup_names import CgroupName, normalise, parse

ID = "0123456789abcdef" * 4
UID = "1234abcd-12ab-34cd-56ef-0123456789ab"
TASK = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"


@pytest.mark.parametrize(
    ("path", "unit", "container", "pod", "runtime", "folded"),
    [
        (f"/docker/{ID}", "", ID, "", "docker", "/docker/*"),
        (
            f"/system.slice/docker-{ID}.scope",
            f"docker-{ID}.scope",
            ID,
            "",
            "docker",
            "/system.slice/docker-*.scope",
        ),
        (
            "/kubepods.slice/kubepods-burstable.slice/"
            f"kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{ID}.scope",
            f"cri-containerd-{ID}.scope",
            ID,
            UID,
            "containerd",
            "/kubepods.slice/kubepods-burstable.slice/"
            "kubepods-burstable-pod*.slice/cri-containerd-*.scope",
        ),
        (
            f"/kubepods/besteffort/pod{UID}/{ID}",
            "",
            ID,
            UID,
            "",
            "/kubepods/besteffort/pod*/*",
        ),
        (f"/kubepods/pod{UID.replace('-', '')}/{ID}", "", ID, UID, "", "/kubepods/pod*/*"),
        (
            f"/machine.slice/libpod-{ID}.scope",
            f"libpod-{ID}.scope",
            ID,
            "",
            "podman",
            "/machine.slice/libpod-*.scope",
        ),
        (
            f"/kubepods.slice/crio-{ID}.scope",
            f"crio-{ID}.scope",
            ID,
            "",
            "cri-o",
            "/kubepods.slice/crio-*.scope",
        ),
        (f"/ecs/{TASK}/{ID}", "", ID, "", "ecs", "/ecs/*/*"),
        (f"/ecs/{TASK}/{TASK}-12345", "", f"{TASK}-12345", "", "ecs", "/ecs/*/*-*"),
        (f"/system.slice:containerd:{ID}", "", ID, "", "containerd", "/system.slice:containerd:*"),
        ("/system.slice/ecs.service", "ecs.service", "", "", "", "/system.slice/ecs.service"),
        (
            "/user.slice/user-1000.slice/session-4.scope",
            "session-4.scope",
            "",
            "",
            "",
            "/user.slice/user-*.slice/session-*.scope",
        ),
        ("/system.slice/run-u12.scope", "run-u12.scope", "", "", "", "/system.slice/run-u*.scope"),
        (
            "/machine.slice/machine-web.scope",
            "machine-web.scope",
            "web",
            "",
            "systemd-nspawn",
            "/machine.slice/machine-web.scope",
        ),
        ("/k8s.io/a7", "", "", "", "", "/k8s.io/a*"),
        ("/", "", "", "", "", "/"),
        ("", "", "", "", "", ""),
    ],
)
def test_units_containers_and_pods_are_recognised(
    path: str, unit: str, container: str, pod: str, runtime: str, folded: str
) -> None:
    assert parse(path) == CgroupName(path, unit, container, pod, runtime)
    assert normalise(path) == folded


@given(st.text("0123456789abcdef", min_size=64, max_size=64))
def test_every_instance_of_one_thing_folds_to_the_same_name(identity: str) -> None:
    names = {normalise(f"/docker/{one}") for one in (identity, ID)}
    # An id of letters alone looks like a word; one in 10^27 is.
    assert names == {"/docker/*"} or identity.isalpha()


@given(st.text(max_size=200))
def test_any_text_is_a_path(path: str) -> None:
    assert parse(path).path == path
    assert normalise(normalise(path)) == normalise(path)
