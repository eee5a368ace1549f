from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.model.stack import Frame, FrameKind
from exhume.perf.script_frames import StackReader, frames_only
from exhume.perf.symbolize import NO_FILE_FRAME, UNKNOWN_FRAME, UNKNOWN_KERNEL_FRAME

KERNEL, USER, UNKNOWN = FrameKind.KERNEL, FrameKind.USER, FrameKind.UNKNOWN


def frames(*lines: str) -> list[Frame]:
    """Leaf first, as perf writes them."""
    return StackReader().read("\n".join(f"\t{line}" for line in lines).encode())[::-1]


@pytest.mark.parametrize(
    "line",
    [
        "ABI:2    AX:0x1ab17    IP:0x55df341fb96e", "insn: 48 01 c2",
        "ilen: 3 insn: 48 89 e5", "ilen: 3", "add+0:", "000000000040112a\tinsn: eb 05  # PRED",
        "BPF output: 0000: 41 42 43 00", "0010: 41 42 43 00  ABC.",
        "[0/net: 4/0xeffffff9, 1/uts: 4/0xeffffffe,", "4/user: 4/0xeffffffd, 6/cgroup: 4/0xb]",
        "N/A", "4K", "2M N/A",
    ],
)  # fmt: skip
def test_lines_of_other_fields_are_no_frames_and_not_odd(line: str) -> None:
    reader = StackReader()
    assert [frame.name for frame in reader.read(f"\t1 a (x)\n {line}\n".encode())] == ["a"]
    assert reader.odd == 0


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("ffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])",
         Frame("native_safe_halt", "kernel", KERNEL)),
        ("ffffffff81000000 do_idle ([kernel])", Frame("do_idle", "kernel", KERNEL)),
        ("414b3b fsnotify (/lib/modules/4.1.0/build/vmlinux)", Frame("fsnotify", "kernel", KERNEL)),
        ("1 f (/boot/vmlinux-5.4.14-cloudflare-2020.1.11)", Frame("f", "kernel", KERNEL)),
        ("ffffffffc087cbc9 mlx5e_xdp_handle+0xa9 (/lib/modules/5.4/kernel/mlx5_core.ko)",
         Frame("mlx5e_xdp_handle", "mlx5_core", KERNEL)),
        ("ffffffffc0201000 nf_hook ([nf_conntrack])", Frame("nf_hook", "nf_conntrack", KERNEL)),
        ("ffffffffc09ace93 bpf_prog_2b95_lb+0xb80 (bpf_prog_2b95_lb)",
         Frame("bpf_prog_2b95_lb", "bpf", KERNEL)),
        ("ffffffff81401136 vfs_read+0x7 (/proc/kcore)", Frame("vfs_read", "kernel", KERNEL)),
        ("ffff80001040113c vfs_read (/root/.debug/.build-id/ab/0123/elf)",
         Frame("vfs_read", "kernel", KERNEL)),
        ("ffffffffff600000 vgettimeofday ([vsyscall])", Frame("vgettimeofday", "[vsyscall]", USER)),
        ("401136 add+0x1 (/bin/x) =>     7f77990d9afb sub+0x0 (/y (deleted))",
         Frame("add", "x", USER)),
        ("1 vfs_read_[k] (x)", Frame("vfs_read", "kernel", KERNEL)),
        ("7ffd1 __vdso_gettimeofday+0x1 ([vdso])", Frame("__vdso_gettimeofday", "[vdso]", USER)),
        ("57ac3 [unknown] (/bin/trainer)", Frame("trainer+0x57ac3", "trainer", UNKNOWN)),
        ("be552274c0854800 [unknown] ([unknown])", UNKNOWN_FRAME),
        ("ffffffff9b201293 [unknown] ([unknown])", UNKNOWN_KERNEL_FRAME),
        ("ffffffff9b201293 [unknown] ([kernel.kallsyms])", UNKNOWN_KERNEL_FRAME),
        ("c000000000a1b2c4 [unknown] ([unknown])", UNKNOWN_KERNEL_FRAME),  # POWER
        ("c0000000000b1234 system_call+0x38", Frame("system_call", "kernel", KERNEL)),
        ("c0a1b2c400000000 [unknown] ([unknown])", UNKNOWN_FRAME),
        ("c000a1b2c4 [unknown] ([unknown])", UNKNOWN_FRAME),  # Go's heap
        ("7f operator()(int (*)(int), int) const+0x2 (/opt/a b (deleted))",
         Frame("operator()(int (*)(int), int) const", "a b", USER)),
        ("7f main (/opt/My App (x86)/bin/foo)", Frame("main", "foo", USER)),
        ("7f <std::HashMap<K,V> as gc::Trace>::trace+0xbf (/w/boa_cli)",
         Frame("<std::HashMap<K,V> as gc::Trace>::trace", "boa_cli", USER)),
        ("7f LazyCompile:~body_0 evalmachine.<anonymous>:1 (/tmp/perf-31912.map)",
         Frame("LazyCompile:~body_0 evalmachine.<anonymous>:1", "perf-31912.map", USER)),
        ("7f _ZN3foo3barEv+0x1 (/bin/x)", Frame("foo::bar", "x", USER)),
        ("7f main", Frame("main", "", USER)),
        ("7f00 main+0x3 (/bin/x+0x1f)", Frame("main", "x", USER)),
        ("7f00 main+0x3 (/bin/x (deleted)+0x1f)", Frame("main", "x", USER)),
        ("7f00 [unknown] (/bin/x+0x1f)", Frame("x+0x1f", "x", UNKNOWN)),
        ("7f00 [unknown] (/bin/x (deleted)+0x1f)", Frame("x+0x1f", "x", UNKNOWN)),
        ("7f00 (/bin/x+0x1f)", Frame("x+0x1f", "x", UNKNOWN)),
        ("ffffffff81000000 [unknown] ([unknown]+0x0)", UNKNOWN_KERNEL_FRAME),
        ("ffffffff81000000 walk+0x3 ([guest.kernel.kallsyms.1440])",
         Frame("walk", "kernel", KERNEL)),
        # cut off, or wider than the screen it was copied from
        ("576c8e _PyUnicodeWriter_PrepareInternal+0xce (/usr/bin/pytho>",
         Frame("_PyUnicodeWriter_PrepareInternal", "", USER)),
        ("ffffffffad3980f0 __perf_event_task_sched_in+0x90 ([kernel>",
         Frame("__perf_event_task_sched_in", "kernel", KERNEL)),
        ("ffffffffad3980f0 finish_task_switch.isra.0+0x1>",
         Frame("finish_task_switch.isra.0", "kernel", KERNEL)),
        ("7f std::less<int>::operator()(int (*)(int)) const+0x2 (/opt/a b (dele",
         Frame("std::less<int>::operator()(int (*)(int)) const", "", USER)),
        ("7f std::vector<int>", Frame("std::vector<int>", "", USER)),
        ("7f00", UNKNOWN_FRAME),
        ("9c51fd34 a.String.hash ([JIT app cache])",
         Frame("a.String.hash", "[JIT app cache]", USER)),
        ("ffffffff81000000", UNKNOWN_KERNEL_FRAME),
        ("7f00 (/bin/x)", Frame("x+0x7f00", "x", FrameKind.UNKNOWN)),
        ("ffffffff81000000 ([kernel.kallsyms])", UNKNOWN_KERNEL_FRAME),
        ("7f00 (anonymous namespace)::go()", Frame("(anonymous namespace)::go()", "", USER)),
        ("7f00 (anonymous namespace)::go() (/bin/x)",
         Frame("(anonymous namespace)::go()", "x", USER)),
        ("7f00 main+0x3 (/bin/x) insn: 48 89 e5", Frame("main", "x", USER)),
        ("7f00 main+0x3 (/bin/x)           addb %al, (%rax)", Frame("main", "x", USER)),
        ("7f00 (/bin/x)           addb %al, (%rax)", Frame("x+0x7f00", "x", UNKNOWN)),
        ("7f00 do_it+0x3 ([kernel.kallsyms])  ABI:2    AX:0x3b ",
         Frame("do_it", "kernel", KERNEL)),
    ],
)  # fmt: skip
def test_a_line_of_a_stack(line: str, frame: Frame) -> None:
    assert frames(line) == [frame]


