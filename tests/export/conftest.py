from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.export.browser import Browser, browsing


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all tests: starting it takes longer than they do."""
    with browsing(tmp_path_factory.mktemp("chromium")) as started:
        yield started
