"""Who was on which core, in which function, and when exactly."""

from __future__ import annotations

import time
from typing import Any

import pytest

from exhume.model.answers import Filter
from exhume.store.queries import who
from tests.kernel.conftest import CORE, Scene
from tests.kernel.node import Node, frames_in, needs_root, process_in, wait_for, window

pytestmark = [pytest.mark.kernel, needs_root]


def check_spinner(answer: Any, scene: Scene) -> None:
    row = process_in(answer, "xh_spinner")
    assert row is not None
    assert row["cores"] == [CORE]
    # It says itself what it got: others work on this machine, too.
    assert row["percent_of_one_core"] == pytest.approx(scene.spin.percent_of_one_core, abs=20)
    assert row["user_percent_of_one_core"] > 0.8 * row["percent_of_one_core"]
    frames = frames_in(answer, "xh_spinner")
    for name in ("main", "exhume_spin_here"):
        inclusive = frames[name]["inclusive_percent_of_one_core"]
        assert inclusive > 0.9 * row["percent_of_one_core"]


def test_a_spinning_process_comes_from_the_live_log_with_its_core_name_and_function(
    scene: Scene,
) -> None:
    assert scene.spin.percent_of_one_core > 50, "the machine is too busy for this test"
    check_spinner(scene.live_top, scene)
    times = {row["core"]: row for row in scene.live_top["core_times"]}
    assert times[CORE]["user_percent"] > 50


def test_it_is_there_for_exactly_its_window(node: Node, scene: Scene) -> None:
    spin = scene.spin
    for start in (spin.began - 1.05, spin.ended + 0.05):
        assert process_in(node.top(start, 1.0, "--limit", "1000"), "xh_spinner") is None
    for at, expected in ((0.15, True), (spin.seconds - 0.15, True), (spin.seconds + 0.2, False)):
        assert is_there(node, spin.began + at) == expected


def is_there(node: Node, wall_seconds: float) -> bool:
    """By most of three samples: one alone may be of a kernel thread that just came by."""
    recording = node.recording()
    moments = [
        who(recording, CORE, int((wall_seconds + more) * 1e9), within_ns=100_000_000)
        for more in (-0.03, 0.0, 0.03)
    ]
    found = [moment is not None and moment.comm == "xh_spinner" for moment in moments]
    return sum(found) > len(found) // 2


def test_at_an_instant_the_whole_stack_is_known(node: Node, scene: Scene) -> None:
    at = int((scene.spin.began + scene.spin.ended) / 2 * 1e9)
    moment = who(node.recording(), CORE, at)
    assert moment is not None
    assert moment.comm == "xh_spinner"
    assert moment.mode == "user"
    names = [frame.name for frame in moment.stack]
    assert names[0] == "xh_spinner"
    assert names.index("main") < names.index("exhume_spin_here")


def test_a_filter_by_core_leaves_it_out_elsewhere(node: Node, scene: Scene) -> None:
    start, seconds = scene.spin.began + 0.2, scene.spin.seconds - 0.4
    elsewhere = node.top(start, seconds, "--core", "0", "--limit", "1000")
    assert process_in(elsewhere, "xh_spinner") is None
    here = node.top(start, seconds, "--core", str(CORE))
    assert process_in(here, "xh_spinner") is not None


def test_a_syscall_heavy_process_comes_as_system_time_with_its_kernel_frames(
    node: Node, scene: Scene
) -> None:
    calls = scene.calls
    answer = node.top(calls.began + 0.1, calls.seconds - 0.2, "--core", str(CORE))
    row = process_in(answer, "xh_caller")
    assert row is not None
    assert row["cores"] == [CORE]
    assert row["system_percent_of_one_core"] > 3 * row["user_percent_of_one_core"]
    frames = frames_in(answer, "xh_caller", "kernel")
    # Its caller is seldom on the stack: read(2) of the C library has no frame of its own.
    assert frames["main"]["frame"]["kind"] == "user"
    assert frames["main"]["inclusive_percent_of_one_core"] > 0.7 * row["percent_of_one_core"]
    entry = next(
        frames[name] for name in ("do_syscall_64", "el0_svc", "ksys_read") if name in frames
    )
    assert entry["frame"]["kind"] == "kernel"
    assert entry["inclusive_percent_of_one_core"] > 0.7 * row["percent_of_one_core"]


def test_the_closed_segment_says_the_same_as_the_live_log_did(node: Node, scene: Scene) -> None:
    spin = window(scene.spin.began, scene.spin.seconds)
    wait_for(
        lambda: any(v.state == "segment" for v in node.recording().views(spin)),
        60,
        "the first log to be closed into a segment",
    )
    assert [view.state for view in node.recording().views(spin)] == ["segment"]
    answer = node.top(scene.spin.began + 0.2, scene.spin.seconds - 0.4)
    check_spinner(answer, scene)
    live, closed = (process_in(a, "xh_spinner") for a in (scene.live_top, answer))
    assert live is not None
    assert closed is not None
    assert closed["samples"] == live["samples"]
    assert closed["cgroup"] == live["cgroup"] != ""


def test_flame_and_cores_show_it_too(node: Node, scene: Scene) -> None:
    at, length = f"{scene.spin.began + 0.2:.6f}", f"{int(scene.spin.seconds * 1e3) - 400}ms"
    folded = node.exhume("flame", "--at", at, "--for", length, "--comm", "xh_spinner", "--folded")
    assert folded.returncode == 0, folded.stderr
    stacks = [line for line in folded.stdout.splitlines() if "exhume_spin_here" in line]
    assert stacks
    assert all(line.startswith("xh_spinner;") for line in stacks)
    tree = node.exhume("flame", "--at", at, "--for", length, "--core", str(CORE))
    assert "exhume_spin_here" in tree.stdout
    cores = node.ask("cores", "--at", at, "--for", length, "--core", str(CORE))
    assert max(max(row) for row in cores["map"]["worst_percent_of_core"]) > 50


def test_nothing_recorded_is_said_and_not_shown_as_idle(node: Node, scene: Scene) -> None:
    run = node.exhume("top", "--at", f"{time.time() - 86_400:.0f}", "--for", "5s")
    assert run.returncode == 65
    assert "nothing recorded" in run.stderr


def test_a_filter_by_name_is_exact(node: Node, scene: Scene) -> None:
    from exhume.store.queries import top

    spin = window(scene.spin.began, scene.spin.seconds)
    answer = top(node.recording(), spin, filter=Filter(comms=("xh_spinner",)))
    assert {row.comm for row in answer.processes} == {"xh_spinner"}
    assert top(node.recording(), spin, filter=Filter(comms=("xh_spin",))).processes == ()