def test_inlined_frames_belong_to_the_file_they_were_put_into() -> None:
    assert frames("1 inner (inlined)", "1 outer (inlined)", "1 main+0x4 (/bin/x)") == [
        Frame("inner", "x", USER), Frame("outer", "x", USER), Frame("main", "x", USER),
    ]  # fmt: skip
    assert frames("ffffffff81000000 a (inlined)", "ffffffff81000000 b ([kernel.kallsyms])") == [
        Frame("a", "kernel", KERNEL), Frame("b", "kernel", KERNEL),
    ]  # fmt: skip


def test_methods_that_java_inlined_become_frames_of_their_own() -> None:
    assert frames("7f LA;::outer->LB;::inner+0x3 (/tmp/perf-10488.map)") == [
        Frame("LB;::inner", "perf-10488.map", USER), Frame("LA;::outer", "perf-10488.map", USER),
    ]  # fmt: skip
    assert frames("7f operator->(int) (/bin/x)") == [Frame("operator->(int)", "x", USER)]


def test_a_run_of_nameless_frames_is_one_and_odd_lines_are_counted() -> None:
    reader = StackReader()
    text = b"\t1 a (x)\n\t2 [unknown] ([unknown])\n\t3 [unknown] ([unknown])\n\tTHIS_IS_WEIRD\n"
    assert reader.read(text) == [UNKNOWN_FRAME, Frame("a", "x", USER)]
    assert reader.odd == 1
    reader.read(text)
    assert reader.odd == 1  # each different line once


