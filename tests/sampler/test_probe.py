from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from exhume.perf.attr import Attr, Flag, SampleType
from exhume.sampler.probe import Offer, probe
from exhume.sampler.syscall import OpenEvent
from tests.sampler.kernels import (
    Refuse,
    always,
    kernel,
    needs_kernel,
    older,
    smaller_attr,
    without_flag,
    without_pmu,
    without_sample_type,
)

SINGLE: dict[str, Refuse] = {
    "sample-cgroup": without_sample_type(SampleType.CGROUP),
    "cgroup": without_flag(Flag.CGROUP),
    "ksymbol": without_flag(Flag.KSYMBOL),
    "clockid": without_flag(Flag.USE_CLOCKID),
    "comm-exec": without_flag(Flag.COMM_EXEC),
    "mmap2": without_flag(Flag.MMAP2),
}
MISSING_IN = {
    (6, 18): set(),
    (5, 4): {"cgroup", "sample-cgroup"},
    (4, 4): {"cgroup", "sample-cgroup", "ksymbol"},
    (3, 10): set(SINGLE),
}
ALWAYS = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.CALLCHAIN


def check(open_event: OpenEvent, missing: set[str], event: str = "cycles") -> Offer:
    """Probes, and sees that what is offered can be opened and is as much as the kernel takes."""
    fds = os.listdir("/proc/self/fd")
    offer = probe(open_event, 0, 97)
    assert {feature.name for feature in offer.missing} == missing
    assert offer.event == event
    assert SampleType(offer.sample.sample_type) & ALWAYS == ALWAYS
    for attr in (offer.sample, offer.sideband):
        assert attr.flags & Flag.SAMPLE_ID_ALL
        os.close(open_event(attr, -1, 0))
    assert len(os.listdir("/proc/self/fd")) == len(fds)
    return offer


@pytest.mark.parametrize("feature", SINGLE)
def test_one_bit_refused_costs_that_feature_alone(feature: str) -> None:
    offer = check(kernel(SINGLE[feature]), {feature})
    assert offer.has_monotonic_times == (feature != "clockid")


@pytest.mark.parametrize("version", MISSING_IN)
def test_an_older_kernel_lacks_what_came_after_it_and_nothing_more(
    version: tuple[int, int],
) -> None:
    check(kernel(*older(*version)), MISSING_IN[version])


def test_what_is_missing_says_what_it_would_give_and_since_when() -> None:
    offer = check(kernel(*older(3, 10)), MISSING_IN[3, 10])
    assert all(feature.gives and feature.since for feature in offer.missing)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV])
def test_without_a_pmu_the_timer_samples(code: int) -> None:
    no_pmu: Refuse = lambda attr: code if without_pmu(attr) else None  # noqa: E731
    check(kernel(no_pmu), set(), "cpu-clock")


def test_an_attribute_larger_than_the_kernel_knows_is_taken_if_the_rest_is_zero() -> None:
    # Up to clockid is VER3, 96 bytes; nothing behind it may be set.
    check(kernel(smaller_attr(96)), set())
    # VER1, 72 bytes, has no clock id: asking for one is answered with E2BIG.
    check(kernel(smaller_attr(72)), {"clockid"})


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_a_user_who_may_not_gets_the_kernels_own_answer(code: int) -> None:
    with pytest.raises(PermissionError):
        probe(kernel(always(code)), 0, 97)


def test_a_kernel_that_refuses_even_the_timer_gives_its_reason() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
        probe(kernel(always(errno.EINVAL)), 0, 97)


def test_trouble_that_is_no_refusal_is_not_taken_for_one() -> None:
    busy: Refuse = lambda attr: errno.EMFILE if attr.flags & Flag.KSYMBOL else None  # noqa: E731
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        probe(kernel(busy), 0, 97)


def test_idle_cores_are_never_excluded() -> None:
    offer = check(kernel(), set())
    assert not offer.sample.flags & 1 << 7  # exclude_idle


@pytest.mark.parametrize(("hz", "period"), [(97, 97), (97.4, 97), (0.2, 1)])
def test_the_rate_asked_for_is_in_the_event(hz: float, period: int) -> None:
    assert probe(kernel(), 0, hz).sample.sample_period == period


def test_probing_leaves_nothing_of_a_refused_feature_in_the_event() -> None:
    offer = check(kernel(SINGLE["clockid"], SINGLE["sample-cgroup"]), {"clockid", "sample-cgroup"})
    assert (offer.sample.clockid, offer.sideband.clockid) == (0, 0)
    assert not offer.sample.sample_type & SampleType.CGROUP


class TestOnTheRealKernel:
    pytestmark = needs_kernel

    @staticmethod
    def event() -> str:
        return probe(kernel(real=True), 0, 97).event

    def test_it_offers_all_that_it_has(self) -> None:
        offer = probe(kernel(real=True), 0, 97)
        refused = {feature.name for feature in offer.missing}
        check(kernel(real=True), refused, offer.event)
        assert offer.has_monotonic_times  # since 4.1

    @pytest.mark.parametrize("feature", SINGLE)
    def test_each_feature_can_be_done_without(self, feature: str) -> None:
        own = {f.name for f in probe(kernel(real=True), 0, 97).missing}
        check(kernel(SINGLE[feature], real=True), own | {feature}, self.event())

    @pytest.mark.parametrize("version", [(5, 4), (4, 4), (3, 10)])
    def test_it_can_pass_for_an_older_one(self, version: tuple[int, int]) -> None:
        own = {f.name for f in probe(kernel(real=True), 0, 97).missing}
        missing = own | MISSING_IN[version]
        check(kernel(*older(*version), real=True), missing, self.event())

    def test_without_a_pmu_it_samples_by_the_timer(self) -> None:
        own = {f.name for f in probe(kernel(without_pmu, real=True), 0, 97).missing}
        check(kernel(without_pmu, real=True), own, "cpu-clock")

    def test_a_core_that_is_not_there_is_an_error(self) -> None:
        with pytest.raises(OSError, match=r"No such device|Invalid argument"):
            probe(kernel(real=True), 8191, 97)


def test_forbidden_everything_raises_before_anything_is_kept_open() -> None:
    fds = os.listdir("/proc/self/fd")
    with pytest.raises(PermissionError):
        probe(kernel(always(errno.EACCES)), 0, 97)
    assert len(os.listdir("/proc/self/fd")) == len(fds)


def test_the_attribute_is_as_long_as_the_kernel_says() -> None:
    """PERF_ATTR_SIZE_VER7; offsets of what the probe sets, from the header."""
    offsets: dict[str, Callable[[], int]] = {
        "flags": lambda: Attr.flags.offset,
        "branch_sample_type": lambda: Attr.branch_sample_type.offset,
        "clockid": lambda: Attr.clockid.offset,
        "sample_max_stack": lambda: Attr.sample_max_stack.offset,
        "sig_data": lambda: Attr.sig_data.offset,
    }
    assert {name: offset() for name, offset in offsets.items()} == {
        "flags": 40, "branch_sample_type": 72, "clockid": 92, "sample_max_stack": 108,
        "sig_data": 120,
    }  # fmt: skip
    assert len(bytes(Attr())) == 128
