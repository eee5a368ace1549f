from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.ingest.kernel_copies import Fit, fit, layout_of, read_copy
from exhume.model.arrays import U64
from exhume.perf.datachunk import KernelMap
from tests.ingest.made import TEXT, write

END = TEXT + 0x8000
MODULE = TEXT + 0x4000_0000
DRIVER = TEXT + 0x5000_0000
NAMES = f"""{TEXT:016x} T _stext
{TEXT:016x} T _text
{TEXT + 0x1000:016x} t native_safe_halt
{TEXT + 0x2000:016x} T do_syscall_64
{END:016x} T _etext
{END + 0x1000:016x} D _edata
{MODULE:016x} t nf_hook_slow\t[nf_conntrack]
{DRIVER:016x} t ena_poll\t[ena]
"""
NONE: U64 = np.empty(0, np.uint64)


def fitted(
    folder: Path,
    text: str = NAMES,
    *,
    end: int = END,
    shift: int = 0,
    modules: tuple[KernelMap, ...] = (),
    addresses: U64 = NONE,
) -> Fit:
    at = TEXT + shift
    core = KernelMap(at, end - TEXT, at, "[kernel.kallsyms]_text")
    copy = read_copy(Path(write(folder / "kallsyms", text)))
    assert copy is not None
    return fit(copy, layout_of([core, *modules], addresses))


def test_a_copy_of_that_boot_fits_as_it_is(tmp_path: Path) -> None:
    module = KernelMap(MODULE, 0x1000, 0, "/lib/modules/5.4.0/kernel/net/nf_conntrack.ko.xz")
    assert fitted(tmp_path, modules=(module,)) == Fit(0, True, "")
    assert fitted(tmp_path, end=END + 0x1000) == Fit(0, True, "")  # to _edata, as newer perfs do


def test_a_copy_of_another_boot_fits_when_it_is_moved(tmp_path: Path) -> None:
    assert fitted(tmp_path, shift=0x1200_0000) == Fit(0x1200_0000, False, "")


def test_a_kernel_of_another_length_is_another_kernel_wherever_it_lay(tmp_path: Path) -> None:
    for shift in (0, 0x1200_0000):
        found = fitted(tmp_path, end=END - 0x3000, shift=shift)
        assert found.against == "its kernel ends elsewhere"


def test_where_the_kernels_map_goes_up_to_what_follows_its_length_says_nothing(
    tmp_path: Path,
) -> None:
    module = KernelMap(MODULE, 0x1000, 0, "[nf_conntrack]")
    assert not fitted(tmp_path, end=MODULE, modules=(module,)).against
    assert not fitted(tmp_path, end=(1 << 64) - 1).against


def test_a_copy_that_has_only_code_is_not_judged_by_where_data_ends(tmp_path: Path) -> None:
    only_code = "".join(line for line in NAMES.splitlines(True) if " D " not in line)
    assert not fitted(tmp_path, only_code, end=END + 0x1000).against


def test_modules_that_lay_elsewhere_are_of_another_boot(tmp_path: Path) -> None:
    moved = KernelMap(MODULE + 0x9000, 0x1000, 0, "[nf_conntrack]")
    assert fitted(tmp_path, modules=(moved,)) == Fit(0, False, "")
    kept = KernelMap(DRIVER, 0x1000, 0, "[ena]")  # one may have been loaded anew
    assert fitted(tmp_path, modules=(moved, kept)).is_same_boot


def test_addresses_outside_all_functions_are_of_another_kernel(tmp_path: Path) -> None:
    inside = np.arange(TEXT + 0x1000, TEXT + 0x1020, dtype=np.uint64)
    outside = np.arange(END + 0x1000, END + 0x1020, dtype=np.uint64)
    both = np.concatenate([inside, outside])
    # As old perfs have it, up to the next module.
    module = KernelMap(MODULE, 0x1000, 0, "[nf_conntrack]")
    assert not fitted(tmp_path, end=MODULE, modules=(module,), addresses=inside).against
    found = fitted(tmp_path, end=MODULE, modules=(module,), addresses=both)
    assert found.against == "32 of 64 addresses in the kernel are in none of its functions"


def test_maps_that_cannot_be_are_no_reason_to_fail(tmp_path: Path) -> None:
    module = KernelMap((1 << 64) - 1, (1 << 64) - 1, 0, "[ena]")
    assert not fitted(tmp_path, end=1 << 64, modules=(module,)).against
