from __future__ import annotations

import pytest

from tests.cli.story import record


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a recording of the story; read only."""
    return record(tmp_path_factory.mktemp("story"))
