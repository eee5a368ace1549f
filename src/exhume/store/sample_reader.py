"""samples.parquet: a column at a time, and only the cores that are asked for."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from exhume.model.arrays import I32
from exhume.store import layout, tables
from exhume.store.checked import UNDECODABLE, CheckedFiles, within
from exhume.store.column_types import ColumnType
from exhume.store.parquet import row_group_rows
from exhume.store.rollups import nodes_by_rank
from exhume.store.view import SampleColumns


def sample_columns(files: CheckedFiles, cores: Collection[int]) -> SampleColumns:
    """Of all cores, where none is named. Raises only when a column is first looked at."""
    counts = files.meta.core_samples
    few = tuple((core, count) for core, count in counts if core in cores)
    is_few = bool(cores) and 2 * sum(count for _, count in few) < files.meta.samples
    if is_few and (files.key, "samples", "time", ()) not in files.cache:
        counts = few
    chosen = tuple(core for core, _ in counts)
    read = () if counts is files.meta.core_samples else chosen
    return SampleColumns(
        chosen,
        np.cumsum([0, *(count for _, count in counts)]).astype(np.int64),
        files.meta.start_ns,
        layout.TICK_NS,
        lambda name: _cached(files, name, read),
        lambda: _nodes(files),
    )


def _cached(files: CheckedFiles, name: str, cores: tuple[int, ...]) -> I32:
    """Each column by itself: a question seldom needs all."""
    return files.cache.get(
        (files.key, "samples", name, cores),
        lambda: _read(files, name, cores),
        lambda found: found.nbytes,
    )


def _read(files: CheckedFiles, name: str, cores: tuple[int, ...]) -> I32:
    (column,) = (column for column in tables.SAMPLES if column.name == name)
    samples = files.meta.samples
    values: I32
    if cores:
        values = _read_cores(files, column, cores)
    else:
        values = files.table(layout.SAMPLES, (column,))[name]
        files.need(layout.SAMPLES, len(values) == samples, f"{samples} samples")
    if name != "time":
        other = layout.THREADS if name == "thread" else layout.STACKS
        limit = files.meta.files[other].rows if other in files.meta.files else 0
        files.need(layout.SAMPLES, within(values, limit), f"rows of {other}")
    return values


def _read_cores(files: CheckedFiles, column: ColumnType, cores: tuple[int, ...]) -> I32:
    """Only the row groups that hold these cores: samples are ordered by core."""
    try:
        lengths = row_group_rows(files.data(layout.SAMPLES))
    except UNDECODABLE as error:
        raise files.damaged(layout.SAMPLES, f"a table ({error})") from error
    starts = np.cumsum([0, *lengths])
    samples = files.meta.samples
    files.need(layout.SAMPLES, int(starts[-1]) == samples, f"{samples} samples")
    parts: list[I32] = []
    begin = 0
    for core, count in files.meta.core_samples:
        if core in cores and count:
            first = int(np.searchsorted(starts, begin, "right")) - 1
            last = int(np.searchsorted(starts, begin + count, "left"))
            groups = list(range(first, last))
            values: I32 = files.table(layout.SAMPLES, (column,), groups)[column.name]
            parts.append(values[begin - starts[first] :][:count])
        begin += count
    return np.concatenate([np.empty(0, np.int32), *parts])


def _nodes(files: CheckedFiles) -> I32:
    """Samples hold the rank of their stack, which the counts in stacks.parquet give."""
    return files.cache.get(
        (files.key, "nodes"),
        lambda: nodes_by_rank(files.table(layout.STACKS, tables.STACKS[3:])["samples"]),
        lambda found: found.nbytes,
    )
