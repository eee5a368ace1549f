from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from exhume.cli import common
from exhume.cli.main import main
from exhume.cli.render.diff import render
from exhume.cli.schemas import schemas
from exhume.cli.times import Viewpoint, local_zone
from exhume.fleet import codec
from exhume.fleet.diff import diff
from exhume.fleet.fingerprint import fingerprint as collected
from exhume.host import Host
from exhume.model.fingerprint import Fingerprint
from exhume.store import fingerprints
from exhume.store.recording import Recording
from tests.fleet.made import fingerprint
from tests.ingest.made import do_import, write

ONE = fingerprint("one", {"package": {"bash": "5.1"}, "sysctl": {"vm.x": "1"}})
TWO = fingerprint("two", {"package": {"bash": "5.2"}, "sysctl": {"vm.x": "1"}})
HOUR = 3600 * 10**9
START = 1_800_000_000 * 10**9


def put(path: Path, one: Fingerprint) -> str:
    path.write_bytes(codec.encode(one))
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, Any]:
    code = main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    schema = json.loads(schemas()[f"docs/schema/{words[0]}.json"])
    assert list(Draft202012Validator(schema).iter_errors(found)) == []
    return code, found


def test_the_exit_code_tells_differs_same_and_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = put(tmp_path / "1.json", ONE), put(tmp_path / "2.json", TWO)
    partial = put(tmp_path / "3.json", fingerprint("x", {"sysctl": {"vm.x": "1"}},
                                                   {"package": "broken"}))  # fmt: skip
    assert asked(capsys, ["diff", one, two])[0] == 1
    assert asked(capsys, ["diff", one, one])[0] == 0
    assert asked(capsys, ["diff", one, partial])[0] == 2
    assert main(["diff", one, two]) == 1
    text = capsys.readouterr().out
    assert "~ bash  5.1 → 5.2" in text


def test_an_old_version_can_not_be_told_and_another_file_is_bad_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = put(tmp_path / "1.json", ONE)
    (tmp_path / "old.json").write_text('{"fingerprint": 0, "fields": {}}')
    (tmp_path / "other.json").write_text("[]")
    assert main(["diff", one, str(tmp_path / "old.json")]) == 2
    assert "version 0" in capsys.readouterr().err
    assert main(["diff", one, str(tmp_path / "other.json")]) == 65
    assert "other.json" in capsys.readouterr().err
    assert main(["diff", one, str(tmp_path / "nothing.json")]) == 65
    assert main(["diff", one, one, one]) == 64
    assert main(["diff"]) == 64
    assert main(["diff", "--at", "now"]) == 64


def test_what_changed_between_two_times_of_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for hours, one in ((0, ONE), (5, TWO)):
        at = START + hours * HOUR
        fingerprints.write(tmp_path, at, one.hash, codec.encode(replace(one, wall_ns=at)))
    times = ["--at", str(START // 10**9 + 60), "--at", str(START // 10**9 + 6 * 3600)]
    code, found = asked(capsys, ["diff", *times, "--data", str(tmp_path)])
    assert code == 1
    assert found["groups"][0]["changes"][0]["name"] == "bash"
    early = ["--at", str(START // 10**9 - 60), "--at", str(START // 10**9)]
    assert main(["diff", *early, "--data", str(tmp_path)]) == 2
    assert "the first is of" in capsys.readouterr().err
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 0


def test_bare_times_are_those_of_what_was_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(
        tmp_path / "kern.log",
        "2026-11-02T20:30:00Z node-1 kernel: [ 9.1] Out of memory: Killed process 71 (worker) "
        "total-vm:1kB, anon-rss:1kB, file-rss:0kB\n",
    )
    root = tmp_path / "out"
    do_import(root, log, node="node-1")
    end_ns = Recording.open(root).window().end_ns
    for hours, one in ((3, ONE), (1, TWO)):
        at = end_ns - hours * HOUR
        fingerprints.write(root, at, one.hash, codec.encode(replace(one, wall_ns=at)))
    words = ["diff", "--at", "18:30", "--at", "20:00", "--data", str(root), "--utc"]
    code, found = asked(capsys, words)
    assert (code, [found[side]["source"] for side in ("before", "after")]) == (
        1, ["2026-11-02 18:30:00", "2026-11-02 20:00:00"],
    )  # fmt: skip


def test_one_large_update_is_one_line() -> None:
    view = Viewpoint(START, local_zone())
    many = {f"lib{n}": "1" for n in range(300)}
    one = fingerprint("a", {"package": many})
    two = fingerprint("b", {"package": dict.fromkeys(many, "2")})
    screen = common.console(100)
    with screen.capture() as shown:
        screen.print(render(diff(one, two, ("a", "b")), view))
    text = shown.get()
    assert "300 differences: 300 changed" in text
    assert len(text.splitlines()) < 15


def test_hostile_names_do_not_reach_the_terminal() -> None:
    view = Viewpoint(START, local_zone())
    one = fingerprint("a", {"package": {}})
    two = fingerprint("\x1b[31m", {"package": {"\x1b[2J": "\x1b]0;x\x07"}})
    screen = common.console(100)
    with screen.capture() as shown:
        screen.print(render(diff(one, two, ("\x1b", "b")), view))
    assert "\x1b[2J" not in shown.get()
    assert "\\x1b[2J" in shown.get()


SYSCTL = Path("/proc/sys/net/ipv4/tcp_fin_timeout")


@pytest.mark.kernel
@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_a_unit_file_a_sysctl_and_a_package_and_nothing_else(tmp_path: Path) -> None:
    """The real kernel's sysctls; packages and unit files of a root of our own."""
    root = tmp_path / "root"
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "etc/systemd/system").mkdir(parents=True)
    shutil.copy("/var/lib/dpkg/status", root / "var/lib/dpkg/status")
    control = tmp_path / "package/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: exhume-tiny\nVersion: 1.0\nArchitecture: all\n"
                       "Maintainer: n <n@example.org>\nDescription: nothing\n")  # fmt: skip
    deb = tmp_path / "tiny.deb"
    subprocess.run(["dpkg-deb", "-b", str(tmp_path / "package"), str(deb)], check=True,
                   capture_output=True)  # fmt: skip
    host = Host(root=root)
    before_value = SYSCTL.read_text()
    before = collected(host)
    try:
        SYSCTL.write_text(str(int(before_value) + 1))
        (root / "etc/systemd/system/tiny.service").write_text("[Service]\nExecStart=/bin/true\n")
        install = ["dpkg", f"--root={root}", "--log=/dev/null", "--force-bad-path", "-i", str(deb)]
        subprocess.run(install, check=True, capture_output=True)
        after = collected(host)
    finally:
        SYSCTL.write_text(before_value)
    found = diff(before, after, ("before", "after"))
    config = {
        (group.area, change.name, change.what)
        for group in found.groups
        for change in group.changes
        if change.kind == "config"
    }
    assert config == {
        ("unit_file", "tiny.service", "added"),
        ("package", "exhume-tiny", "added"),
        ("sysctl", "net.ipv4.tcp_fin_timeout", "changed"),
    }
