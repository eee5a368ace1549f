"""Copies of programs' stacks: they come behind the kernel's part, with three registers."""

from __future__ import annotations

import struct

import pytest

from exhume.perf.native import Walked, Walker
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import KERNEL, MISC_USER, USER, Bit, Sample, Shape

DUMP = (1 << 64) - 4001
# Of registers 0, 6, 7, 8 and 9 the fourth, third and second are wanted: ip, sp, bp of x86-64.
REGS = 0b11_1100_0001
SHAPE = Shape(
    Bit.IP | Bit.TID | Bit.TIME | Bit.CALLCHAIN | Bit.REGS_USER | Bit.STACK_USER | Bit.DATA_SRC,
    regs_user=REGS,
    dump_regs=8 | 7 << 8 | 6 << 16,
)
IP, SP, BP = 0x401000, 0x7FFF_0000, 0x7FFF_0040
REGISTERS = (111, BP, SP, IP, 999)
STACK = struct.pack("<3Q", 0x402000, 0, 0x403000)


def walked(*samples: Sample, shape: Shape = SHAPE) -> Walked:
    return Walker([shape.layout()]).walk(enc.as_array(*(enc.sample(shape, s) for s in samples)))


def stack_words(found: Walked, row: int = 0) -> list[int]:
    number = int(found.samples.stack[row])
    start = int(found.word_count[:number].sum())
    words: list[int] = found.words[start : start + int(found.word_count[number])].tolist()
    return words


def test_of_a_sample_in_the_kernel_both_parts_are_kept() -> None:
    sample = Sample(ip=5, chain=(KERNEL, 1 << 63), registers=REGISTERS, user_stack=STACK)
    found = walked(sample)
    assert found.bad == 0
    wanted = [KERNEL, 1 << 63, DUMP, IP, SP, BP, 0x402000, 0, 0x403000]
    assert stack_words(found) == wanted


def test_of_a_sample_in_the_program_there_is_the_copy_alone() -> None:
    sample = Sample(ip=IP, registers=REGISTERS, user_stack=STACK, misc=MISC_USER)
    assert stack_words(walked(sample)) == [DUMP, IP, SP, BP, 0x402000, 0, 0x403000]


def test_only_as_much_of_the_copy_is_kept_as_there_was() -> None:
    sample = Sample(ip=IP, registers=REGISTERS, user_stack=STACK[:17], misc=MISC_USER)
    assert stack_words(walked(sample)) == [DUMP, IP, SP, BP, 0x402000, 0]


@pytest.mark.parametrize(
    "sample",
    [
        Sample(ip=IP, misc=MISC_USER, user_stack=STACK, has_registers=False),
        Sample(ip=IP, misc=MISC_USER, registers=REGISTERS),
        Sample(ip=IP, misc=MISC_USER, registers=REGISTERS, user_stack=STACK, bits=32),
    ],
    ids=["no registers", "no copy", "a 32-bit program"],
)
def test_without_registers_or_copy_the_address_is_all_there_is(sample: Sample) -> None:
    assert stack_words(walked(sample)) == [USER, IP]


def test_who_does_not_ask_for_copies_has_none() -> None:
    shape = Shape(SHAPE.sample_type, regs_user=REGS)
    sample = Sample(ip=IP, registers=REGISTERS, user_stack=STACK, misc=MISC_USER)
    assert stack_words(walked(sample, shape=shape)) == [USER, IP]


def test_stacks_are_told_apart_by_their_copies_and_registers() -> None:
    samples = [
        Sample(ip=IP, registers=registers, user_stack=stack, misc=MISC_USER)
        for registers in (REGISTERS, (111, BP, SP + 8, IP, 999), (222, BP, SP, IP, 333))
        for stack in (STACK, STACK[8:], STACK)
    ]
    found = walked(*samples)
    # Other registers than the three do not matter.
    assert found.samples.stack.tolist() == [0, 1, 0, 2, 3, 2, 0, 1, 0]
