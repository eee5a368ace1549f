from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exhume.perf.symbols.demangle import MAX_CHARS, demangle, demangle_all, shorten
from exhume.perf.symbols.mangled import itanium
from tests.perf.symbols.real_programs import CPP_SOURCE, compiled, run


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        # Itanium C++: without result and parameters, as perf prints them
        ("_Z3foov", "foo"),
        ("_ZN3foo3barEi", "foo::bar"),
        ("_ZNK3foo3barEv", "foo::bar"),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"),
        ("_ZNSsC1Ev", "std::basic_string<char, std::char_traits<char>, "
                      "std::allocator<char> >::basic_string"),
        ("_ZN3FooC2ERKS_", "Foo::Foo"),
        ("_ZN3BoxIiED0Ev", "Box<int>::~Box"),
        ("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"),
        ("_ZL6helperPKc", "helper"),
        ("_ZlsRSoRK3Foo", "operator<<"),
        ("_ZN3FoocvbEv", "Foo::operator bool"),
        ("_ZN3FoocvT_IiEEv", "Foo::operator auto<int>"),
        ("_ZN1AltIiEEbRKT_", "A::operator< <int>"),
        ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"),
        ("_ZZN1A1fEiENKUliPKcE0_clEiS1_", "A::f::{lambda(int, char const*)#2}::operator()"),
        ("_ZZ4mainENKUlT_E_clIiEEDaS_", "main::{lambda(auto:1)#1}::operator()<int>"),
        ("_ZNSt8functionIFvRKiPA3_cEED1Ev",
         "std::function<void (int const&, char (*) [3])>::~function"),
        ("_ZN1TIM3FooKFviEE1fEv", "T<void (Foo::*)(int) const>::f"),
        ("_ZN1TILb1ELj5ELin3ELN2NS1EE2EE1fEv", "T<true, 5u, -3, (NS::E)2>::f"),
        ("_ZN1TIJiPcEE1fEv", "T<int, char*>::f"),
        ("_ZN1TIXadL_Z3foovEEE1fEv", "T<&foo>::f"),
        ("_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeB5cxx11Ev",
         "std::__cxx11::basic_string<char, std::char_traits<char>, "
         "std::allocator<char> >::size[abi:cxx11]"),
        ("_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar"),
        ("_ZTv0_n24_N3Foo3barEv", "virtual thunk to Foo::bar"),
        ("_ZTW3var", "TLS wrapper function for var"),
        ("_Zli3_kmy", 'operator"" _km'),
        ("_ZN4llvm11PassManagerINS_8FunctionENS_15AnalysisManagerIS1_JEEEJEE3runERS1_",
         "llvm::PassManager<llvm::Function, llvm::AnalysisManager<llvm::Function> >::run"),
        # Rust, both kinds, without their hashes
        ("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"),
        ("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17hd39f8d5d0ea9a1d5E",
         "<alloc::string::String as core::fmt::Debug>::fmt"),
        ("_ZN4demo4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
         "demo::main::{{closure}}"),
        ("_ZN4demo4main17h0123456789abcdefE.llvm.1616799254606599704", "demo::main"),
        ("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"),
        ("_RNCNvC4demo4main0", "demo::main::{closure#0}"),
        ("_RNCNvC4demo4mains_0", "demo::main::{closure#1}"),
        ("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"),
        ("_RNvMs_NtC5alloc3vecINtB4_3VecjE4push", "<alloc::vec::Vec<usize>>::push"),
        ("_RNvXs1g_NtC4core3fmtRNtC3foo3BarNtB6_5Debug3fmt",
         "<&foo::Bar as core::fmt::Debug>::fmt"),
        ("_RINvC3foo3barDNtC3std4SendEL_E", "foo::bar::<dyn std::Send>"),
        ("_RINvC3foo3barFG_RL0_hEuE", "foo::bar::<for<'a> fn(&'a u8)>"),
        ("_RINvC3foo3barAhj8_E", "foo::bar::<[u8; 8]>"),
        ("_RINvC3foo3barKb1_Kln5_E", "foo::bar::<true, -5>"),
        ("_RINvC3foo3barTjEE", "foo::bar::<(usize,)>"),
        ("_RNvC7mycrateu8gdel_5qa", "mycrate::gödel"),
        # What is nobody's mangling stays
        ("main", "main"),
        ("main.(*Server).Serve.func1.2", "main.(*Server).Serve.func1.2"),
        ("runtime.mallocgc", "runtime.mallocgc"),
        ("LazyCompile:~fib /srv/app.js:12", "LazyCompile:~fib /srv/app.js:12"),
        ("_Z", "_Z"),
        ("_R", "_R"),
        ("", ""),
    ],
)  # fmt: skip
def test_names_read_as_people_wrote_them(mangled: str, plain: str) -> None:
    assert demangle(mangled) == plain


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("work.constprop.0", "work"),
        ("work.isra.0.part.3", "work"),
        ("work.cold", "work"),
        ("_ZN3foo3barEv.part.0.cold", "foo::bar"),
        ("_ZN3foo3barEv.llvm.123456", "foo::bar"),
        ("_RNvC3foo3bar.llvm.77", "foo::bar"),
        ("strlen@plt", "strlen@plt"),
        ("_ZN3foo3barEv@plt", "foo::bar@plt"),
    ],
)
def test_copies_an_optimiser_made_fold_into_their_function(name: str, folded: str) -> None:
    assert demangle(name) == folded


