from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from exhume import export
from exhume.export.firefox import chunks
from exhume.model.answers import EventAnswer
from exhume.model.profile import Profile, ProfiledThread
from tests.cli.made_up import HOSTILE, assert_harmless
from tests.export.firefox_format import check
from tests.export.made import PERIOD, WINDOW, event, profile, profiles, recording, segment
from tests.export.readers import FIREFOX, NODE, needs_node, node
from tests.store.make import T0, tree_of

EVENTS = (
    event(4.0, "kernel-log", "eth0", "TX q 5 is paused for too long", core=1),
    event(6.5, "unit-start", "ecs.service"),
)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = recording(tmp_path_factory.mktemp("recording"), segment(EVENTS))
    return export.write("firefox", found, WINDOW).decode()


@pytest.fixture(scope="module")
def file(text: str) -> Any:
    return json.loads(text)


def tracks(file: Any) -> dict[str, Any]:
    return {f"{one['processName']}/{one['name']}": one for one in file["threads"]}


def stacks(file: Any, thread: Any) -> list[list[str]]:
    """Callers first; [] for none."""
    shared = file["shared"]
    found = []
    for at in thread["samples"]["stack"]:
        names = []
        while at is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][at]]
            names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
            at = shared["stackTable"]["prefix"][at]
        found.append(names[::-1])
    return found


def test_it_keeps_to_the_published_format(file: Any) -> None:
    check(file)


@given(profiles())
@settings(max_examples=40, deadline=None)
def test_any_profile_keeps_to_it_and_has_each_sample_once_by_core_and_by_thread(
    profile: Profile,
) -> None:
    events = [
        EventAnswer(T0 + n, "exec", name, name, None, n, 1, {"k": name})
        for n, name in enumerate(HOSTILE)
    ]
    found = json.loads("".join(chunks(profile, events, exporter="exhume 1")))
    check(found)
    for name in (*found["shared"]["stringArray"], *(one["name"] for one in found["threads"])):
        assert_harmless(name)
    taken = len(profile.samples)
    for of_node in (True, False):
        weights = [
            weight
            for one in found["threads"]
            if (one["pid"] == "node") == of_node
            for weight in one["samples"]["weight"]
        ]
        assert sum(weight > 0 for weight in weights) == taken
        assert sum(weights) == pytest.approx(taken * PERIOD / 1e6)


def test_there_is_a_track_for_each_core_and_each_thread(file: Any) -> None:
    assert list(tracks(file)) == [
        "node-1/events", "node-1/core 0", "node-1/core 1", "node-1/core 3",
        "kubelet/kubelet", "kubelet/worker", "python/python",
    ]  # fmt: skip
    main = {name for name, one in tracks(file).items() if one["isMainThread"]}
    assert main == {"node-1/events", "kubelet/kubelet", "python/python"}
    selected = file["threads"][file["meta"]["initialSelectedThreads"][0]]
    assert selected["name"] == "core 1"


def test_an_exec_gives_a_main_thread_a_second_track_that_is_not_main() -> None:
    tree, _ = tree_of((("sh", "main"),))
    threads = [ProfiledThread(7, 7, name, "", "", "", "", "b") for name in ("sh", "python")]
    made = profile([(1.0, 0, 0, 2), (2.0, 0, 1, 2)], threads=threads, tree=tree)
    found = json.loads("".join(chunks(made, (), exporter="exhume 1")))
    check(found)
    mains = {name: one["isMainThread"] for name, one in tracks(found).items() if one["pid"] == "7"}
    assert mains == {"python/sh": True, "python/python": False}


def test_thousands_of_short_lives_are_a_track_for_each_name() -> None:
    tree, _ = tree_of((("sh", "main"),))
    threads = [ProfiledThread(n, n, f"p{n % 2}", "", "", "", "", "b") for n in range(1, 1001)]
    samples = [(n / 101, 0, n - 1, 2) for n in range(1, 1001)]
    made = profile(samples, threads=threads, tree=tree)
    found = json.loads("".join(chunks(made, (), exporter="exhume 1")))
    check(found)
    assert len(found["threads"]) == 2 + 300 + 2
    crowds = {name: one for name, one in tracks(found).items() if one["pid"] == "crowds"}
    assert set(crowds) == {
        "many and small/p0 (350 threads)", "many and small/p1 (350 threads)",
    }  # fmt: skip
    weights = [sum(one["samples"]["weight"]) for one in crowds.values()]
    assert weights == [pytest.approx(3500)] * 2


