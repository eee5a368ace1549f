from __future__ import annotations

from exhume.export.names import NAMELESS, process_names
from exhume.model.profile import ProfiledThread


def thread(pid: int, tid: int, comm: str, boot_id: str = "b") -> ProfiledThread:
    return ProfiledThread(pid, tid, comm, "", "", "", "", boot_id)


def test_a_process_has_the_name_of_its_first_thread() -> None:
    threads = thread(7, 9, "GC Thread#0"), thread(7, 7, "java"), thread(7, 10, "C2 Compiler")
    assert process_names(threads) == ["java"] * 3


def test_where_that_was_not_sampled_it_is_not_named_after_another() -> None:
    threads = thread(7, 9, "GC Thread#0"), thread(7, 10, "C2 Compiler"), thread(8, 11, "worker")
    assert process_names(threads) == ["pid 7", "pid 7", "worker"]


def test_pids_of_two_boots_are_two_processes() -> None:
    assert process_names((thread(7, 7, "a"), thread(7, 8, "b", "c"))) == ["a", "b"]
    assert process_names((thread(7, 7, ""),)) == [NAMELESS]


def test_threads_whose_process_nobody_told_are_called_as_they_are() -> None:
    assert process_names((thread(-1, -1, "a"), thread(-1, -1, "b"))) == ["a", "b"]
