"""What mpstat and pidstat print, made up for the tests as sysstat's own code prints it."""

from __future__ import annotations

from collections.abc import Sequence

NAMES = ("%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle")
IDLE = (0, 0, 0, 0, 0, 0, 0, 0, 0, 100)
SYSTEM = (0, 0, 100, 0, 0, 0, 0, 0, 0, 0)
HEADER = "Linux 5.4.0-1146-aws (gpu-7) \t{} \t_x86_64_\t(2 CPU)\n"


def stamp(seconds: int, *, twelve: tuple[str, str] | None = None) -> str:
    day = seconds % 86_400
    hour, minute, second = day // 3600, day // 60 % 60, day % 60
    if twelve is None:
        return f"{hour:02}:{minute:02}:{second:02}"
    return f"{(hour - 1) % 12 + 1:02}:{minute:02}:{second:02} {twelve[hour >= 12]}"


def percentages(jiffies: Sequence[int]) -> list[float]:
    """Guests are in user and nice in /proc/stat; here the row is what mpstat splits them into."""
    total = sum(jiffies)
    return [100 * value / total if total else 0.0 for value in jiffies]


def row(
    time: str, core: str, values: Sequence[float], *, decimals: int = 2, comma: bool = False
) -> str:
    cells = "".join(f"{value:8.{decimals}f}" for value in values)
    return f"{time:<11s} {core:>4s}{cells.replace('.', ',') if comma else cells}\n"


def heading(time: str, names: Sequence[str] = NAMES) -> str:
    return f"{time:<11s}  CPU{''.join(f'{name:>8s}' for name in names)}\n"


def mpstat(
    instants: Sequence[dict[int, Sequence[int]]],
    *,
    start: int = 20 * 3600,
    date: str = "11/15/26",
    step: int = 1,
    names: Sequence[str] = NAMES,
    twelve: tuple[str, str] | None = None,
    decimals: int = 2,
    comma: bool = False,
    with_all: bool = True,
) -> str:
    """`instants`: of each, the jiffies of every core that was on line."""
    out = [HEADER.format(date)]
    for number, cores in enumerate(instants):
        before, now = (stamp(start + (number + more) * step, twelve=twelve) for more in (0, 1))
        out.append("\n" + heading(before, names))
        lines: list[tuple[str, Sequence[int]]] = [(str(core), cores[core]) for core in cores]
        if with_all:
            lines.insert(0, ("all", [sum(column) for column in zip(*cores.values(), strict=True)]))
        chosen = [NAMES.index(name) for name in names if name in NAMES]
        for core, jiffies in lines:
            shares = percentages(jiffies)
            values = [shares[column] for column in chosen]
            out.append(row(now, core, values, decimals=decimals, comma=comma))
    return "".join(out)