@pytest.mark.parametrize(
    "file",
    ["//anon", "[anon:v8]", "[heap]", "/memfd:doublemapper (deleted)", "/tmp/perf-10488.map"],
)
def test_code_without_a_file_and_a_name_is_one_frame_wherever_it_lies(file: str) -> None:
    lines = [f"7f{number}0 [unknown] ({file})" for number in range(3)]
    assert frames(*lines, "1 main+0x4 (/bin/x)") == [NO_FILE_FRAME, Frame("main", "x", USER)]


@pytest.mark.parametrize(
    ("file", "name"), [("[vdso]", "[vdso]"), ("/bin/x", "x"), ("libx.so", "libx.so")]
)
def test_what_has_no_name_in_a_file_is_told_by_its_place(file: str, name: str) -> None:
    assert frames(f"7f00 [unknown] ({file})") == [Frame(f"{name}+0x7f00", name, FrameKind.UNKNOWN)]


def test_source_lines_below_frames_are_no_frames_and_not_odd() -> None:
    reader = StackReader()
    text = b"\t1 inner+0x4\n  my object.h:214 (inlined)\n\t1 outer+0x4 (/x)\n  x[1]\n  ??:?\n  :0\n"
    assert [frame.name for frame in reader.read(text)] == ["outer", "inner"]
    assert reader.odd == 0


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        (b"\t1 a (/x)\n\t2 b (/x)\n", b"\t1 a (/x)\n\t2 b (/x)\n"),
        (b"\t1 a (/x)\n\t2 b (/x)\n insn: 48 83 c2\n", b"\t1 a (/x)\n\t2 b (/x)\n"),
        (b"\t1 a (/x)\n ABI:2    AX:0x3b    IP:0x1 \n", b"\t1 a (/x)\n"),
        (b"\t1 a (/x)\n               0 N/A 4K\n", b"\t1 a (/x)\n"),
        (b"\t1 a (/x)\n  a.c:3\n\t2 b (/x)\n  :0", b"\t1 a (/x)\n\t2 b (/x)"),
        (b"\t1 a (/x)\n        2 b (/x)\r\n", b"\t1 a (/x)\n        2 b (/x)\r\n"),
        (b"  1 a\n  2 b\n", b"  1 a\n  2 b\n"),
    ],
)
def test_what_other_fields_put_below_a_stack_is_no_frame(text: bytes, frames: bytes) -> None:
    assert frames_only(text) == frames


@given(
    st.sampled_from(["401000", "ffffffff81000001", "9a3cf639d8d533c7"]),
    st.sampled_from(["f", "f_[k]", "[unknown]", "a->b", "_ZN3foo3barEv", "f+0x1", "é"]),
    st.sampled_from(["", "+0x1f"]),
    st.sampled_from(
        ["/bin/x", "[kernel.kallsyms]", "[nf_nat]", "[unknown]", "inlined", "/tmp/perf-7.map",
         "/lib/ext4.ko.xz", "//anon", "[vdso]", "/"]
    ),
)  # fmt: skip
def test_a_line_says_the_same_by_the_shorter_and_the_longer_way(
    address: str, symbol: str, offset: str, file: str
) -> None:
    rest = f"{symbol}{offset} ({file})"
    assert frames(f"{address} {rest}") == frames(f"{address}  {rest}")


@given(st.binary(max_size=200))
def test_any_text_gives_some_frames_or_none(text: bytes) -> None:
    found = StackReader().read(text)
    assert len(found) <= text.count(b"\n") + 1 + text.count(b"->")


def test_a_line_of_brackets_takes_no_time() -> None:
    frames("1 " + " (" * 2000 + ")" * 2000)
    frames("1 " + "(" * 4000 + " (" * 4000 + ")")
