from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.perf.symbols import kallsyms
from exhume.perf.symbols.kallsyms import Kallsyms, parse, with_extra
from exhume.perf.symbols.table import SymbolTable

TEXT = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000040 t do_one_initcall
ffffffff81000100 W arch_weak
ffffffff81000100 T arch_strong
ffffffff81000200 T last_function
ffffffff81000280 D some_data
ffffffff81f00000 r __ksymtab_schedule
ffffffffc0200000 t helper\t[nf_tables]
ffffffffc0200040 T nft_do_chain\t[nf_tables]
ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]
"""


def table(found: Kallsyms) -> SymbolTable:
    assert found.table is not None
    return found.table


def at(found: SymbolTable, address: int) -> tuple[str, str] | None:
    index = int(found.lookup(np.array([address], np.uint64))[0])
    return None if index < 0 else (found.name(index), found.module_name(index))


def test_functions_are_found_with_their_modules_and_data_is_not() -> None:
    found = table(parse(TEXT.encode()))
    assert at(found, 0xFFFFFFFF81000041) == ("do_one_initcall", "")
    assert at(found, 0xFFFFFFFFC020003F) == ("helper", "nf_tables")
    assert at(found, 0xFFFFFFFFC0200050) == ("nft_do_chain", "nf_tables")
    assert at(found, 0xFFFFFFFFC0300010) == ("bpf_prog_6deef7357e7b4530", "bpf")
    assert at(found, 0xFFFFFFFF81F00000) is None
    assert at(found, 0) is None


def test_a_function_ends_at_the_next_symbol_of_any_kind() -> None:
    found = table(parse(TEXT.encode()))
    assert at(found, 0xFFFFFFFF8100027F) == ("last_function", "")
    assert at(found, 0xFFFFFFFF81000280) is None


def test_the_last_name_of_an_address_counts_as_it_does_for_perf() -> None:
    assert at(table(parse(TEXT.encode())), 0xFFFFFFFF81000100) == ("arch_strong", "")
    # As on Ubuntu's 5.4: perf says __x64_sys_vfork and memset there.
    text = b"""ffffffff81000100 T __ia32_sys_vfork
ffffffff81000100 T __x64_sys_vfork
ffffffff81000200 T __memset
ffffffff81000200 W memset
"""
    found = table(parse(text))
    assert at(found, 0xFFFFFFFF81000110) == ("__x64_sys_vfork", "")
    assert at(found, 0xFFFFFFFF81000210) == ("memset", "")


@pytest.mark.parametrize(
    "boundary", ["__lock_text_start", "__softirqentry_text_start", "_stext", "__entry_text_end"]
)
def test_where_a_section_begins_is_no_name_of_a_function(boundary: str) -> None:
    text = f"""ffffffff81000100 t _raw_spin_unlock_irqrestore
