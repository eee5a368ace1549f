from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from exhume.cli.main import main
from exhume.cli.schemas import schemas
from exhume.errors import EXIT_DATA
from exhume.fleet import codec
from tests.fleet.made import fingerprint


def test_what_is_written_is_what_json_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("n.json", "n.json.zst"):
        words = ["fingerprint", "-o", str(tmp_path / name), "--label", "zone=a", "--node", "n1"]
        assert main([*words, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        found = codec.read(tmp_path / name)
        assert (found.node, found.hash) == ("n1", shown["hash"])
        zone = found.field("label", "zone")
        assert zone is not None
        assert zone.value == "a"


def test_a_fingerprint_fits_its_schema() -> None:
    one = fingerprint("n", {"sysctl": {"a": "1", "b": ("state", ("x", "y"))}}, {"unit": "broken"})
    schema = json.loads(schemas()["docs/schema/fingerprint.json"])
    written = json.loads(codec.encode(one))
    assert list(Draft202012Validator(schema).iter_errors(written)) == []
    del written["hash"]
    assert list(Draft202012Validator(schema).iter_errors(written)) != []


def test_the_cost_is_told_and_no_network_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr("exhume.fleet.collect.cloud._request", refuse)
    assert main(["fingerprint"]) == 0
    assert "s of CPU" in capsys.readouterr().out


@pytest.mark.parametrize("labels", [["zone"], ["=a"], ["a b=c"], ["z=a", "--label", "z=b"]])
def test_an_odd_label_is_a_usage_error(labels: list[str]) -> None:
    assert main(["fingerprint", "--label", *labels]) == 64


def test_a_place_that_can_not_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["fingerprint", "-o", str(tmp_path / "file/x.json")]) == EXIT_DATA
    assert "x.json can't be written: Not a directory" in capsys.readouterr().err


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root -o /dev/null must not make a file of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 1 << 20)
        assert main(["fingerprint", "-o", str(pipe)]) == 0
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert json.loads(os.read(reading, 1 << 20))["node"]
    finally:
        os.close(reading)
