from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume import export
from exhume.export import pprof, protobuf
from exhume.model.core import NO_CORE
from exhume.model.profile import Profile, ProfileTotals
from exhume.sources.protobuf import fields
from tests.cli.made_up import assert_harmless
from tests.export.made import CGROUP, PERIOD, WINDOW, profiles, recording, segment, stack_names
from tests.export.profile_schema import profile_class
from tests.export.readers import MODULES, needs_node, node
from tests.store.make import at

PROFILE = profile_class()


def read(data: bytes) -> Any:
    found = PROFILE()
    found.ParseFromString(gzip.decompress(data))
    return found


def totals(profile: Profile) -> ProfileTotals:
    """Each sample by itself: a total of one."""
    batch = profile.samples
    ones = batch.weight_ns // PERIOD
    return ProfileTotals(
        profile.tables, "core", batch.core, batch.thread, batch.stack, ones, batch.weight_ns
    )


def check(found: Any) -> None:
    """What pprof refuses a profile for (CheckValid of its profile package), and a bit more."""
    strings = found.string_table
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    ids = {one: [item.id for item in getattr(found, one)] for one in
           ("mapping", "location", "function")}  # fmt: skip
    for numbers in ids.values():
        assert 0 not in numbers
        assert len(set(numbers)) == len(numbers)
    for location in found.location:
        assert location.mapping_id in (0, *ids["mapping"])
        assert [line.function_id in ids["function"] for line in location.line] == [True]
    for sample in found.sample:
        assert len(sample.value) == len(found.sample_type)
        assert set(sample.location_id) <= set(ids["location"])
        for label in sample.label:
            assert 0 < label.key < len(strings)
            # Text, or a number with a unit; pprof drops a 0 without one.
            assert (label.str > 0) != (label.num_unit > 0)
            assert max(label.str, label.num_unit) < len(strings)
    for number in (*found.comment, found.default_sample_type):
        assert 0 < number < len(strings)


def labels(found: Any, sample: Any) -> dict[str, str | int]:
    text = found.string_table
    return {text[one.key]: text[one.str] if one.str else one.num for one in sample.label}


def stack(found: Any, sample: Any) -> list[str]:
    """Callers first."""
    function = {one.id: found.string_table[one.name] for one in found.function}
    location = {one.id: function[one.line[0].function_id] for one in found.location}
    return [location[number] for number in sample.location_id][::-1]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return export.write("pprof", recording(tmp_path_factory.mktemp("rec"), segment()), WINDOW)


def test_samples_are_added_up_with_labels_for_who_and_where(data: bytes) -> None:
    found = read(data)
    check(found)
    rows = {
        (*stack(found, sample), labels(found, sample)["core"]): (
            tuple(sample.value),
            labels(found, sample),
        )
        for sample in found.sample
    }
    assert len(rows) == len(found.sample) == 3
    values, named = rows["kubelet", "main", "k_entry_SYSCALL_64", "k_memcg_stat_show", 1]
    assert values == (200, 200 * PERIOD)
    assert named == {
        "comm": "kubelet", "thread": "kubelet", "pid": 10, "tid": 10, "core": 1,
        "cgroup": CGROUP, "unit": "kubelet.service",
    }  # fmt: skip
    _, worker = rows["kubelet", "main", 3]
    assert (worker["comm"], worker["thread"], worker["tid"]) == ("kubelet", "worker", 12)


def test_it_says_when_what_and_how_often(data: bytes) -> None:
    found = read(data)
    text = found.string_table
    kinds = [(text[one.type], text[one.unit]) for one in found.sample_type]
    assert kinds == [("samples", "count"), ("cpu", "nanoseconds")]
    assert (text[found.period_type.type], found.period) == ("cpu", PERIOD)
    assert text[found.default_sample_type] == "cpu"
    assert (found.time_nanos, found.duration_nanos) == (WINDOW.start_ns, 10_000_000_000)
    assert text[found.comment[0]].endswith("cpu-clock samples of node-1")
    modules = {text[one.filename]: one.has_functions for one in found.mapping}
    assert modules == {"node-1": True, "a.out": True, "[kernel]": True}
    assert text[found.mapping[0].filename] == "node-1"


def test_it_lasts_as_long_as_was_sampled(tmp_path: Path) -> None:
    longer = export.write("pprof", recording(tmp_path), at(-10, 30))
    assert read(longer).duration_nanos == 10_000_000_000


@given(profiles())
@settings(max_examples=40, deadline=None)
def test_any_profile_reads_back_as_what_it_was(profile: Profile) -> None:
    found = read(b"".join(pprof.chunks(totals(profile), 10.0, comments=("a\nb",))))
    check(found)
    tree, batch = profile.tables.tree, profile.samples
    wanted = Counter(
        (len(stack_names(tree, node)), core)
        for node, core in zip(batch.stack.tolist(), batch.core.tolist(), strict=True)
    )
    assert wanted == Counter(
        (len(sample.location_id), labels(found, sample).get("core", NO_CORE))
        for sample in found.sample
    )
    for text in found.string_table:
        assert_harmless(text)


def test_the_same_samples_give_the_same_bytes(data: bytes, tmp_path: Path) -> None:
    assert export.write("pprof", recording(tmp_path, segment()), WINDOW) == data


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_any_size_read_back(value: int) -> None:
    written = protobuf.number(7, value)
    found = [number for _, number in fields(written, "test")]
    assert found == ([value & 0xFFFFFFFFFFFFFFFF] if value else [])


@given(st.binary(max_size=300), st.integers(1, 2**29 - 1))
def test_bytes_of_any_length_read_back(value: bytes, field: int) -> None:
    assert list(fields(protobuf.data(field, value), "test")) == [(field, value)]


@needs_node
def test_datadogs_reader_finds_the_same(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "profile.pb"
    file.write_bytes(gzip.decompress(data))
    script = tmp_path / "read.js"
    script.write_text(
        f"const {{Profile}} = require({json.dumps(str(MODULES / 'pprof-format'))});"
        f"const p = Profile.decode(require('fs').readFileSync({json.dumps(str(file))}));"
        "const t = p.stringTable.strings;"
        "console.log(JSON.stringify({n: p.sample.length, m: p.mapping.length,"
        " values: p.sample.map(s => s.value.map(Number)), types: p.sampleType.map(v => t[v.type]),"
        " names: p.function.map(f => t[Number(f.name)])}));"
    )
    found = json.loads(node(script))
    assert (found["n"], found["m"], found["types"]) == (3, 3, ["samples", "cpu"])
    assert sorted(found["values"])[-1] == [200, 200 * PERIOD]
    assert "k_memcg_stat_show" in found["names"]


@pytest.mark.skipif(shutil.which("go") is None, reason="Go, whose pprof this is, is not installed")
def test_gos_pprof_shows_it(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "profile.pb.gz"
    file.write_bytes(data)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off"}

    def shown(*options: str) -> str:
        words = ["go", "tool", "pprof", "-top", "-cum", *options, str(file)]
        return subprocess.run(
            words, capture_output=True, text=True, env=environment, timeout=110, check=True
        ).stdout

    everything = shown()
    assert "File: node-1\n" in everything
    assert re.search(r"Total samples = (3\.10s|3100ms) ", everything)
    assert "k_memcg_stat_show" in everything
    on_core_0 = shown("-tagfocus", "core=0")
    assert "train_step" in on_core_0
    assert "kubelet" not in on_core_0
    assert "kubelet.service" in shown("-tagroot", "unit")
