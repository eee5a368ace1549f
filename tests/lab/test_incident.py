from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from exhume.host import Host
from exhume.ingest import docker_ps
from exhume.ingest.importing import Options, run
from exhume.ingest.report import ImportReport
from exhume.model.answers import Filter
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from lab.commands.replay import import_all
from lab.incident.__main__ import main
from lab.incident.copies import docker_table
from lab.incident.make import TRUTH, make
from lab.incident.plan import WATCHDOG_S, plan

NS = 1_000_000_000
SEED, HOURS, CORES, HZ = 5, 0.2, 8, 20.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("incident") / "files"
    make(folder, plan(SEED, HOURS, CORES, HZ))
    return folder


@pytest.fixture(scope="module")
def truth(made: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / TRUTH).read_text())
    return found


@pytest.fixture(scope="module")
def imported(made: Path) -> tuple[Path, ImportReport]:
    into = made.parent / "out"
    return into, run(Options(files=(str(made),), into=into), Host())


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_seed_makes_the_same_files_again(made: Path, tmp_path: Path) -> None:
    make(tmp_path / "again", plan(SEED, HOURS, CORES, HZ))
    assert digests(made) == digests(tmp_path / "again")


def test_seeds_differ_in_everything_that_could_be_learnt_by_heart() -> None:
    nights = [plan(seed) for seed in range(30)]
    for attribute in ("host", "payer", "unit", "began_s", "pci", "job", "zombies_before"):
        assert len({getattr(night, attribute) for night in nights}) >= 28, attribute
    assert len({night.hot_core for night in nights}) > 15
    assert len({night.queue_cores.index(night.hot_core) for night in nights}) > 4
    assert len({night.bursts[0].start_s for night in nights}) == 30


@pytest.mark.parametrize("seed", range(20))
def test_only_a_long_burst_on_the_core_of_a_queue_harms_anybody(seed: int) -> None:
    night = plan(seed)
    assert len(night.resets) >= 3, "or nobody could tell chance from cause"
    for burst in night.bursts:
        assert 2.5 < burst.seconds < 10
        assert (burst.reset_s is not None) == (
            burst.queue is not None and burst.seconds > WATCHDOG_S
        )
        if burst.reset_s is not None:
            assert burst.start_s + WATCHDOG_S < burst.reset_s <= burst.end_s
    ends = [burst.end_s for burst in night.bursts]
    assert all(end < after.start_s for end, after in zip(ends, night.bursts[1:], strict=False))
    per_zombie = [burst.seconds / burst.zombies for burst in night.bursts]
    assert max(per_zombie) < 4 * min(per_zombie), "a walk takes as long as there are zombies"


def test_an_import_takes_every_file_for_what_it_is(
    imported: tuple[Path, ImportReport], made: Path, truth: dict[str, Any]
) -> None:
    _, report = imported
    assert {one.state for one in report.inputs} == {"imported"}
    assert [problem for one in report.inputs for problem in one.problems] == []
    formats = {Path(one.path).name: one.format for one in report.inputs}
    assert formats.pop("dmesg.txt") == "kernel log"
    assert formats.pop("mpstat-P-ALL-1.txt") == "mpstat"
    assert formats.pop("memory_cgroups.csv") == "CSV"
    for name in ("proc_interrupts.log", "proc_cgroups.log", "docker_ps.log", "systemctl.log"):
        assert formats.pop(name) == "/proc copies"
    (log,) = [name for name in formats if name.startswith("job-driver")]
    assert formats.pop(log) == "job log"
    assert set(formats.values()) == {"perf script"}
    assert all(name.startswith(f"perf-{truth['host']}-2025") or "-2026" in name for name in formats)
    assert sum(one.samples for one in report.inputs) == truth["samples"]
    assert [one.node for one in report.recordings] == [truth["host"]]


def test_no_cell_of_a_docker_table_runs_into_the_next() -> None:
    """Of all that docker says of an age this is the longest."""
    young = ("62d86ff23eac", "a", "b", "Less than a second ago", "Up Less than a second", "", "c")
    heads = ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES")
    (row,) = docker_ps.parse(docker_table([heads, young]).encode(), NS)
    assert (row.container.name, row.container.state) == ("c", "running")


def test_a_replay_tells_what_the_import_could_not_read(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    good = docker_table([("CONTAINER ID", "STATUS", "NAMES"), ("62d86ff23eac", "Up 1 hour", "c")])
    looks = [good, good.replace("62d86ff23eac", "no id"), good]
    marked = (f"### {1_776_808_811 + 30 * n}.000\n{look}" for n, look in enumerate(looks))
    (files / "docker_ps.log").write_text("".join(marked))
    (problem,) = import_all(files, tmp_path / "out")
    assert problem.startswith("docker_ps.log: ")


def test_at_a_reset_the_payer_has_the_queues_core_and_the_node_looks_fine(
    imported: tuple[Path, ImportReport], truth: dict[str, Any]
) -> None:
    recording = Recording.open(imported[0])
    details = truth["root_cause"]["details"]
    harmful = [burst for burst in truth["bursts"] if burst["reset_epoch_s"]]
    assert harmful
    for burst in harmful:
        begin, end = round(burst["start_epoch_s"] + 1.5), round(burst["end_epoch_s"] - 0.5)
        window = Window(begin * NS, end * NS)
        top = queries.top(recording, window, Filter(cores=(burst["core"],)))
        assert top.processes[0].comm == details["payer"]
        assert top.processes[0].system_percent_of_one_core > 80
        assert "memcg_numa_stat_show" in {frame.frame.name for frame in top.frames}
        cores = {one.core: one for one in queries.core_times(recording, window)}
        assert len(cores) == CORES
        assert cores[burst["core"]].system_percent > 97
        assert sum(100 - one.idle_percent for one in cores.values()) / CORES < 80


def test_the_reset_the_failed_job_and_the_crash_loop_are_events_in_their_place(
    imported: tuple[Path, ImportReport], truth: dict[str, Any]
) -> None:
    views = Recording.open(imported[0]).views()
    events = [e for view in views if isinstance(view, Segment) for e in view.events()]
    paused = [e for e in events if e.fields.get("signature") == "ena.tx_paused"]
    resets = [b["reset_epoch_s"] for b in truth["bursts"] if b["reset_epoch_s"]]
    assert len(paused) == len(resets)
    for event, at in zip(paused, resets, strict=True):
        assert abs(event.time_ns / NS - at) < 0.2
        assert event.fields["queue"] == truth["root_cause"]["details"]["queue"]
    failed = [e for e in events if e.fields.get("signature") == "ray.object_fetch_timeout"]
    assert [round(e.time_ns / NS, 1) for e in failed] == [
        pytest.approx(at, abs=0.2) for at in truth["failures_epoch_s"]
    ]
    starts = {e.subject for e in events if e.kind == "container-start"}
    assert truth["root_cause"]["culprit"]["container"] in starts


def test_the_command_makes_a_folder_and_refuses_one_that_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    arguments = [str(folder), "--seed", "1", "--hours", "0.1", "--cores", "4", "--hz", "1"]
    assert main(arguments) == 0
    assert (folder / TRUTH).exists()
    for wrong in (arguments, [str(tmp_path / "y"), "--seed", "1", "--hours", "0"]):
        with pytest.raises(SystemExit):
            main(wrong)
    assert "not empty" in capsys.readouterr().err
