from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exhume.errors import ExhumeError, ParseError
from exhume.fleet import codec, table
from exhume.fleet.cohort import UNKNOWN, Fleet, fleet_of
from exhume.fleet.loading import load
from exhume.model.fingerprint import Fingerprint, Value
from exhume.store import fingerprints
from tests.fleet.made import fingerprint

ONE = fingerprint("one", {"package": {"bash": "5.1"}, "label": {"zone": ("state", "a")}})
TWO = fingerprint("two", {"package": {"jq": "1.6"}, "unit_wanted": {"x": ("b", "a")[::-1]}})
THREE = fingerprint("three", {"label": {"zone": ("state", "b")}}, {"package": "broken"})


def put(folder: Path, *given: Fingerprint) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for one in given:
        (folder / f"{one.node}.json").write_bytes(codec.encode(one))
    return folder


def cell(fleet: Fleet, node: str, key: str) -> Value | str | None:
    column = next(column for column in fleet.columns if column.key == key)
    code = column.codes[fleet.nodes.index(node)]
    return "unknown" if code == UNKNOWN else column.values[code]


def check(fleet: Fleet) -> None:
    assert cell(fleet, "one", "package/bash") == "5.1"
    assert cell(fleet, "two", "package/bash") is None
    assert cell(fleet, "three", "package/bash") == "unknown"
    assert cell(fleet, "two", "label/zone") == "unknown"


def test_absent_and_unknown_are_two_things(tmp_path: Path) -> None:
    check(load([put(tmp_path, ONE, TWO, THREE)]))


def test_parquet_says_the_same(tmp_path: Path) -> None:
    fleet = fleet_of([ONE, TWO, THREE])
    table.write(fleet, tmp_path / "fleet.parquet")
    again = load([tmp_path])
    check(again)
    assert cell(again, "two", "unit_wanted/x") == ("a", "b")
    assert {c.key: c.kind for c in again.columns} == {c.key: c.kind for c in fleet.columns}


def test_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"".join(map(codec.encode, (ONE, TWO, THREE))))
    check(load([tmp_path / "x.jsonl"]))


def test_forms_can_be_mixed(tmp_path: Path) -> None:
    table.write(fleet_of([ONE]), tmp_path / "fleet.parquet")
    put(tmp_path, TWO, THREE)
    check(load([tmp_path]))


def test_of_a_recording_the_newest_fingerprint_counts(tmp_path: Path) -> None:
    later = fingerprint("one", {"package": {"bash": "5.2"}})
    for wall_ns, one in ((10**18, ONE), (2 * 10**18, later)):
        fingerprints.write(tmp_path / "node", wall_ns, one.hash, codec.encode(one))
    assert cell(load([tmp_path]), "one", "package/bash") == "5.2"


def test_a_node_that_is_there_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    put(tmp_path / "a", ONE)
    put(tmp_path / "b", ONE)
    with pytest.raises(ExhumeError, match="node one is there twice") as caught:
        load([tmp_path])
    assert str(tmp_path / "a") in caught.value.what
    assert str(tmp_path / "b") in caught.value.what


def test_other_files_in_a_directory_are_left_out_and_told(tmp_path: Path) -> None:
    put(tmp_path, ONE)
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "old.json").write_text('{"fingerprint": 0}')
    (tmp_path / "broken.json").write_text("{")
    (note,) = load([tmp_path]).notes
    for name in ("package.json", "old.json", "broken.json"):
        assert name in note
    with pytest.raises(ExhumeError, match="version 0"):
        load([tmp_path / "old.json"])
    with pytest.raises(ParseError):
        load([tmp_path / "package.json"])


def test_a_damaged_fingerprint_stops_the_comparison(tmp_path: Path) -> None:
    data = codec.encode(ONE).replace(b"5.1", b"5.9")
    (tmp_path / "one.json").write_bytes(data)
    with pytest.raises(ParseError, match="hash"):
        load([tmp_path])


def test_nothing_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match="no fingerprints"):
        load([tmp_path])
    with pytest.raises(ExhumeError, match="there is no"):
        load([tmp_path / "x"])


def test_parquet_that_is_no_fleet_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1nothing")
    with pytest.raises(ParseError, match=r"x\.parquet"):
        load([tmp_path / "x.parquet"])
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "y.parquet")
    with pytest.raises(ParseError, match="metadata"):
        load([tmp_path / "y.parquet"])


CASE = {
    "verdict": {
        "status": "found",
        "root_cause": {"kind": "zombie-cgroups", "culprit": {"unit": "ecs.service", "pid": 7}},
    },
    "suspects": [{"culprit": {"comm": "x"}}, "odd", {"culprit": None}],
    "chain": [],
}


def test_cases_belong_to_the_node_they_are_named_after(tmp_path: Path) -> None:
    put(tmp_path, ONE, TWO)
    (tmp_path / "one.case.json").write_text(json.dumps(CASE))
    (tmp_path / "nobody.case.json").write_text(json.dumps(CASE))
    lines = json.dumps({"node": "two", "case": CASE}) + "\n"
    (tmp_path / "cases.jsonl").write_text(lines)
    fleet = load([tmp_path])
    assert {fleet.nodes[place] for place in fleet.cases} == {"one", "two"}
    (facts,) = fleet.cases[fleet.nodes.index("one")]
    assert facts.kind == "zombie-cgroups"
    assert facts.culprits == (("unit", "ecs.service"), ("comm", "x"))
    assert any("nobody.case.json" in note for note in fleet.notes)


def test_a_case_alone_beside_its_node_is_that_nodes(tmp_path: Path) -> None:
    put(tmp_path / "n1", ONE)
    (tmp_path / "n1/why.json").write_text(json.dumps(CASE))
    fleet = load([tmp_path])
    assert list(fleet.cases) == [0]


def test_many_nodes_keep_their_places(tmp_path: Path) -> None:
    prints = [fingerprint(f"n{n}", {"sysctl": {"vm.x": str(n % 3)}}) for n in range(30)]
    fleet = load([put(tmp_path, *prints)])
    column = fleet.columns[0]
    values = [column.values[code] for code in column.codes]
    expected = [str(int(node[1:]) % 3) for node in fleet.nodes]
    assert values == expected
    assert isinstance(column.codes, np.ndarray)
