"""/proc/interrupts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import interrupts
from exhume.sources.queues import queue_of
from tests.sources.garble import garbled, survives
from tests.sources.trees import SIZES, Machine, Tree
from tests.sources.trees import interrupts as text_of


@pytest.mark.parametrize("cores", SIZES)
def test_lines_have_number_chip_and_name(tmp_path: Path, cores: int) -> None:
    found = interrupts.read(Tree(tmp_path, Machine(cores)).build().host)
    assert found is not None
    line = found.lines[3]
    assert (line.irq, line.chip, line.name) == ("33", "PCI-MSI 81923-edge", "eth0-Tx-Rx-3")
    assert found.counts[3].sum() == 1003
    assert found.counts.shape == (len(found.lines), cores)


def test_the_transmit_queue_leads_to_its_core(tmp_path: Path) -> None:
    host = Tree(tmp_path, Machine(96)).build().host
    found = interrupts.read(host)
    assert found is not None
    affinity = interrupts.read_affinity(host, found)
    irq = next(x.irq for x in found.lines if queue_of(x.name) == queue_of("eth0-Tx-Rx-5"))
    assert affinity[irq] == (25,)
    (reading,) = interrupts.affinity_readings(found, affinity)
    assert dict(zip(reading.instances, reading.values, strict=True))["35 eth0-Tx-Rx-5"] == 25


def test_before_effective_affinity_the_wish_is_taken(tmp_path: Path) -> None:
    host = Tree(tmp_path, Machine(96, is_old=True)).build().host
    found = interrupts.read(host)
    assert found is not None
    assert interrupts.read_affinity(host, found)["31"] == (5,)


def test_an_interrupt_on_several_cores_is_said_to_be_on_none_in_particular() -> None:
    found = interrupts.parse(text_of(Machine(2)).encode())
    (reading,) = interrupts.affinity_readings(found, {"30": (0, 1), "31": (1,)})
    assert reading.values.tolist() == [-1, 1]


def test_offline_cores_have_no_column_and_the_others_keep_their_numbers() -> None:
    found = interrupts.parse(text_of(Machine(4, offline=(0, 2))).encode())
    assert found.cores == (1, 3)


ODD_LINES = """            CPU0       CPU1
  1:          9          0   IO-APIC   1-edge      i8042
 16:          0          5   IO-APIC  16-fasteoi   uhci_hcd:usb1, eth9
 24:          0          0  GICv3  27 Level     arch_timer
 47:          3          4  ITS-pMSI 81920 Edge      ens5-Tx-Rx-0
 50:          3          4  PCI-MSIX-0000:00:05.0   0-edge      ena-mgmnt@pci:0000:00:05.0
IPI0:       100        200       Rescheduling interrupts
IPI1:         1          2       Function call interrupts
Err:          3
"""


def test_odd_lines_of_other_machines_are_understood() -> None:
    found = interrupts.parse(ODD_LINES.encode())
    names = {line.irq: line.name for line in found.lines}
    assert names == {
        "1": "i8042",
        "16": "uhci_hcd:usb1, eth9",
        "24": "arch_timer",
        "47": "ens5-Tx-Rx-0",
        "50": "ena-mgmnt@pci:0000:00:05.0",
        "IPI0": "Rescheduling interrupts",
        "IPI1": "Function call interrupts",
        "Err": "",
    }
    readings = {reading.field: reading for reading in interrupts.readings(found)}
    assert readings["irq.reschedule"].values.tolist() == [100, 200]
    assert readings["irq.timer"].values.tolist() == [0, 0]
    assert readings["irq.device"].values.tolist() == [15, 13]
    assert readings["irq.count"].values[-1] == 3


def test_only_changed_lines_are_parsed_again_and_the_result_is_the_same(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(96)).build()
    reader = interrupts.InterruptsReader(tree.host)
    first = reader.read()
    tree.write("proc/interrupts", text_of(tree.machine, bump=1_000_000_000))
    second = reader.read()
    assert first is not None
    assert second is not None
    assert second.lines is first.lines, "names are not parsed again"
    whole = interrupts.parse(text_of(tree.machine, bump=1_000_000_000).encode())
    assert np.array_equal(second.counts, whole.counts)
    assert first.counts[3].sum() == 1003, "what was handed out does not change"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 10**9).map(lambda bump: text_of(Machine(3, queues=2), bump).encode()),
            st.just(text_of(Machine(4, offline=(2,), queues=3)).encode()),
            garbled(text_of(Machine(3, queues=2)).encode()),
        ),
        max_size=6,
    )
)
def test_the_remembering_reader_always_agrees_with_a_fresh_parse(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]
) -> None:
    proc = tmp_path_factory.mktemp("proc")
    reader = interrupts.InterruptsReader(Host(proc=proc))
    for text in texts:
        (proc / "interrupts").write_bytes(text)
        fresh = survives(interrupts.parse, text)
        remembered = survives(lambda _: reader.read(), text)
        if isinstance(fresh, interrupts.Interrupts):
            assert isinstance(remembered, interrupts.Interrupts)
            assert remembered.lines == fresh.lines
            assert np.array_equal(remembered.counts, fresh.counts)
        else:
            assert remembered is None


@given(garbled(text_of(Machine(3, queues=2)).encode()))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    found = survives(interrupts.parse, text)
    if isinstance(found, interrupts.Interrupts):
        assert found.counts.shape == (len(found.lines), len(found.cores))


@pytest.mark.parametrize(
    "text", [b"", b"CPU0 CPU1\n", b"CPU0 CPU1\n 1: 2\n", b"CPU1 CPU0\n 1: 2 3\n"]
)
def test_a_line_with_too_few_counts_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="proc/interrupts"):
        interrupts.parse(text)


@pytest.mark.kernel
def test_the_real_kernel_routes_each_interrupt_somewhere() -> None:
    found = interrupts.InterruptsReader(Host()).read()
    assert found is not None
    online = set(found.cores)
    affinity = interrupts.read_affinity(Host(), found)
    assert affinity
    assert all(set(cores) <= online for cores in affinity.values())
