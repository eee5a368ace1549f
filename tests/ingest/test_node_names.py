"""Several nodes in one import: whose is a file that does not say it?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exhume.ingest.node_names import host_named, numbered_alike
from exhume.store import queries
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.made import by_name, do_import
from tests.ingest.sysstat import IDLE, mpstat
from tests.ingest.test_snapshots import LOADAVG, mark

HOSTS = {"gpu-node-5", "gpu-node-54", "node-54", "db.example.org"}
NS = 1_000_000_000


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("gpu-node-54.proc_stat.log", "gpu-node-54"),
        ("stat_gpu-node-5_end.txt", "gpu-node-5"),
        ("GPU-NODE-5", "gpu-node-5"),
        ("node-54-dmesg.txt", "node-54"),
        ("gpu-node-541.log", ""),
        ("gpu-node-55.log", ""),
        ("from-gpu-node-5-to-gpu-node-54.log", ""),
        ("db.mpstat.txt", "db.example.org"),
        ("db.example.org.log", "db.example.org"),
        ("mydb.log", ""),
        ("night/gpu-node-54/dmesg.txt", "gpu-node-54"),
        ("gpu-node-5/logs/dmesg.txt", "gpu-node-5"),
        ("gpu-node-5/gpu-node-54.log", "gpu-node-54"),
    ],
)
def test_a_file_is_of_the_machine_in_its_name_or_in_its_folders(path: str, host: str) -> None:
    assert host_named(Path(path), HOSTS) == host


def test_a_file_named_alone_lies_in_a_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gpu-node-54").mkdir()
    monkeypatch.chdir(tmp_path / "gpu-node-54")
    assert host_named(Path("dmesg.txt"), HOSTS) == "gpu-node-54"


def table(host: str) -> str:
    return mpstat([{0: IDLE}] * 3, start=20 * 3600).replace("gpu-7", host)


def test_files_of_two_nodes_go_to_theirs_and_the_others_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for node, running in (("gpu-7", 4), ("gpu-70", 9)):
        load = LOADAVG.replace("4/79", f"{running}/79")
        # Each ties the kernel's clock of its own machine.
        text = "".join(mark(i, f" uptime={1000 * running + i}.00") + load for i in range(5))
        made.write(folder / f"{node}.mpstat.txt", table(node))
        made.write(folder / f"{node}.loadavg.log", text)
        dmesg = f"[{1000 * running + 2}.000000] BUG: soft lockup - CPU#1 stuck for 22s! [x:1]\n"
        made.write(folder / f"dmesg-{node}.txt", dmesg * 2)
    made.write(folder / "loadavg.log", mark(2) + LOADAVG)
    report = do_import(tmp_path / "out", str(folder))
    for node, running in (("gpu-7", 4), ("gpu-70", 9)):
        recording = Recording.open(tmp_path / "out" / node)
        window = recording.window()
        (found,) = queries.series(recording, "system.running", window)
        assert set(found.values) == {running}
    inputs = by_name(report)
    assert "of gpu-70, by its name or its folder's" in inputs["gpu-70.loadavg.log"].notes
    assert "gpu-70.loadavg.log" in inputs["dmesg-gpu-70.txt"].clock
    assert "gpu-7.loadavg.log" in inputs["dmesg-gpu-7.txt"].clock
    (note,) = [one for one in inputs["loadavg.log"].notes if "--name" in one]
    assert "which of gpu-7, gpu-70 it is of" in note
    assert not any("by its name" in one for one in inputs["gpu-7.mpstat.txt"].notes)
    assert os.listdir(tmp_path / "out" / "imported")


def test_of_one_node_nothing_is_said(tmp_path: Path) -> None:
    made.write(tmp_path / "in" / "mpstat.txt", table("gpu-7"))
    made.write(tmp_path / "in" / "gpu-7.log", mark(2) + LOADAVG)
    report = do_import(tmp_path / "out", str(tmp_path / "in"))
    assert [one.node for one in report.recordings] == ["gpu-7"]
    assert not any("its name" in note for one in report.inputs for note in one.notes)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("night/gpu-node-55/dmesg.txt", {"gpu-node-55"}),
        ("gpu-node-54.log", set()),
        ("dmesg-gpu-node-7.txt", {"gpu-node-7"}),
        ("mpstat-20261115-201517.txt", set()),
        ("ray/driver.log", set()),
    ],
)
def test_names_like_a_known_one_but_for_a_number_are_of_others(path: str, found: set[str]) -> None:
    assert numbered_alike(Path(path), {"gpu-node-54", "4711", "n1"}) == found


def test_what_no_header_names_is_not_of_the_only_node_that_one_names(tmp_path: Path) -> None:
    for node, running in (("gpu-7", 4), ("gpu-8", 9)):
        (tmp_path / "in" / node).mkdir(parents=True)
        load = LOADAVG.replace("4/79", f"{running}/79")
        (tmp_path / "in" / node / "load.log").write_text(f"{mark(0)}{load}{mark(1)}{load}")
    made.write(tmp_path / "in" / "gpu-7" / "mpstat.txt", table("gpu-7"))
    folders = (str(tmp_path / "in" / node) for node in ("gpu-7", "gpu-8"))
    report = do_import(tmp_path / "out", *folders)
    assert [one.node for one in report.recordings] == ["gpu-7", "gpu-8"]
