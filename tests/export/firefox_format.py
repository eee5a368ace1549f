"""What the Firefox Profiler's reader takes for granted of a processed profile, version 60.

After docs-developer/processed-profile-format.md, CHANGELOG-formats.md and src/types/profile.ts of
firefox-devtools/profiler: the columns of each table, what they index, what may be null.
"""

from __future__ import annotations

from typing import Any

COLOURS = {
    "transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta",
    "red", "lightred", "darkgrey", "grey",
}  # fmt: skip
# Table → column → what it indexes, or its type; ? for nullable, -1 for "none".
TABLES: dict[str, dict[str, str]] = {
    "stackTable": {"frame": "frameTable", "prefix": "?stackTable"},
    "frameTable": {
        "address": "int", "inlineDepth": "int", "category": "?categories", "subcategory": "?int",
        "func": "funcTable", "nativeSymbol": "?nativeSymbols", "innerWindowID": "?int",
        "line": "?int", "column": "?int",
    },
    "funcTable": {
        "name": "strings", "isJS": "bool", "relevantForJS": "bool", "resource": "-1resourceTable",
        "source": "?sources", "lineNumber": "?int", "columnNumber": "?int",
    },
    "resourceTable": {"lib": "?libs", "name": "strings", "host": "?strings", "type": "int"},
    "nativeSymbols": {
        "libIndex": "libs", "address": "int", "name": "strings", "functionSize": "?int",
    },
    "sources": {"uuid": "?str", "filename": "strings"},
}  # fmt: skip
SAMPLES = {"stack": "?stackTable", "time": "number", "weight": "number", "threadCPUDelta": "number"}
MARKERS = {
    "name": "strings", "startTime": "?number", "endTime": "?number", "phase": "int",
    "category": "categories", "data": "?dict",
}  # fmt: skip
THREAD: dict[str, type | tuple[type, ...]] = {
    "processType": str, "processName": str, "processStartupTime": (int, float), "name": str,
    "registerTime": (int, float), "pausedRanges": list, "isMainThread": bool, "pid": str,
    "tid": (int, str), "samples": dict, "markers": dict,
}  # fmt: skip
LIB = {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}
TYPES = {
    "int": (int,), "number": (int, float), "bool": (bool,), "str": (str,), "dict": (dict,),
}  # fmt: skip


def check(profile: Any) -> None:
    shared, meta = profile["shared"], profile["meta"]
    sizes = {name: shared[name]["length"] for name in TABLES}
    sizes |= {
        "strings": len(shared["stringArray"]),
        "libs": len(profile["libs"]),
        "categories": len(meta["categories"]),
    }
    assert all(isinstance(text, str) for text in shared["stringArray"])
    for name, columns in TABLES.items():
        _table(name, shared[name], columns, sizes)
    for row, prefix in enumerate(shared["stackTable"]["prefix"]):
        assert prefix is None or prefix < row, "a caller comes before what it calls"
    for lib in profile["libs"]:
        assert set(lib) == LIB
    _meta(meta, len(profile["threads"]))
    mains = [thread["pid"] for thread in profile["threads"] if thread["isMainThread"]]
    assert len(set(mains)) == len(mains), "one main thread a process"
    for thread in profile["threads"]:
        _thread(thread, meta, sizes)


def _meta(meta: Any, threads: int) -> None:
    assert meta["preprocessedProfileVersion"] == 60
    assert meta["interval"] > 0
    assert meta["startTime"] > 1e12  # milliseconds since 1970
    assert meta["profilingEndTime"] > meta["profilingStartTime"] == 0
    assert {category["color"] for category in meta["categories"]} <= COLOURS
    assert any(category["color"] == "grey" for category in meta["categories"])
    assert all(category["subcategories"] for category in meta["categories"])
    for name in ("initialVisibleThreads", "initialSelectedThreads"):
        assert meta[name]
        assert len(set(meta[name])) == len(meta[name])
        assert all(0 <= index < threads for index in meta[name])
    for schema in meta["markerSchema"]:
        assert all({"key", "format"} <= set(field) for field in schema["fields"])


def _thread(thread: Any, meta: Any, sizes: dict[str, int]) -> None:
    for name, kind in THREAD.items():
        assert isinstance(thread[name], kind), name
    assert {"processShutdownTime", "unregisterTime"} <= set(thread)
    samples, markers = thread["samples"], thread["markers"]
    columns = dict(SAMPLES)
    if samples["weightType"] == "samples":
        del columns["threadCPUDelta"]  # of what is no time there is no CPU use
    else:
        assert samples["weightType"] == "tracing-ms"
    _table("samples", {k: v for k, v in samples.items() if k != "weightType"}, columns, sizes)
    _table("markers", markers, MARKERS, sizes)
    times = samples["time"]
    assert times == sorted(times)
    assert all(0 <= time <= meta["profilingEndTime"] for time in times)
    fields = {
        schema["name"]: {field["key"] for field in schema["fields"]}
        for schema in meta["markerSchema"]
    }
    for phase, start, end, data in zip(
        *(markers[name] for name in ("phase", "startTime", "endTime", "data")), strict=True
    ):
        assert (phase, end) == (0, None), "an instant"
        assert start is not None
        assert set(data) - {"type"} <= fields[data["type"]]


def _table(name: str, table: Any, columns: dict[str, str], sizes: dict[str, int]) -> None:
    assert set(table) == {*columns, "length"}, name
    for column, kind in columns.items():
        values = table[column]
        assert len(values) == table["length"], f"{name}.{column}"
        plain = kind.lstrip("?").removeprefix("-1")
        for value in values:
            if value is None:
                assert kind.startswith("?"), f"{name}.{column}"
            elif plain in TYPES:
                assert isinstance(value, TYPES[plain]), f"{name}.{column}"
            else:
                least = -1 if kind.startswith("-1") else 0
                assert least <= value < sizes[plain], f"{name}.{column}"
