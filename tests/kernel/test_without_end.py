"""Runs last: whatever the other tests did to the shared recorder, it was there every second."""

from __future__ import annotations

import json

import pytest

from exhume.store.queries import events
from tests.kernel.conftest import Scene
from tests.kernel.node import SECOND, Node, longest_gap_seconds, needs_root

pytestmark = [pytest.mark.kernel, needs_root]


def test_every_second_has_a_tick(node: Node, scene: Scene) -> None:
    node.wait_until_recorded()
    ticks = node.ticks()
    seconds = (ticks[-1] - ticks[0]) / SECOND
    assert longest_gap_seconds(ticks) < 2.5
    assert len(ticks) > 0.95 * seconds
    recording = node.recording()
    assert events(recording, recording.window(), ("gap",)) == []


def test_nothing_of_it_is_damaged(node: Node, scene: Scene) -> None:
    assert not [span.problem for span in node.recording().spans(verify=True) if span.problem]
    assert list(node.data.glob("head/*.damaged")) == []


def test_it_never_said_a_word_and_nothing_is_broken(node: Node, scene: Scene) -> None:
    assert node.said == ""
    status = json.loads((node.data / "status.json").read_text())
    assert [s for s in status["sources"] if s["state"] == "broken"] == []


def test_it_stops_as_asked(node: Node, scene: Scene) -> None:
    assert node.stop() < 2
    assert node.process is not None
    assert node.process.returncode == 0