ffffffff81000100 T {boundary}
ffffffff81000200 T {boundary}
"""
    found = table(parse(text.encode()))
    assert at(found, 0xFFFFFFFF81000110) == ("_raw_spin_unlock_irqrestore", "")
    assert at(found, 0xFFFFFFFF81000210) == (boundary, "")


def test_hidden_addresses_are_a_reason_and_not_a_table() -> None:
    hidden = "".join(f"{0:016x}{line[16:]}\n" for line in TEXT.splitlines())
    found = parse(hidden.encode())
    assert found.table is None
    assert "CAP_SYSLOG" in found.reason


def test_a_32_bit_kernel_has_eight_digits() -> None:
    found = table(parse(b"c0100000 T _stext\nc0100010 T start_kernel\n"))
    assert at(found, 0xC0100018) == ("start_kernel", "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ffffffff81000000 T ok\nffffffff81000000T bad\n", 2),
        ("ffffffff81000000 T ok\nffffffff8100000g T bad\n", 2),
        ("ffffffff81000000 T ok\n\nffffffff81000000 T ok\n", 2),
        ("no addresses at all\n", 1),
        ("ffffffff81000000 \n", 1),
        ("ffffffff81000000 T \nffffffff81000000 T", 2),
    ],
)
def test_a_line_that_is_none_is_named_by_its_number(text: str, line: int) -> None:
    with pytest.raises(ParseError, match=f"line {line}:"):
        parse(text.encode())


def test_a_missing_or_empty_file_is_a_reason(tmp_path: Path) -> None:
    host = Host(proc=tmp_path)
    assert "CONFIG_KALLSYMS" in kallsyms.read(host).reason
    (tmp_path / "kallsyms").write_text("")
    assert "empty" in kallsyms.read(host).reason


def test_the_last_line_may_lack_its_newline() -> None:
    assert len(table(parse(TEXT.rstrip("\n").encode()))) == len(table(parse(TEXT.encode())))


def test_later_symbols_are_added_with_their_modules() -> None:
    new = (0xFFFFFFFFC0400000, 64, "bpf_trampoline_1", "bpf")
    module = (0xFFFFFFFFC0500000, 32, "late", "late_module")
    found = with_extra(table(parse(TEXT.encode())), [new, module])
    assert at(found, 0xFFFFFFFFC040003F) == ("bpf_trampoline_1", "bpf")
    assert at(found, 0xFFFFFFFFC0400040) is None
    assert at(found, 0xFFFFFFFFC050001F) == ("late", "late_module")
    assert at(found, 0xFFFFFFFF81000041) == ("do_one_initcall", "")


def test_a_new_bpf_program_takes_the_place_of_the_one_it_overlaps() -> None:
    found = with_extra(
        table(parse(TEXT.encode())),
        [(0xFFFFFFFFC0300010, 64, "older", "bpf"), (0xFFFFFFFFC0300010, 32, "newest", "bpf")],
    )
    assert at(found, 0xFFFFFFFFC0300000) is None
    assert at(found, 0xFFFFFFFFC0300018) == ("newest", "bpf")


def test_nothing_extra_changes_nothing() -> None:
    before = table(parse(TEXT.encode()))
    assert with_extra(before, []) is before


LINES = st.lists(
    st.tuples(
        st.integers(1, (1 << 64) - 8192),
        st.sampled_from("tTwWdDrRaAbB"),
        st.text("abc_.$0123", min_size=1, max_size=9),
        st.sampled_from(["", "nf_tables", "bpf"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=2000)
@given(LINES)
def test_every_function_is_found_at_its_address(rows: list[tuple[int, str, str, str]]) -> None:
    text = "".join(
        f"{address:016x} {kind} {name}" + (f"\t[{module}]\n" if module else "\n")
        for address, kind, name, module in rows
    )
    found = table(parse(text.encode()))
    for address, kind, *_ in rows:
        if kind in "tTwW":
            same = {(name, module) for a, k, name, module in rows if a == address and k in "tTwW"}
            assert at(found, address) in same


@settings(max_examples=200, deadline=2000)
@given(st.data())
def test_damaged_text_is_refused_or_read_but_never_worse(data: st.DataObject) -> None:
    damaged = bytearray(TEXT.encode()[: data.draw(st.integers(0, len(TEXT)))])
    for _ in range(data.draw(st.integers(0, 6)) if damaged else 0):
        at_byte = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at_byte] = data.draw(st.sampled_from(list(b"\n\t [0fx\0\xff")))
    try:
        parse(bytes(damaged))
    except ParseError:
        return


@settings(deadline=2000)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused_or_read(data: bytes) -> None:
    try:
        parse(data)
    except ParseError:
        return


@pytest.mark.kernel
@pytest.mark.skipif(os.geteuid() != 0, reason="addresses are hidden from all but root")
def test_the_real_kernels_functions_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    data = Path("/proc/kallsyms").read_bytes()
    begin = time.process_time()
    found = parse(data)
    seconds = time.process_time() - begin
    if found.table is None:
        pytest.skip(found.reason)
    lines = data.count(b"\n")
    with capsys.disabled():
        print(f"\n  kallsyms: {lines} lines in {seconds:.3f} CPU s, {len(found.table)} functions")
    wanted: dict[int, set[str]] = {}
    for line in data.splitlines():
        address, kind, name, *_ = line.split()
        if kind in b"tT":
            wanted.setdefault(int(address, 16), set()).add(name.decode())
    sample = [a for a in wanted if a][:: max(len(wanted) // 500, 1)]
    indexes = found.table.lookup(np.array(sample, np.uint64)).tolist()
    wrong = [hex(a) for a, i in zip(sample, indexes, strict=True)
             if i < 0 or found.table.name(i) not in wanted[a]]  # fmt: skip
    assert not wrong
