"""Cores, by their numbers."""

from __future__ import annotations

NO_CORE = 65_535
"""The core of a sample that does not say which: beyond any machine's last."""
