"""Programs compiled for a test, and processes that run them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

C_SOURCE = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static __attribute__((noinline)) int hidden(int x) { return x * 3 + (int)strlen("abc"); }
__attribute__((noinline)) int visible(int x) { return hidden(x) + 1; }
int main(int argc, char **argv) {
    (void)argv;
    printf("ready %d\\n", visible(argc));
    fflush(stdout);
    char byte;
    return (int)read(0, &byte, 1);
}
"""

CPP_SOURCE = """
#include <string>
#include <vector>
namespace deep {
template <typename T> struct Box {
    __attribute__((noinline)) int weigh(const std::vector<T> &items) const {
        return static_cast<int>(items.size());
    }
};
}
int main() { return deep::Box<std::string>().weigh({"a", "b"}); }
"""


def compiled(folder: Path, name: str, source: str, *flags: str, compiler: str = "gcc") -> Path:
    suffix = ".cc" if compiler == "g++" else ".c"
    code = folder / f"{name}{suffix}"
    code.write_text(source)
    program = folder / name
    subprocess.run([compiler, "-O1", "-o", program, code, *flags], check=True)
    return program


def run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def running(*command: str | Path, cwd: Path | None = None) -> Iterator[int]:
    """The pid of a process that has said something and now waits; it is ended by the block."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"ready")
            yield process.pid
        finally:
            process.kill()


def text_mapping(pid: int, name: str) -> tuple[int, int, str, int]:
    """Start, end, path and file offset of the executable mapping whose path has the name."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if "x" in fields[1] and len(fields) == 6 and name in fields[5]:
            start, end = (int(word, 16) for word in fields[0].split("-"))
            return start, end, fields[5], int(fields[2], 16)
    raise AssertionError(f"process {pid} has no executable mapping of {name}")