def test_in_the_kernel_the_suffixes_stay() -> None:
    assert demangle("ena_clean_tx_irq.constprop.0", kernel=True) == "ena_clean_tx_irq.constprop.0"
    assert demangle("__schedule.cold", kernel=True) == "__schedule.cold"
    assert demangle("_RNvC6kernel4work.cold", kernel=True) == "kernel::work.cold"


def test_many_names_come_back_in_their_order() -> None:
    names = ["_Z3foov", "main", "_Z3foov", "_RNvC3foo3bar"]
    assert demangle_all(names) == ["foo", "main", "foo", "foo::bar"]
    assert demangle_all(["f.cold"], kernel=True) == ["f.cold"]


def sequence(index: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    while index > 0:
        index -= 1
        text = digits[index % 36] + text
        index //= 36
    return f"S{text}_"


def doubling(levels: int) -> str:
    """Each argument is a pair of the one before: 2^levels names, were they printed."""
    name, seen = "_Z1fI1A", 1
    for level in range(levels):
        name += f"4pairI{sequence(seen - 1) * 2}E"
        seen += 2 if level == 0 else 1
    return name + "EvT_"


@pytest.mark.parametrize(
    "name",
    [
        doubling(60),
        doubling(250),
        "_Z1fI" + "P" * 4000 + "iE",
        "_ZN" + "1aI" * 1300,
        "_Z1fI" + "J" * 4000,
        "_ZN1a" + "1b" * 2000 + "E",
        "_Z" + "N" * 4000,
        "_ZN" + "9" * 4000,
        "_ZN1aIiE" + "C1" * 2000 + "E",
        "_R" + "NvC1a" * 800,
        "_RIC0" + "B_" * 2000,
        "_RINvC1a1b" + "T" * 500 + "B9_B9_" * 300,
        "_RINvC1a1bT" + "".join(f"TB{c}_B{c}_E" for c in "9abcdefghijkl") * 20,
        "_ZN" + "3$u7" * 900 + "17h0123456789abcdefE",
        "x" * 1_000_000,
        "a<" * 100_000,
    ],
)
def test_a_hostile_name_costs_little_and_stays_short(name: str) -> None:
    begin = time.process_time()
    assert len(demangle(name)) <= MAX_CHARS
    assert time.process_time() - begin < 1


@settings(deadline=2000)
@given(st.text(max_size=60), st.sampled_from(["", "_Z", "_ZN", "_R", "_RNv", "_ZN3foo"]))
@example("N1aI1bIS0_", "_Z")
def test_any_text_gives_a_name(tail: str, start: str) -> None:
    assert len(demangle(start + tail)) <= MAX_CHARS


GRAMMAR = "NSIEJLXTDPRKOFAMCUZBW_0123456789stclvbijhaeo$."


@settings(deadline=2000)
@given(st.text(GRAMMAR, max_size=80), st.sampled_from(["_Z", "_R"]))
@example("9223372036854775787", "_Z")
def test_text_made_of_the_grammars_letters_gives_a_name(tail: str, start: str) -> None:
    assert len(demangle(start + tail)) <= MAX_CHARS


def test_a_long_name_loses_its_innermost_arguments_first() -> None:
    inner = "d<" + "e" * 600 + ">"
    assert shorten(f"a<b<c<{inner} > > >::run") == "a<b<c<d<...> > > >::run"
    wide = ", ".join(f"argument_{i}" for i in range(100))
    assert shorten(f"outer<{wide}>::operator<<") == "outer<...>::operator<<"
    assert len(shorten("x" * 5000)) == MAX_CHARS


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt here")
def test_the_names_of_libstdcxx_read_as_binutils_reads_them() -> None:
    library = next(Path("/usr/lib").glob("*-linux-gnu/libstdc++.so.6"))
    listed = run("nm", "-D", "--defined-only", library).splitlines()
    names = sorted({line.split()[-1].partition("@")[0] for line in listed if " _Z" in line})
    shown = subprocess.run(
        ["c++filt", "-p"], input="\n".join(names), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    mine = demangle_all(names)
    assert not [name for name, text in zip(names, mine, strict=True) if text.startswith("_Z")]
    # We leave out the parameters of enclosing functions too, and say std::string.
    comparable = re.compile(r"[^(]*|.*operator\(\)|(?!.*std::basic_).*\(anonymous namespace\)[^(]*")
    pairs = [
        (text, theirs)
        for text, theirs in zip(mine, shown, strict=True)
        if comparable.fullmatch(theirs) and "std::basic_" not in theirs
    ]
    assert len(pairs) > 1500
    assert not [pair for pair in pairs if pair[0] != pair[1]]


def test_a_real_cpp_programs_own_functions_are_readable(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", CPP_SOURCE, compiler="g++")
    names = [line.split()[-1] for line in run("nm", program).splitlines()]
    plain = demangle_all(names)
    assert any(text.startswith("deep::Box<std::") and text.endswith("::weigh") for text in plain)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler here")
def test_a_real_rust_programs_own_functions_are_readable(tmp_path: Path) -> None:
    source = tmp_path / "demo.rs"
    source.write_text(
        "#[inline(never)] fn spin<T: std::fmt::Display>(x: T) -> usize { x.to_string().len() }\n"
        "fn main() { std::process::exit(spin(std::env::args().count()) as i32) }\n"
    )
    program = tmp_path / "demo"
    run("rustc", "-C", "symbol-mangling-version=v0", "-o", program, source)
    plain = demangle_all(line.split()[-1] for line in run("nm", program).splitlines())
    assert "demo::main" in plain
    assert "demo::spin::<usize>" in plain


WORDS = ["3foo", "10abcdefghij", "1x", "03bar", "12_GLOBAL__N_1", "9y", "99", "0"]
SIGNS = ["C1", "C2", "D0", "D1", "CI1", "E", "N", "K", "L", "I", "iE", "v", "B5cxx11", "St", "S_"]
PIECES = st.sampled_from([*WORDS, *SIGNS, "Ut_", "cv", "Z", "_"])


@given(st.sampled_from(["_Z", "_ZN", "_ZNK", "_ZL", "_ZNL"]), st.lists(PIECES, max_size=8))
@settings(deadline=None, max_examples=500)
@example("_ZN", ["1000abc", "E"])
@example("_ZN", ["3foo", "D0", "E", "v"])
@example("_Z", ["3foo", "3bar"])
def test_what_needs_no_grammar_is_read_as_by_the_grammar(start: str, pieces: list[str]) -> None:
    name = start + "".join(pieces)
    if (text := itanium.plain(name)) is not None:
        assert text == itanium.by_grammar(name)


def test_words_alone_need_no_grammar() -> None:
    names = [f"_ZN{len(a)}{a}{len(b)}{b}Ev" for a in ("foo", "tree_node") for b in ("run", "x")]
    assert [itanium.plain(name) for name in names] == [
        "foo::run", "foo::x", "tree_node::run", "tree_node::x",
    ]  # fmt: skip
