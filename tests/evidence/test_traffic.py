"""Packets over a veth pair: receive work is told of the core that did it."""

from __future__ import annotations

import pytest

from tests.evidence.conftest import Story
from tests.kernel.node import needs_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(400), needs_root]


def gained(story: Story, field: str) -> dict[int, float]:
    """By core, from the second before the traffic to the second after."""
    assert story.traffic is not None
    window = story.window(story.traffic.began - 2, story.traffic.ended + 2)
    answer = story.trusting.ask("series", field, "--raw", *window)
    return {int(one["instance"]): one["most"] - one["least"] for one in answer["series"]}


@pytest.mark.parametrize(
    ("field", "least_ratio"),
    # Of a burst one softirq may take several packets.
    [("softnet.processed", 1.0), ("softirq.net_rx", 0.3)],
)
def test_it_moves_the_counters_of_the_core_that_sent(
    field: str, least_ratio: float, story: Story
) -> None:
    if story.traffic is None:
        pytest.skip("needs ip (Debian iproute2)")
    found = gained(story, field)
    least = least_ratio * story.traffic.packets
    assert found[story.traffic.core] >= least
    elsewhere = [value for core, value in found.items() if core != story.traffic.core]
    assert max(elsewhere, default=0) < 0.5 * found[story.traffic.core]


def test_the_network_cores_are_listed_with_what_they_did(story: Story) -> None:
    if story.traffic is None:
        pytest.skip("needs ip (Debian iproute2)")
    window = story.window(story.traffic.began, story.traffic.ended + 1)
    cores = {one["core"]: one for one in story.trusting.ask("irqs", *window)["cores"]}
    seconds = story.traffic.ended - story.traffic.began
    busiest = max(cores.values(), key=lambda one: one["packets_per_second"])
    assert busiest["core"] == story.traffic.core
    assert busiest["packets_per_second"] > 0.5 * story.traffic.packets / (seconds + 1)
