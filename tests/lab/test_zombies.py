"""A real crash loop that leaks real cgroups, recorded, and `exhume why` asked twice about it.

For half a minute nobody walks what is left behind: busy, looping, leaking, and nobody is harmed.
Then an innocent daemon walks it all, and is held in the kernel for seconds.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import randrange
from typing import Any

import pytest
from msgspec import Struct

from exhume.sampler.sampler import Sampler
from lab import cgroups
from lab.dice import Dice
from lab.expected import Cause, Expected, weigh
from lab.faults.zombies.bare import Leak
from lab.ledger import FOLDER
from lab.run import alone, ask_why
from lab.stage import staged
from tests.kernel.node import needs_root

pytestmark = [pytest.mark.kernel, needs_root]
ZOMBIES = 30_000
LOOP_SECONDS = 61.0
"""A loop must go on for a minute before it is called one."""
HARMLESS_SECONDS = 31.0


class Played(Struct, frozen=True):
    while_harmless: Any
    in_the_end: Any
    cause: Cause
    harmed: bool
    """By the log of the walker itself."""
    said: list[str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    try:
        Sampler(97.0, 0).close()
    except OSError as error:
        pytest.skip(f"perf_event_open is refused here: {error.strerror}")
    tree = cgroups.memory()
    if tree is None or cgroups.is_v2():
        pytest.skip("needs the memory controller on cgroup v1, of which the whole tree is seen")
    return _play(tmp_path_factory.mktemp("lab") / "recording")


def _play(data: Path) -> Played:
    dice, said = Dice(randrange(10**6)), list[str]()
    with alone(said.append), staged(dice, data, said.append) as stage:
        core, elsewhere = dice.cores(2)
        leak = Leak(stage, ZOMBIES, LOOP_SECONDS, core)
        stage.record()
        began = time.time()
        leak.watch(HARMLESS_SECONDS + 1)
        stage.actor("spin", elsewhere, 120)
        leak.begin()
        stage.last(HARMLESS_SECONDS)
        harmless = ask_why(data, "--from", f"{began:.3f}", "--to", f"{time.time():.3f}")
        stage.last(max(0.0, began + LOOP_SECONDS + 1 - time.time()))
        in_the_end = ask_why(data)
        harmed = stage.did_harm(leak.cause.victims)
    return Played(harmless, in_the_end, leak.cause, harmed, said)


def test_a_crash_loop_that_harms_nobody_is_accused_of_nothing(played: Played) -> None:
    weighed = weigh(played.while_harmless, Expected())
    assert weighed.mark != "accused", weighed.said
    assert played.while_harmless["verdict"]["root_cause"] is None


def test_whoever_walks_them_says_itself_that_it_was_held(played: Played) -> None:
    assert played.harmed, "walks are too short on this machine: MANY of lab/faults/zombies is few"


def test_whoever_leaks_the_zombies_is_found_with_who_pays_and_where(played: Played) -> None:
    weighed = weigh(played.in_the_end, Expected((played.cause,)))
    assert weighed.mark == "first", (played.cause, weighed)
    assert weighed.details == {"payer": True, "victim": True, "core": True}
    assert played.in_the_end["verdict"]["status"] in ("found", "suspected")


def test_the_mechanism_is_shown_with_figures(played: Played) -> None:
    cause = played.in_the_end["verdict"]["root_cause"]
    assert 0.5 * ZOMBIES <= cause["details"]["zombies"] <= 1.1 * ZOMBIES
    walk = next(link for link in played.in_the_end["chain"] if link["role"] == "mechanism")
    evidence = {one["id"]: one for one in played.in_the_end["evidence"]}
    assert any(evidence[one]["figures"] for one in walk["evidence"])


def test_nothing_is_left_behind(played: Played) -> None:
    assert not played.said
    assert not list(FOLDER.glob("*.jsonl"))