def test_samples_lie_where_they_were_taken(file: Any) -> None:
    core = tracks(file)["node-1/core 1"]
    busy = ["kubelet", "main", "k_entry_SYSCALL_64", "k_memcg_stat_show"]
    assert stacks(file, core) == [busy] * 201
    samples = core["samples"]
    assert samples["time"][:3] == [1990.0, 2000.0, 2010.0]
    # The first is the mark from which on the core was busy.
    assert samples["weight"][:3] == [0, 10.0, 10.0]
    assert samples["threadCPUDelta"][:3] == [0, PERIOD, PERIOD]


def test_idle_time_between_samples_is_no_cpu_use(file: Any) -> None:
    samples = tracks(file)["python/python"]["samples"]
    assert samples["length"] == 200  # each has a mark before it
    assert samples["threadCPUDelta"][:6] == [0, 0, 0, PERIOD, 0, PERIOD]
    assert samples["time"][:6] == [0, 0, 90, 100, 190, 200]


def test_categories_tell_the_kernel_from_the_program(file: Any) -> None:
    shared, names = file["shared"], [one["name"] for one in file["meta"]["categories"]]
    found = {
        shared["stringArray"][shared["funcTable"]["name"][func]]: category
        for func, category in zip(
            shared["frameTable"]["func"], shared["frameTable"]["category"], strict=True
        )
    }
    assert names[found["k_memcg_stat_show"]] == "Kernel"
    assert names[found["train_step"]] == "User"
    assert found["python"] is None


def test_events_are_markers(file: Any) -> None:
    markers = tracks(file)["node-1/events"]["markers"]
    kinds = [file["shared"]["stringArray"][name] for name in markers["name"]]
    assert kinds == ["kernel-log", "unit-start"]
    assert markers["startTime"] == [4000, 6500]
    first = markers["data"][0]
    assert (first["subject"], first["core"], first["details"]) == ("eth0", 1, "level=3")


@pytest.fixture(scope="module")
def ask(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The Firefox Profiler's own code, which holds the file in a process of its own."""
    home = tmp_path_factory.mktemp("profiler")
    environment = {
        **os.environ, "PROFILER_CLI_SESSION_DIR": str(home), "PROFILER_CLI_NO_SYMBOLICATE": "1",
    }  # fmt: skip
    path = home / "profile.firefox.json"
    path.write_text(text)
    # Not by its `load`, which gives the process half a second to start.
    server = subprocess.Popen(
        [NODE, str(FIREFOX), "--daemon", str(path), "--session", "test"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ask(*words: str) -> Any:
        return json.loads(node(FIREFOX, *words, "--session", "test", "--json", env=environment))

    try:
        # A client that comes too early takes the process for dead and removes its socket.
        log, end = home / "test.log", time.monotonic() + 30
        while not (log.exists() and "Profile loaded" in log.read_text()):
            assert server.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        yield ask
    finally:
        server.kill()
        server.wait()


@needs_node
def test_the_firefox_profiler_reads_it(ask: Any) -> None:
    found = ask("thread", "list")
    cpu = {one["name"]: one["cpuMs"] for one in found["threads"]}
    assert cpu["core 1"] == pytest.approx(2000)
    assert cpu["python"] == pytest.approx(990)
    assert cpu["worker"] == pytest.approx(100)


@needs_node
def test_the_firefox_profiler_finds_the_hot_function_and_the_event(ask: Any) -> None:
    text = json.dumps(ask("thread", "samples", "--thread", "t-2"))
    assert "k_memcg_stat_show" in text
    markers = json.dumps(ask("profile", "markers", "--limit", "10"))
    assert "TX q 5 is paused for too long" in markers
