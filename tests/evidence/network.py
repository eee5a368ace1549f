"""Traffic over a veth pair between two network namespaces of our own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from lab.dice import random_name

PACKETS = 12_000
SECONDS = 2.5
# The receiver throws everything away; the sender keeps its pace and says what it sent, and when.
RECEIVER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.99.0.2", 9999))
s.settimeout(20)
print("ready", flush=True)
while s.recv(2000) != b"end":
    pass
"""
SENDER = """
import json, os, socket, sys, time
core, packets, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {core})
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wall, start = time.time(), time.monotonic()
for number in range(packets):
    s.sendto(b"x" * 200, ("10.99.0.2", 9999))
    late = start + number * seconds / packets - time.monotonic()
    if late > 0:
        time.sleep(late)
ended = time.time()
time.sleep(0.1)
s.sendto(b"end", ("10.99.0.2", 9999))
print(json.dumps([wall, ended]))
"""


class Traffic(Struct, frozen=True):
    core: int
    """Where it was sent: a veth hands over to the receive softirq of the same core."""
    packets: int
    began: float
    ended: float


@contextmanager
def veth_pair() -> Iterator[tuple[str, str]]:
    """The names of two namespaces, at 10.99.0.1 and 10.99.0.2."""
    spaces = (random_name("xh-a-"), random_name("xh-b-"))
    try:
        for space in spaces:
            _ip("netns", "add", space)
        a, b = spaces
        _ip("-n", a, "link", "add", "xh0", "type", "veth", "peer", "name", "xh0", "netns", b)
        for number, space in enumerate(spaces, 1):
            _ip("-n", space, "address", "add", f"10.99.0.{number}/24", "dev", "xh0")
            _ip("-n", space, "link", "set", "xh0", "up")
        yield spaces
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)


def send(core: int) -> Traffic:
    with veth_pair() as (sender, receiver):
        inside = ["ip", "netns", "exec"]
        with subprocess.Popen(
            [*inside, receiver, sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE
        ) as listener:
            try:
                assert listener.stdout is not None
                assert listener.stdout.readline() == b"ready\n"
                words = [str(core), str(PACKETS), str(SECONDS)]
                run = subprocess.run(
                    [*inside, sender, sys.executable, "-c", SENDER, *words],
                    stdout=subprocess.PIPE,
                    check=True,
                    timeout=40,
                )
                time.sleep(0.1)
            finally:
                listener.kill()
    began, ended = json.loads(run.stdout)
    return Traffic(core, PACKETS, began, ended)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
