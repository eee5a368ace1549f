"""The tables that all tracks of a Firefox profile share: strings, stacks, frames, functions."""

from __future__ import annotations

import numpy as np

from exhume.derive.frame_classes import FrameClass, frame_classes
from exhume.derive.printable import printable
from exhume.export.names import frame_name
from exhume.model.arrays import I32, I64
from exhume.model.stack import Frame, StackTree

CATEGORIES = [
    {"name": "Other", "color": "grey", "subcategories": ["Other"]},
    {"name": "User", "color": "lightblue", "subcategories": ["Other"]},
    {"name": "Kernel", "color": "orange", "subcategories": ["Other"]},
    {"name": "Softirq", "color": "magenta", "subcategories": ["Other"]},
    {"name": "Interrupt", "color": "red", "subcategories": ["Other"]},
]
"""The first grey one is the reader's default."""

_USER, _KERNEL = 1, 2
_CATEGORY = {
    FrameClass.USER: _USER,
    FrameClass.KERNEL: _KERNEL,
    FrameClass.SOFTIRQ: 3,
    FrameClass.IRQ: 4,
}
_LIBRARY = 1
"""What kind a resource is; others are web sites, add-ons and the like."""


class Strings:
    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def array(self) -> list[str]:
        return list(self._numbers)


class SharedTables:
    def __init__(self, tree: StackTree, strings: Strings) -> None:
        self._tree = tree
        self._strings = strings
        parents, numbers = tree.parent.tolist(), tree.frame.tolist()
        classes = frame_classes(parents, [tree.frames[number] for number in numbers])
        # The same function is one row for each category it ran in: the kernel calls some of its
        # own functions for a process and from an interrupt.
        self._rows: dict[tuple[int, FrameClass], int] = {}
        self._frame_of_node = [
            self._rows.setdefault((number, class_), len(self._rows))
            for number, class_ in zip(numbers[1:], classes[1:], strict=True)
        ]
        self._modules: dict[str, int] = {}
        self._functions: dict[int, int] = {}
        for number, _ in self._rows:
            self._functions.setdefault(number, len(self._functions))
        for number in self._functions:
            if module := tree.frames[number].module:
                self._modules.setdefault(printable(module), len(self._modules))

    def stack_of(self, nodes: I32) -> I64:
        """Rows of the stack table: the root has none."""
        return nodes.astype(np.int64) - 1

    def libs(self) -> list[dict[str, object]]:
        return [
            {
                "arch": "",
                "name": name.rpartition("/")[2] or name,
                "path": name,
                "debugName": name.rpartition("/")[2] or name,
                "debugPath": name,
                "breakpadId": "",
                "codeId": None,
            }
            for name in self._modules
        ]

    def tables(self) -> dict[str, object]:
        made = {
            "stackTable": self._stacks(),
            "frameTable": self._frames(),
            "funcTable": self._funcs(),
            "resourceTable": self._resources(),
            "nativeSymbols": {
                "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
            },
            "sources": {"uuid": [], "filename": [], "length": 0},
        }  # fmt: skip
        return {**made, "stringArray": self._strings.array()}

    def _stacks(self) -> dict[str, object]:
        above = (self._tree.parent[1:] - 1).tolist()
        return {
            "frame": self._frame_of_node,
            "prefix": [None if parent < 0 else parent for parent in above],
            "length": len(above),
        }

    def _frames(self) -> dict[str, object]:
        count = len(self._rows)
        categories = [self._category(number, class_) for number, class_ in self._rows]
        return {
            "address": [-1] * count,
            "inlineDepth": [0] * count,
            "category": categories,
            "subcategory": [None if category is None else 0 for category in categories],
            "func": [self._functions[number] for number, _ in self._rows],
            "nativeSymbol": [None] * count,
            "innerWindowID": [0] * count,
            "line": [None] * count,
            "column": [None] * count,
            "length": count,
        }

    def _category(self, number: int, class_: FrameClass) -> int | None:
        """None: that of the caller, which a process has not."""
        if class_ == FrameClass.UNKNOWN:
            # Code without a name: only the kernel's says whose it is.
            return _KERNEL if self._tree.frames[number].module.startswith("[kernel") else _USER
        return _CATEGORY.get(class_)

    def _funcs(self) -> dict[str, object]:
        frames: list[Frame] = [self._tree.frames[number] for number in self._functions]
        count = len(frames)
        return {
            "name": [self._strings[frame_name(frame)] for frame in frames],
            "isJS": [False] * count,
            "relevantForJS": [False] * count,
            "resource": [self._modules.get(printable(frame.module), -1) for frame in frames],
            "source": [None] * count,
            "lineNumber": [None] * count,
            "columnNumber": [None] * count,
            "length": count,
        }

    def _resources(self) -> dict[str, object]:
        count = len(self._modules)
        return {
            "lib": list(range(count)),
            "name": [self._strings[name] for name in self._modules],
            "host": [None] * count,
            "type": [_LIBRARY] * count,
            "length": count,
        }
