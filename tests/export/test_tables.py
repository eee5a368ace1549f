from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume import export
from exhume.errors import ExhumeError
from exhume.export.tables import core_map, series
from exhume.model.answers import Filter
from exhume.model.evidence import InstanceSeries, SeriesReport
from exhume.model.fields import BY_ID
from exhume.model.window import Window
from tests.cli import made_up
from tests.export.made import WINDOW, names, recording
from tests.store.make import SECOND, T0, at


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def report(instance: str, values: list[float]) -> SeriesReport:
    count = len(values)
    one = InstanceSeries(
        instance, count, 0, 0, 0, 0, 0, T0 + np.arange(count) * SECOND, np.array(values)
    )
    return SeriesReport(WINDOW, BY_ID["nic.stat"], True, "per second", (one,), 0)


def test_a_series_has_times_for_people_and_for_programs() -> None:
    text = "".join(series(report("eth0 rx, all", [1.5, float("nan")])))
    assert text.split("\r\n") == [
        "time,epoch_seconds,instance,value",
        '2026-11-15T20:10:00.000Z,1794773400.000,"eth0 rx, all",1.5',
        '2026-11-15T20:10:01.000Z,1794773401.000,"eth0 rx, all",',
        "",
    ]


@given(names, st.lists(st.floats(-1e300, 1e300) | st.just(float("nan")), max_size=4))
def test_any_name_and_value_reads_back(name: str, values: list[float]) -> None:
    found = rows("".join(series(report(name, values))))[1:]
    assert len(found) == len(values)
    for (_, _, shown, cell), value in zip(found, values, strict=True):
        assert shown.isprintable()
        assert not shown.startswith(("=", "+", "-", "@"))
        assert cell == "" if np.isnan(value) else float(cell) == pytest.approx(value, rel=1e-14)


def test_the_map_of_cores_has_a_row_for_each_cell() -> None:
    answer = made_up.core_map(3, 20, 10, burst=(1, 8, 4), gap=(0, 2))
    head, *found = rows("".join(core_map(answer)))
    cells = [dict(zip(head, row, strict=True)) for row in found]
    assert len(cells) == 30
    hot = [cell for cell in cells if cell["worst_percent"] == "100.0"]
    assert {(cell["core"], cell["worst_mode"]) for cell in hot} == {("1", "system")}
    assert len(hot) == 2
    gap = cells[0]
    assert (gap["seconds"], gap["worst_percent"], gap["worst_mode"]) == ("2", "", "")
    assert hot[0]["time"] == "2024-05-01T03:19:48.000Z"


def test_a_field_comes_as_its_rate_unless_raw(tmp_path: Path) -> None:
    found = recording(tmp_path)
    options = export.Options(field=BY_ID["cpu.user"], instances=("1",))
    values = [row[3] for row in rows(export.write("csv", found, WINDOW, options=options).decode())]
    assert values[1:4] == ["20", "20", "20"]
    raw = export.Options(field=BY_ID["cpu.user"], instances=("1",), raw=True)
    values = [row[3] for row in rows(export.write("csv", found, WINDOW, options=raw).decode())]
    assert values[1:4] == ["0", "20", "40"]


def test_the_map_can_be_of_some_cores_and_of_longer_steps(tmp_path: Path) -> None:
    found = recording(tmp_path)
    options = export.Options(step_ns=5 * SECOND)
    text = export.write("csv", found, WINDOW, Filter(cores=(1, 3)), options).decode()
    assert [row[3] for row in rows(text)[1:]] == ["1", "3", "1", "3"]


def test_filters_that_counters_do_not_know_are_refused(tmp_path: Path) -> None:
    found = recording(tmp_path)
    with pytest.raises(ExhumeError, match="know no processes"):
        export.write("csv", found, WINDOW, Filter(comms=("kubelet",)))
    options = export.Options(field=BY_ID["cpu.user"])
    with pytest.raises(ExhumeError, match="know no processes"):
        export.write("csv", found, WINDOW, Filter(cores=(1,)), options)


def test_a_map_too_big_says_which_step_would_do(tmp_path: Path) -> None:
    options = export.Options(step_ns=1000)
    with pytest.raises(ExhumeError, match="too big") as error:
        export.write("csv", recording(tmp_path), WINDOW, options=options)
    assert "--step, such as 1ms" in error.value.todo


@pytest.mark.parametrize(
    ("window", "step", "first", "steps"),
    [
        (WINDOW, SECOND, 0, 10),
        (at(2.3, 6.14), SECOND, 2, 7),
        (at(1, 8), 5 * SECOND, 0, 2),
        (at(0, 10 + 1e-9), SECOND, 0, 10),
        (at(0, 5), 60 * SECOND, 0, 1),
        (at(3.004, 0.05), SECOND // 100, 3, 6),
    ],
)
def test_steps_are_as_long_as_asked_for_and_begin_at_multiples_of_that(
    window: Window, step: int, first: float, steps: int, tmp_path: Path
) -> None:
    options = export.Options(step_ns=step)
    text = export.write("csv", recording(tmp_path), window, Filter(cores=(1,)), options).decode()
    found = rows(text)[1:]
    assert {float(row[2]) for row in found} == {step / SECOND}
    wanted = [f"{T0 / SECOND + first + number * step / SECOND:.3f}" for number in range(steps)]
    assert [row[1] for row in found] == wanted
