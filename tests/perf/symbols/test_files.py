from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.perf.symbols import files
from exhume.perf.symbols.files import open_in_root, open_regular


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs as on this kernel, and as on one without openat2 (before 5.6)."""

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    if request.param == "walk":
        monkeypatch.setattr(files, "_openat2", refuse)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Outside there is a secret; inside a file of the same name, and links of all sorts."""
    (tmp_path / "secret").write_text("outside")
    inside = tmp_path / "root"
    (inside / "lib" / "deep").mkdir(parents=True)
    (inside / "secret").write_text("inside")
    (inside / "lib" / "file").write_text("content")
    (inside / "lib" / "relative").symlink_to("deep/../file")
    (inside / "absolute").symlink_to("/lib/file")
    (inside / "escape").symlink_to("../../../../../secret")
    (inside / "folder").symlink_to("/lib")
    (inside / "loop").symlink_to("loop")
    (inside / "host").symlink_to(str(tmp_path / "secret"))
    return inside


@pytest.fixture(autouse=True)
def _no_descriptor_is_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def read(root: Path, path: str, *, follow: bool = True) -> str:
    with open_in_root(root, path, follow=follow) as file:
        return file.image.read(0, 100).decode()


def failure(root: Path, path: str, *, follow: bool = True) -> int | None:
    try:
        read(root, path, follow=follow)
    except OSError as error:
        return error.errno
    raise AssertionError(f"{path} could be opened")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/lib/file", "content"),
        ("lib//./file", "content"),
        ("/lib/relative", "content"),
        ("/absolute", "content"),
        ("/folder/file", "content"),
        ("/folder/deep/../relative", "content"),
        ("/lib/../../../secret", "inside"),
        ("/escape", "inside"),
    ],
)
def test_paths_and_links_resolve_inside_the_root(
    way: str, root: Path, path: str, content: str
) -> None:
    assert read(root, path) == content


@pytest.mark.parametrize("path", ["/host", "/loop", "/nothing", "/lib", "/", "", "/lib/file/x"])
def test_what_leads_out_or_nowhere_is_an_error(way: str, root: Path, path: str) -> None:
    expected = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL)
    assert failure(root, path) in expected


def test_the_last_part_may_be_asked_not_to_be_a_link(way: str, root: Path) -> None:
    assert read(root, "/lib/file", follow=False) == "content"
    assert read(root, "/folder/file", follow=False) == "content"
    assert failure(root, "/absolute", follow=False) in (errno.ELOOP, errno.EINVAL)


def test_a_fifo_is_refused_without_waiting(way: str, root: Path) -> None:
    os.mkfifo(root / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        read(root, "/fifo")
    with pytest.raises(OSError, match="not a regular file"), open_regular(root / "fifo"):
        pass


def test_a_device_is_refused() -> None:
    with pytest.raises(OSError, match="not a regular file"), open_regular(Path("/dev/zero")):
        pass


@pytest.mark.parametrize("path", ["/lib\0/file", "/lib/\ud800"])
def test_a_path_that_can_be_none_is_an_error_and_no_crash(way: str, root: Path, path: str) -> None:
    with pytest.raises(OSError, match="no name"):
        read(root, path)


def test_a_very_long_path_is_an_error(way: str, root: Path) -> None:
    assert failure(root, "/lib/.." * 2000) == errno.ENAMETOOLONG


def test_a_file_swapped_while_it_is_opened_is_refused(root: Path) -> None:
    flags_seen: list[int] = []

    def opener(flags: int) -> int:
        flags_seen.append(flags)
        return os.open(root / ("secret" if len(flags_seen) == 1 else "lib/file"), flags)

    with pytest.raises(OSError, match="replaced"), files._opened(opener):
        pass


def test_the_key_names_the_very_file(root: Path) -> None:
    with open_in_root(root, "/secret") as one, open_in_root(root, "/lib/file") as other:
        assert one.key != other.key
        assert one.size_bytes == 6
    with open_in_root(root, "/escape") as again:
        assert again.key == one.key
    (root / "secret").write_text("longer than before")
    with open_in_root(root, "/secret") as changed:
        assert changed.key != one.key
