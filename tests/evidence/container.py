"""Which tests need a systemd of their own; it is in lab/systemd.py."""

from __future__ import annotations

import pytest

from lab import systemd

LIFE_SECONDS = systemd.LIFE_SECONDS
missing = pytest.mark.skipif(bool(systemd.why_not()), reason=systemd.why_not())
