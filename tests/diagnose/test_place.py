"""On which core a victim waited."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.diagnose.place import place_of
from exhume.diagnose.symptoms import symptoms
from exhume.model.case import Party
from exhume.model.evidence import IrqLine
from tests.diagnose.made_up import event, load, observation, symptom

FULL = range(310, 316)


def percent(*partly: tuple[int, int]) -> dict[int, list[int]]:
    """Core 11 of 16 is full for six seconds, and in seconds of its own partly."""
    found = {core: [20] * 600 for core in range(16)}
    found[11] = [100 if second in FULL else 2 for second in range(600)]
    for second, busy in partly:
        found[11][second] = busy
    return found


@pytest.mark.parametrize("begins", [308.4, 309.2, 309.6, 310.4])
def test_a_core_that_was_full_from_within_a_second_on_is_it(begins: float) -> None:
    seen = observation(load=load(percent((309, 40), (316, 20))))
    harm = symptom(begins, 5.6, "eth0 queue 4", "network-reset", source="kernel log")
    place = place_of(seen, [harm], ())
    assert (place.core, place.known) == (11, "untested")


def test_a_core_that_was_full_for_half_of_it_is_not() -> None:
    seen = observation(load=load(percent()))
    harm = symptom(307.0, 6.0, "eth0 queue 4", "network-reset", source="kernel log")
    assert place_of(seen, [harm], ()).core is None


def test_the_core_that_ran_the_watchdog_is_not_where_the_queue_stood_still() -> None:
    """`CPU: 3` is raw_smp_processor_id() of the timer, since kernel commit e316dd1cf135."""
    told = event(
        316, "kernel-log", "eth0", watchdog_core=3, queue=4, interface="eth0",
        signature="netdev.watchdog", **{"class": "netdev-starve"}, stalled_seconds=5.6,
    )  # fmt: skip
    seen = observation(events=(told,), load=load(percent()))
    assert place_of(seen, symptoms(seen), ()).core == 11


def line(name: str, device: str, queue: int, direction: str, core: int) -> IrqLine:
    return IrqLine("140", name, device, queue, direction, core, 900.0, 900.0)


@pytest.mark.parametrize(
    ("victim", "text", "device"),
    [
        ("ens1 queue 7", "mlx5_core 0000:3b:00.0 ens1: TX timeout on queue: 7", "pci:0000:3b:00.0"),
        ("eth0 queue 7", "gve 0000:00:04.0 eth0: Timeout on tx queue, 7", "pci:0000:00:04.0"),
        ("ens3 queue 7", "virtio_net virtio0 ens3: TX timeout on queue: 7", "virtio0"),
        ("eth0 queue 7", "TX q 7 is paused for too long", "eth0"),
    ],
)
def test_a_queue_is_found_by_the_device_that_the_kernel_names(
    victim: str, text: str, device: str
) -> None:
    lines = (
        line("other", "pci:0000:af:00.0", 7, "tx+rx", 2),
        line("in", device, 7, "rx", 3),
        line("out", device, 7, "tx", 9),
        line("next", device, 8, "tx", 4),
    )
    harm = symptom(310, 5.6, victim, "network-reset", text=text)
    place = place_of(observation(lines=lines), [harm], ())
    assert (place.core, place.known) == (9, "passed")


@pytest.mark.parametrize(("kind", "known"), [("held-thread", "untested"), ("lockup", "passed")])
def test_where_another_one_was_held_is_no_proof_that_the_victim_waited_there(
    kind: str, known: str
) -> None:
    other = replace(symptom(99.0, 6.0, kind=kind), victim=Party(comm="walker", core=7))
    place = place_of(observation(), [symptom(103.0, 1.0, "job")], [other])
    assert (place.core, place.known) == (7, known)


def test_a_few_samples_are_a_hint_of_where_a_victim_waits() -> None:
    harm = [symptom(103.0, 1.0, "job")]
    place = place_of(observation(seldom_cores={"job": (7,)}), harm, ())
    assert (place.core, place.known) == (7, "untested")
    assert place_of(observation(seldom_cores={"job": (7, 3)}), harm, ()).core is None
    place = place_of(observation(process_cores={"job": (7,)}), harm, ())
    assert (place.core, place.known) == (7, "passed")
