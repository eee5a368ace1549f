from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.perf.symbols import elf, vdso


@pytest.mark.kernel
def test_our_own_vdso_is_an_elf_file_with_functions() -> None:
    data = vdso.read_own(Host())
    if data is None:
        pytest.skip("this machine maps no vdso")
    found = elf.parse(data, "[vdso]")
    assert found.dynsym is not None
    names = {
        found.dynsym.blob[begin:end].decode()
        for begin, end in zip(found.dynsym.name_start, found.dynsym.name_end, strict=True)
    }
    assert any("clock_gettime" in name for name in names)


@pytest.mark.parametrize(
    "maps",
    [
        "",
        "7ffe0000-7ffe1000 r-xp 00000000 00:00 0 [stack]\n",
        "7ffe1000-7ffe1000 r-xp 00000000 00:00 0 [vdso]\n",
        "0-ffffffffffff r-xp 00000000 00:00 0 [vdso]\n",
        "7ffe0000-7ffe1000 r-xp 00000000 00:00 0 [vdso]\n",
    ],
)
def test_without_a_readable_vdso_there_is_none(tmp_path: Path, maps: str) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "maps").write_text(maps)
    assert vdso.read_own(Host(proc=tmp_path)) is None
