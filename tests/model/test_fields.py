"""The catalogue is complete: all that can be recorded has an entry, and no entry is dead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exhume.model.fields import BY_ID, CPU_MODES, EVENT_KINDS, FIELDS
from exhume.model.reading import Reading
from exhume.record import sources as registry
from exhume.record.sources import Context
from exhume.sources import cpu_bandwidth, ethtool, memcg_count, memcg_holders, units
from exhume.sources.cpu_bandwidth import Bandwidth
from exhume.sources.memcg_holders import Holder, Holders
from tests.sources.trees import SIZES, Machine, Tree

SOURCE = Path(registry.__file__).parents[1]
PACKAGES = ("sources", "record")
GROUPS = sorted({field.id.partition(".")[0] for field in FIELDS})
ID = re.compile(rf"(?:{'|'.join(GROUPS)})(?:\.[a-z0-9_]+)+")
NOT_FIELDS = frozenset(
    {
        *("cgroup.controllers", "cgroup.events", "cgroup.procs", "cgroup.stat"),
        *("memory.stat", "cpu.cfs_quota_us", "cpu.max", "cpu.stat", "system.slice"),
    }
)
"""Names of files that look like the id of a field."""

UNUSED: dict[str, str] = {}
"""Entries that nothing records yet, and why they are there."""


def strings() -> Iterator[tuple[str, str]]:
    """Module and text of every string in the code that records, but not of docstrings."""
    for package in PACKAGES:
        for file in sorted((SOURCE / package).glob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if id(node) not in prose:
                        yield f"{package}/{file.name}", node.value
                elif isinstance(node, ast.JoinedStr):
                    yield f"{package}/{file.name}", "".join(map(_piece, node.values))


def _piece(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"


def written_out() -> set[str]:
    return {text for _, text in strings() if ID.fullmatch(text) and text not in NOT_FIELDS}


def patterns() -> list[re.Pattern[str]]:
    """`f"memcg.{name}"` stands for every id that it could make."""
    found = {text for _, text in strings() if "{}" in text and ID.match(text.replace("{}", "x"))}
    return [re.compile(re.escape(text).replace(r"\{\}", "[a-z0-9_]+")) for text in found]


def read_on_fake_machines(root: Path) -> set[str]:
    """Run every source of the registry on trees of files, and the rest on values made up."""
    found: set[str] = set()
    machines = [Machine(cores=cores) for cores in SIZES]
    machines += [Machine(cores=2, is_old=True, cgroups="v1"), Machine(cores=2, cgroups="hybrid")]
    for index, machine in enumerate(machines):
        tree = Tree(root / str(index), machine).build()
        tree.process(7000, "busy", state="R", user=100 * index)
        context = Context(tree.host, lambda: None, lambda: [7000])  # type: ignore[arg-type,return-value]
        for source in (*registry.fast(context), *registry.slow(context)):
            if source.name in ("kmsg", "units", "containers", "nic"):
                continue  # they need devices and sockets; their readings come below
            collected = source.collect()
            found.update(reading.field for reading in (collected.readings if collected else ()))
    return found | {reading.field for reading in made_up()}


def made_up() -> Iterator[Reading]:
    yield from memcg_count.readings(memcg_count.MemcgCount(2, 9, 4, 5, 1))
    yield from memcg_holders.readings(Holders((Holder("/a", 3),), is_complete=True))
    yield from memcg_holders.readings(Holders((Holder("/a", None, 1, 2, 3),), is_complete=True))
    yield from cpu_bandwidth.readings({"/a": Bandwidth(1, 2, 3)})
    yield from units.readings((units.Unit("a", "1", active_state="active", restarts_total=1),))
    names = ("tx_timeout", "rx_drops", "conntrack_allowance_available")
    yield from ethtool.readings((ethtool.NicStats("eth0", names, np.ones(3, np.int64)),))


def test_every_id_in_the_code_that_records_has_an_entry() -> None:
    unknown = sorted(written_out() - set(BY_ID))
    assert not unknown, f"not in model/fields.py: {unknown}"


def test_everything_that_is_read_has_an_entry(tmp_path: Path) -> None:
    found = read_on_fake_machines(tmp_path)
    assert len(found) > 90
    assert not sorted(found - set(BY_ID))


def test_no_entry_is_dead_unless_it_says_why(tmp_path: Path) -> None:
    used = read_on_fake_machines(tmp_path) | written_out()
    known = patterns()
    dead = [
        field.id
        for field in FIELDS
        if field.id not in used and not any(pattern.fullmatch(field.id) for pattern in known)
    ]
    assert dead == sorted(UNUSED)


def test_every_kind_of_event_is_made_somewhere_and_known() -> None:
    kinds = {kind.id for kind in EVENT_KINDS}
    written: set[str] = set()
    made: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        if file.parent.name in ("cli", "render", "model"):
            continue  # those show, and list, what others make
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                written.add(node.value)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Event":
                made.update(
                    str(arg.value) for arg in node.args[1:2] if isinstance(arg, ast.Constant)
                )
    assert kinds <= written
    assert len(made) > 5
    assert made <= kinds


def test_ids_are_unique_and_units_are_said() -> None:
    assert len(BY_ID) == len(FIELDS)
    for field in FIELDS:
        assert re.fullmatch(r"[a-z]+(\.[a-z0-9_]+)+", field.id)
        assert field.unit
        assert field.help.endswith(".")
        for suffix, unit in (("_bytes", "bytes"), ("_ns", "nanoseconds"), ("_us", "microseconds")):
            if field.id.endswith(suffix):
                assert field.unit == unit, field.id


@pytest.mark.parametrize("mode", CPU_MODES)
def test_every_column_of_proc_stat_is_there(mode: str) -> None:
    assert BY_ID[f"cpu.{mode}"].instance == "core"
