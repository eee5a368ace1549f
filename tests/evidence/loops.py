"""Programs that die and are started again, and a build, which only looks like that."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from lab.dice import random_name

LIFE_SECONDS = 0.4
PAUSE_SECONDS = 0.9
SOURCE_FILES = 40
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    alarm(30);
    if (!strcmp(argv[1], "eat")) {
        for (;;)
            memset(malloc(1 << 20), 1, 1 << 20);
    }
    usleep(atoi(argv[1]));
    return 3;
}
"""
SUPERVISOR = """\
#!/bin/sh
while :; do
    echo start >> {log}
    {program} {microseconds}
    sleep {pause}
done
"""


def compile_program(folder: Path, name: str) -> Path:
    """Lives for as many microseconds as it is told and fails; or eats memory."""
    source, program = folder / f"{name}.c", folder / name
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "-w", "-o", program, source], check=True)
    return program


class Loop(Struct):
    """What happened, by the loop's own word."""

    name: str
    log: Path
    began: float
    ended: float = 0.0

    @property
    def starts(self) -> int:
        return self.log.read_text().count("start")

    @property
    def starts_per_hour(self) -> float:
        return 3600 * self.starts / (self.ended - self.began)


@contextmanager
def crash_loop(folder: Path) -> Iterator[Loop]:
    """A bare process of a random name under a supervisor that is none of the known ones."""
    program = compile_program(folder, random_name("xc"))
    log = folder / f"{program.name}.log"
    log.touch()
    supervisor = folder / random_name("xs")
    supervisor.write_text(
        SUPERVISOR.format(
            log=log, program=program, microseconds=int(LIFE_SECONDS * 1e6), pause=PAUSE_SECONDS
        )
    )
    supervisor.chmod(0o755)
    process = subprocess.Popen([supervisor], stdin=subprocess.DEVNULL)
    loop = Loop(program.name, log, time.time())
    try:
        yield loop
    finally:
        process.kill()
        process.wait()
        loop.ended = time.time()


def build(folder: Path) -> None:
    """Forty files by make and gcc: hundreds of short processes, some from one parent."""
    folder.mkdir()
    names = [f"part{number}" for number in range(SOURCE_FILES)]
    for name in names:
        (folder / f"{name}.c").write_text(f"int {name}(int x) {{ return x + 1; }}\n")
    rules = [f"all: {' '.join(f'{name}.o' for name in names)}", "%.o: %.c", "\tgcc -c -o $@ $<"]
    (folder / "Makefile").write_text("\n".join(rules) + "\n")
    command = ["make", "--no-builtin-rules", "--silent", "-C", str(folder), "-j2"]
    subprocess.run(command, check=True, timeout=100)
