from __future__ import annotations

import io

from exhume.perf.datachunk import Chunk, KernelMap, decode
from exhume.perf.datafile import PerfData
from tests.perf import datafile_encoder as made
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import Mapped, Who


def chunk(*records: bytes, tells_exec: bool = True) -> Chunk:
    data = PerfData(lambda: io.BytesIO(Capture(records).file()), "perf.data")
    (walked,) = data.walks()
    return decode(walked, tells_exec)


def test_mappings_of_both_versions_name_their_files() -> None:
    found = chunk(
        made.old_mmap(SHAPE, 5, 0x1000, 0x200, 0x40, b"/bin/old", Who(time=3)),
        made.old_mmap(SHAPE, 6, 0x9000, 0x200, 0, b"/bin/old", Who(time=4)),
        made.old_mmap(SHAPE, 6, 0xA000, 0x200, 0, b"/bin/longer-name", Who(time=4)),
        enc.mmap2(SHAPE, Mapped(pid=7, path=b"/bin/new"), Who(time=5)),
    )
    paths = [found.files[hash_].path for hash_ in found.mappings.file_hash.tolist()]
    rows = sorted(
        zip(found.mappings.time.tolist(), found.mappings.pid.tolist(), paths, strict=True)
    )
    assert rows == [(3, 5, "/bin/old"), (4, 6, "/bin/longer-name"), (4, 6, "/bin/old"),
                    (5, 7, "/bin/new")]  # fmt: skip
    first = found.mappings.time.tolist().index(3)
    assert (found.mappings.start[first], found.mappings.file_offset[first]) == (0x1000, 0x40)


def test_the_kernels_own_maps_are_no_mappings_of_a_process() -> None:
    found = chunk(
        made.old_mmap(SHAPE, -1, 0xFFFF_FFFF_B3A0_0000, 0xE0_0000, 0xFFFF_FFFF_B3A0_0000,
                      b"[kernel.kallsyms]_text"),
        enc.mmap2(SHAPE, Mapped(pid=-1, start=0xFFFF_FFFF_C000_0000, path=b"[nf_tables]")),
    )  # fmt: skip
    assert len(found.mappings.time) == 0
    assert (
        KernelMap(0xFFFF_FFFF_B3A0_0000, 0xE0_0000, 0xFFFF_FFFF_B3A0_0000, "[kernel.kallsyms]_text")
        in found.kernel_maps
    )
    assert {one.name for one in found.kernel_maps} == {"[kernel.kallsyms]_text", "[nf_tables]"}


def test_mappings_of_data_are_left_out() -> None:
    record = bytearray(enc.mmap2(SHAPE, Mapped(path=b"/var/data")))
    record[4:6] = (enc.MISC_USER | 1 << 13).to_bytes(2, "little")
    assert len(chunk(bytes(record), enc.mmap2(SHAPE, Mapped())).mappings.time) == 1


def test_without_the_flag_a_process_that_gets_a_name_has_started_a_program() -> None:
    records = (
        enc.comm(SHAPE, 5, 5, b"there", Who(time=0)),
        enc.comm(SHAPE, 6, 6, b"started", Who(time=8)),
        enc.comm(SHAPE, 6, 7, b"a thread", Who(time=9)),
    )
    assert chunk(*records, tells_exec=False).comms.is_exec.tolist() == [False, True, False]
    assert not chunk(*records).comms.is_exec.any()


def test_forks_from_before_the_start_only_tell_who_is_whose_child() -> None:
    found = chunk(
        enc.fork(SHAPE, (10, 1, 10, 1), 0),
        enc.fork(SHAPE, (10, 10, 11, 10), 0),
        enc.fork(SHAPE, (20, 10, 20, 10), 50),
    )
    assert found.forks.pid.tolist() == [20]
    assert (found.parents.key.tolist(), found.parents.value.tolist()) == ([10], [1])


def test_losses_rounds_and_cgroups_are_told() -> None:
    found = chunk(
        enc.lost(SHAPE, 3, Who(cpu=1)), enc.lost(SHAPE, 4, Who(cpu=1)), made.FINISHED_ROUND,
        enc.cgroup(SHAPE, 77, b"/system.slice"),
        enc.ksymbol(SHAPE, 0xFFFF_FFFF_C000_0000, 64, b"bpf_prog_1"),
    )  # fmt: skip
    assert found.lost.records == 7
    assert found.rounds == 1
    assert found.cgroups == {77: "/system.slice"}
    assert [symbol.name for symbol in found.kernel_symbols] == ["bpf_prog_1"]
