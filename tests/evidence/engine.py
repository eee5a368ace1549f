"""Which tests need a Docker engine of their own; it is in lab/docker.py."""

from __future__ import annotations

import pytest

from lab import docker

LIFE_SECONDS = docker.LIFE_SECONDS
missing = pytest.mark.skipif(bool(docker.why_not()), reason=docker.why_not())
