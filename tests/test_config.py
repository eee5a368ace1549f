from __future__ import annotations

from pathlib import Path

from exhume.config import default_data_dir


def test_root_records_to_the_system_place() -> None:
    assert default_data_dir({"XDG_STATE_HOME": "/x"}, uid=0) == Path("/var/lib/exhume")


def test_others_record_to_their_state_directory() -> None:
    home = {"HOME": "/home/a"}
    assert default_data_dir(home, uid=1) == Path("/home/a/.local/state/exhume")
    assert default_data_dir({**home, "XDG_STATE_HOME": "/s"}, uid=1) == Path("/s/exhume")
    assert default_data_dir({**home, "XDG_STATE_HOME": "s"}, uid=1) == Path(
        "/home/a/.local/state/exhume"
    )
