"""One stretch of a node's life, watched by two recorders; the tests ask what they saw of it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from exhume.model.window import Window
from exhume.sampler.sampler import Sampler
from exhume.store.queries import series
from lab import cgroups, docker, systemd
from lab.dice import random_name
from lab.docker import Agent, docker_engine, rm_and_run
from lab.systemd import Machine, booted_systemd
from tests.evidence import network
from tests.evidence.kernel_log import Line, may_write, write_line
from tests.evidence.leaks import Killed, Leak, kill_for_memory, leaking
from tests.evidence.loops import Loop, build, compile_program, crash_loop
from tests.evidence.network import Traffic
from tests.kernel.node import SECOND, Node, wait_for

ZOMBIES = 2_000
BURST = 25
LEAK_SECONDS = 69.0
"""A loop must go on for a minute before it is called one."""
SEGMENT = "15s"


class Story(Struct):
    """What really happened, each by the word of whoever did it. Times are epoch seconds."""

    trusting: Node
    """Believes what user space writes to the kernel log."""
    wary: Node
    began: float
    zombies_before: int
    leak: Leak
    loop: Loop
    traffic: Traffic | None
    container: Machine | None
    agent: Agent | None
    lines: list[Line]
    killed: Killed
    zombies: Any = None
    """What `exhume zombies` and `exhume units` answered while the zombies were there."""
    units: Any = None
    let_go: float = 0.0
    zombies_later: Any = None
    """After whatever pinned them was deleted."""
    status: Any = None
    """Of the trusting one, shortly before its end."""

    def window(self, began: float, ended: float) -> tuple[str, ...]:
        return ("--from", f"{began:.3f}", "--to", f"{ended:.3f}")


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """All of it is over when the first test begins: what is left is what was recorded."""
    try:
        Sampler(97.0, 0).close()
    except OSError as error:
        pytest.skip(f"perf_event_open is refused here: {error.strerror}")
    if cgroups.memory() is None:
        pytest.skip("needs a memory controller of which the whole tree is seen")
    folder = tmp_path_factory.mktemp("story")
    # Of a socket's path the kernel takes 107 characters.
    with tempfile.TemporaryDirectory(prefix="xh-", ignore_cleanup_errors=True) as short:
        return _play(folder, Path(short))


def _play(folder: Path, short: Path) -> Story:
    run = short / "run"
    run.mkdir()
    eater = compile_program(folder, random_name("xe"))
    with ExitStack() as stack:
        machine = engine = None
        if not systemd.why_not():
            unit = random_name("xh-unit-") + ".service"
            machine = stack.enter_context(
                booted_systemd(folder / "units", unit, random_name("xh-machine-"))
            )
        if not docker.why_not():
            image = random_name("xh-image-") + ":1"
            engine = stack.enter_context(docker_engine(short / "docker", image))
        if machine is not None:
            (run / "systemd").symlink_to(machine.run / "systemd")
            (run / "dbus").symlink_to(machine.run / "dbus")
        if engine is not None:
            (run / "docker.sock").symlink_to(engine.socket)
        trusting = stack.enter_context(
            _recorder(folder / "trusting", run, "--trust-user-kmsg"),
        )
        wary = stack.enter_context(_recorder(folder / "wary", run, "--no-samples"))
        wait_for(lambda: _are_births_seen(trusting), 30, "the watch over cgroups")

        zombies_before, began = cgroups.zombies(), time.time()
        pause = LEAK_SECONDS / (ZOMBIES / BURST)
        leak = stack.enter_context(leaking(folder, ZOMBIES, BURST, pause))
        with ExitStack() as loops:
            loop = loops.enter_context(crash_loop(folder))
            agent = None
            if engine is not None:
                agent = loops.enter_context(rm_and_run(engine, random_name("xh-agent-")))
            core = max(os.sched_getaffinity(0))
            traffic = network.send(core) if shutil.which("ip") else None
            lines = [write_line(trusting, queue) for queue in (5, 6, 7)] if may_write() else []
            build(folder / "build")
            killed = kill_for_memory(eater)
            leak.finish()
            time.sleep(max(0.0, loop.began + LEAK_SECONDS + 2 - time.time()))
        story = Story(
            trusting, wary, began, zombies_before, leak, loop, traffic, machine, agent, lines,
            killed,
        )  # fmt: skip
        _ask(story)
        return story


@contextmanager
def _recorder(data: Path, run: Path, *options: str) -> Iterator[Node]:
    """Sees `run` as /run: systemd and Docker are where it looks for them, but they are ours."""
    prefix = ["unshare", "--mount", "sh", "-c", f'mount --bind {run} /run && exec "$@"', "sh"]
    command = [sys.executable, "-m", "lab.recorder", "record", "--segment", SEGMENT]
    node = Node(data, command=(*command, *options, "--data"), prefix=prefix)
    try:
        node.start()
        yield node
        node.stop()
    finally:
        node.kill()


def _are_births_seen(node: Node) -> bool:
    return bool(series(node.recording(), "memcg.births", Window(0, 1 << 62)))


def _ask(story: Story) -> None:
    """While all of it is there, and once more when the zombies are let go."""
    node = story.trusting
    ended = time.time()
    wait_for(lambda: _zombies_since(node, ended), 30, "a count of zombies after the leak")
    window = story.window(story.began, time.time())
    story.zombies, story.units = node.ask("zombies", *window), node.ask("units", *window)
    story.let_go = time.time()
    story.leak.let_go()
    few = story.zombies["zombies"] - 0.99 * ZOMBIES
    with suppress(AssertionError):  # whoever looks at the answer will say it better
        wait_for(lambda: min(_zombies_since(node, story.let_go), default=few + 1) <= few, 20, "")
    story.zombies_later = node.ask("zombies", *story.window(story.began, time.time()))
    story.status = node.status()


def _zombies_since(node: Node, wall: float) -> list[int]:
    found = series(node.recording(), "memcg.zombies", Window(int(wall * SECOND), 1 << 62))
    return [int(value) for one in found for value in one.values.tolist()]
