from __future__ import annotations

import sys

from lab.expected import Expected
from lab.network import veth_pair
from lab.stage import Stage

RECEIVER = """
import socket
server = socket.create_server(("10.99.0.2", 9999))
while True:
    one, _ = server.accept()
    while one.recv(1 << 20):
        pass
"""
SENDER = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[1])
s = socket.create_connection(("10.99.0.2", 9999), 10)
data = b"x" * (1 << 20)
while time.monotonic() < end:
    s.sendall(data)
"""


def act(stage: Stage) -> Expected:
    """As fast as it goes; the network is there to be used."""
    dice = stage.dice
    pair = veth_pair(stage)
    stage.record()
    stage.daemon(-1, dice.between(0.5, 0.8), 0.01, limit=1.5)
    stage.spawn([*pair.inside(pair.receiver), sys.executable, "-c", RECEIVER])
    stage.quiet(dice.between(8, 12))
    seconds = dice.between(10, 14)
    copy = [*pair.inside(pair.sender), sys.executable, "-c", SENDER, str(seconds)]
    stage.spawn(copy).wait(60)
    stage.quiet(dice.between(3, 5))
    return Expected()
