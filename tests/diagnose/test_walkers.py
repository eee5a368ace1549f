"""What walks dead cgroups is told by the functions seen, and said to be no more than is known."""

from __future__ import annotations

import pytest

from exhume.diagnose.kernel_paths import kernel_paths
from exhume.diagnose.walkers import walker_in, walkers


@pytest.mark.parametrize(
    ("functions", "what"),
    [
        (("ksys_read", "memcg_numa_stat_show", "cpumask_next"), "memory.numa_stat"),
        (("memory_stat_format", "cgroup_rstat_flush_locked"), "reading memory.stat"),
        (("process_one_work", "cgroup_rstat_flush_locked"), "statistics"),
        (("mem_cgroup_force_empty_write", "shrink_many"), "reclaim"),
        (("mem_cgroup_iter",), None),
        ((), None),
    ],
)
def test_the_functions_tell_what_walks(functions: tuple[str, ...], what: str | None) -> None:
    found = walker_in(dict.fromkeys(functions, 0.9))
    assert (found is None) if what is None else (found is not None and what in found.what)


def test_a_function_in_few_samples_tells_nothing() -> None:
    assert walker_in({"memcg_numa_stat_show": 0.1}) is None


@pytest.mark.parametrize(
    ("function", "kernel", "lets_run"),
    [
        ("memcg_numa_stat_show", "5.4.0-1146-aws", False),
        ("memcg_numa_stat_show", "", None),
        ("memcg_numa_stat_show", "6.1.0", None),
        ("memory_stat_format", "4.19.0", False),
        ("memory_stat_format", "5.4.0", None),
        ("cgroup_rstat_flush_locked", "5.4.0", None),
        ("shrink_many", "6.18.44", True),
        ("shrink_many", "", None),
    ],
)
def test_whether_others_can_run_is_said_only_where_it_is_known(
    function: str, kernel: str, lets_run: bool | None
) -> None:
    found = walker_in({function: 1.0})
    assert found is not None
    assert found.lets_run_on(kernel) is lets_run


def test_every_walker_is_a_walk() -> None:
    path = next(one for one in kernel_paths() if one.id == "zombie-walk")
    for one in walkers():
        names = (*one.functions.exact, *one.functions.starts)
        assert [name for name in names if not path.has(name)] == []
