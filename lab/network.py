"""Two network namespaces of our own, and a veth pair between them."""

from __future__ import annotations

import subprocess

from msgspec import Struct

from lab.stage import Stage


class Pair(Struct, frozen=True):
    sender: str
    receiver: str
    """Names of namespaces."""
    address: str
    """Of the receiver."""

    def inside(self, space: str) -> list[str]:
        """What to put before a command so that it runs in there."""
        return ["ip", "netns", "exec", space]


def veth_pair(stage: Stage) -> Pair:
    spaces = (stage.namespace(), stage.namespace())
    a, b = spaces
    ip("-n", a, "link", "add", "xh0", "type", "veth", "peer", "name", "xh0", "netns", b)
    for number, space in enumerate(spaces, 1):
        ip("-n", space, "address", "add", f"10.99.0.{number}/24", "dev", "xh0")
        ip("-n", space, "link", "set", "xh0", "up")
        ip("-n", space, "link", "set", "lo", "up")
    return Pair(a, b, "10.99.0.2")


def receive_on(pair: Pair, core: int) -> None:
    """A veth hands a packet over on the core that sent it, unless it is told otherwise (RPS)."""
    path = "/sys/class/net/xh0/queues/rx-0/rps_cpus"
    # `ip netns exec` mounts the /sys of that namespace.
    command = [*pair.inside(pair.receiver), "sh", "-c", f"echo {1 << core:x} > {path}"]
    subprocess.run(command, check=True, capture_output=True)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
