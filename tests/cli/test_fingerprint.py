from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from exhume.cli.main import main
from exhume.cli.schemas import schemas
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


def test_a_place_that_can_not_be_written_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "-o", "/dev/null/x.json"]) == 77
    assert "cannot write" in capsys.readouterr().err
