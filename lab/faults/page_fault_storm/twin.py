from __future__ import annotations

from pathlib import Path

from lab.expected import Expected
from lab.stage import Stage

FILES = 60


def act(stage: Stage) -> Expected:
    """Two compilers at a time, as fast as they go."""
    dice = stage.dice
    folder = stage.folder / dice.name()
    build(stage, folder)
    stage.record()
    stage.daemon(-1, dice.between(0.5, 0.8), 0.01, limit=1.5)
    stage.quiet(dice.between(8, 12))
    make = ["make", "--no-builtin-rules", "--silent", "-C", str(folder), "-j2"]
    stage.spawn(make).wait(120)
    stage.quiet(dice.between(3, 5))
    return Expected()


def build(stage: Stage, folder: Path) -> None:
    """What `make` there compiles."""
    folder.mkdir()
    names = [stage.dice.name().replace("-", "_") for _ in range(FILES)]
    for name in names:
        lines = "\n".join(f"int {name}_{i}(int x) {{ return x * {i} + 1; }}" for i in range(400))
        (folder / f"{name}.c").write_text(f"#include <stdio.h>\n{lines}\n")
    rules = [f"all: {' '.join(f'{name}.o' for name in names)}", "%.o: %.c", "\tgcc -O1 -c -o $@ $<"]
    (folder / "Makefile").write_text("\n".join(rules) + "\n")
