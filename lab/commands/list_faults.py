"""The faults, what each does, and what its healthy twin does instead.

Examples:
  exhume lab list
"""

from __future__ import annotations

import argparse
from importlib import import_module

from lab.faults import FAULTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # there is nothing to choose


def run(args: argparse.Namespace) -> int:
    del args
    from rich.console import Console
    from rich.padding import Padding

    screen = Console(highlight=False)
    for name, folder in FAULTS.items():
        text = " ".join((import_module(f"lab.faults.{folder}").__doc__ or "").split())
        screen.print(name, style="bold", markup=False)
        screen.print(Padding(text, (0, 0, 0, 2)), markup=False)
    return 0
