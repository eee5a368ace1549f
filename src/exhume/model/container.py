"""A container as its runtime tells of it."""

from __future__ import annotations

from msgspec import Struct


class Container(Struct, frozen=True):
    id: str
    name: str
    image: str
    runtime: str
    """`docker`, `containerd`, `cri-o`."""
    state: str
    """`created`, `running`, `restarting`, `paused`, `removing`, `exited`, `dead` or `unknown`."""
    created_wall_ns: int
    restarts_total: int | None = None
    """By its supervisor. Stays 0 when something does `rm` and `run`: then ids tell."""
    exit_code: int | None = None
    """Of the last run; None while it runs, or where the runtime was not asked."""
    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = ""
