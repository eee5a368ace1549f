from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.model.stack import FrameKind, Mode
from exhume.store.queries.occupancy import longest_runs, occupancy
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import do_import, write
from tests.store.make import at, by_hand
from tests.store.queries.test_holds import APP, IDLE, OTHER, READ, USER, of, recorded, stay


def test_shares_are_of_the_window_and_the_largest_comes_first() -> None:
    found = occupancy(recorded(stay(0, 3, READ, APP) + stay(3, 1, USER, OTHER)), 1, at(0, 5))
    assert [one.comm for one in found.occupants] == ["app", "other"]
    assert [one.share_of_window for one in found.occupants] == pytest.approx([0.6, 0.2])
    assert [one.user_share for one in found.occupants] == [0.0, 1.0]
    assert found.samples == 400


def test_the_longest_run_is_the_one_that_nobody_broke() -> None:
    samples = stay(0, 1) + stay(1, 0.5, USER, OTHER) + stay(1.5, 2) + stay(3.5, 0.1, USER, OTHER)
    found = occupancy(recorded(samples), 1, at(0, 5))
    runs = {one.comm: one.longest_run for one in found.occupants}
    assert runs == {"app": at(1.5, 2), "other": at(1, 0.5)}


def test_others_had_a_turn_if_they_were_met_between_its_first_sample_and_its_last() -> None:
    before, after = stay(0, 0.5, USER, OTHER), stay(4, 0.5, USER, OTHER)
    samples = before + stay(1, 1) + stay(2, 0.25, USER, OTHER) + stay(2.25, 1.5) + after
    found = occupancy(recorded(samples), 1, at(0, 5))
    between = {one.comm: one.others_between for one in found.occupants}
    assert between == {"app": 25, "other": 250}
    assert found.occupants[0].turns_of_others == pytest.approx(25 / 275)


def test_frames_are_shares_of_its_own_samples() -> None:
    (app,) = occupancy(recorded(stay(0, 3, READ) + stay(3, 1, USER)), 1, at(0, 4)).occupants
    assert app.frames["k_walk"] == pytest.approx(0.75)
    assert app.frames["main"] == 1.0
    assert (app.pid, app.cgroup, app.samples, app.core_ns) == (10, "/a", 400, 4_000_000_000)


@pytest.mark.parametrize("with_names", [False, True])
def test_without_kallsyms_what_it_did_in_the_kernel_has_no_name(
    tmp_path: Path, with_names: bool
) -> None:
    path = write(tmp_path / "perf-node-1-20261115-201517-2s.data", made.capture(2.0).file())
    symbols = [write(tmp_path / "kallsyms", made.KALLSYMS)] if with_names else []
    do_import(tmp_path / "recording", path, *symbols)
    recording = Recording.open(tmp_path / "recording")
    first = occupancy(recording, 0, recording.window()).occupants[0]
    assert first.user_share == 0.0
    assert first.unnamed_share == (0.0 if with_names else 1.0)
    assert first.is_unnamed is not with_names


@pytest.mark.parametrize("begins_in", ["kthread", "do_syscall_64"])
def test_a_thread_of_the_kernel_is_one_though_some_of_its_code_has_no_name(begins_in: str) -> None:
    """ksoftirqd in BPF programs: their code has no name, and of some samples no caller is known."""
    stacks = (
        ("ksoftirqd/1", begins_in, "run_ksoftirqd", "[unknown]"),
        ("ksoftirqd/1", "[unknown]"),
    )
    samples = [(1, step / 100, 0, step % 2) for step in range(200)]
    data = by_hand(samples, stacks=stacks, threads=((22, 22, "ksoftirqd/1", ""),))
    kernel = tuple(
        replace(frame, kind=FrameKind.UNKNOWN if frame.name == "[unknown]" else FrameKind.KERNEL)
        if frame.kind == FrameKind.USER
        else frame
        for frame in data.tree.frames
    )
    tree = replace(data.tree, frames=kernel, mode=np.full_like(data.tree.mode, Mode.SYSTEM))
    (found,) = occupancy(of(replace(data, tree=tree)), 1, at(0, 2)).occupants
    assert found.is_kernel_thread is (begins_in == "kthread")


def test_only_the_window_and_the_core_count() -> None:
    recording = recorded(stay(0, 4) + stay(0, 4, USER, OTHER, core=0))
    found = occupancy(recording, 1, at(3, 2))
    assert [(one.comm, one.share_of_window) for one in found.occupants] == [("app", 0.5)]
    assert occupancy(recording, 2, at(0, 5)).occupants == ()


def test_runs_are_those_of_the_occupants() -> None:
    samples = stay(0, 1) + stay(1, 0.5, USER, OTHER) + stay(1.5, 2) + stay(3.5, 0.1, USER, OTHER)
    assert longest_runs(recorded(samples), 1, at(0, 5)) == {"app": at(1.5, 2), "other": at(1, 0.5)}


def test_an_idle_core_is_nobodys_run() -> None:
    sparse = [(1, 0.0, APP, USER), (1, 2.0, APP, USER), *stay(3, 1, READ, IDLE)]
    assert longest_runs(recorded(sparse), 1, at(0, 5)) == {}
