"""The import directions and the pure core of ARCHITECTURE.md, enforced on the syntax tree.

`violations(package)` reads every module under a package root and returns one readable line for each
broken rule. The last test breaks every rule on purpose, so the checker is known to be able to fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

PACKAGE = Path(__file__).parent.parent / "src" / "exhume"

# From low to high. A module imports its own package and lower layers, never a neighbour on the same
# level and never a higher one.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("model",),
    ("clibrary", "config", "host", "processes"),
    ("derive",),
    ("perf",),
    ("sources", "sampler"),
    ("store",),
    ("record", "ingest"),
    ("detect",),
    ("diagnose",),
    ("inquiry",),
    ("export", "fleet"),
    ("web",),
    ("cli",),
)
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}

# The pure core takes values and returns values: no files, no clock, no network, no processes.
PURE = ("model", "derive", "detect", "diagnose")
IMPURE_MODULES = ("os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "time")
IMPURE_CALLS = ("open", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today")

# Who may spell a kernel path. Prose and docstrings may name one anywhere.
KERNEL_PATH = re.compile(r"/(proc|sys)(/\S*)?|/dev/kmsg")
KNOWS_KERNEL_PATHS = ("host", "sampler")

KNOWS_PARQUET = ("store", "fleet")


class Module(Struct, frozen=True):
    file: Path
    unit: str  # the layer it belongs to: "store" for store/head.py and for a plain store.py
    package: tuple[str, ...]  # what a relative import starts from
    tree: ast.Module


def violations(package: Path) -> list[str]:
    found: list[str] = []
    for module in modules(package):
        for rule in (import_directions, pure_core, kernel_paths, parquet):
            for line, text in rule(module):
                found.append(f"{module.file.relative_to(package.parent)}:{line}: {text}")
    return sorted(found)


def modules(package: Path) -> Iterator[Module]:
    for file in sorted(package.rglob("*.py")):
        relative = file.relative_to(package)
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
        yield Module(
            file=file,
            unit=relative.parts[0].removesuffix(".py"),
            package=(package.name, *relative.parent.parts),
            tree=tree,
        )


def import_directions(module: Module) -> Iterator[tuple[int, str]]:
    if module.unit == "__main__":
        return  # above all layers: it only calls the command line
    own = LEVEL.get(module.unit)
    if own is None and module.unit != "__init__":
        yield 1, f"{module.unit} has no place in the layers; give it one in LAYERS"
        return
    for line, name in imports(module):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if top != module.package[0] or target in ("", module.unit):
            continue
        level = LEVEL.get(target)
        if level is None:
            if rest and not target.startswith("__"):
                yield line, f"imports {name}, which has no place in the layers"
        elif own is None:
            yield line, f"imports {name}; the package's __init__ imports no layer"
        elif level == own:
            yield line, f"imports {name}; {module.unit} and {target} are neighbours"
        elif level > own:
            yield line, f"imports {name}; {module.unit} is a lower layer than {target}"


def pure_core(module: Module) -> Iterator[tuple[int, str]]:
    if module.unit not in PURE:
        return
    for line, name in imports(module):
        if name.partition(".")[0] in IMPURE_MODULES:
            yield line, f"imports {name}; {module.unit} is pure: no files, clock or network"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in IMPURE_CALLS or called.endswith(tuple(f".{c}" for c in IMPURE_CALLS[2:])):
                yield node.lineno, f"calls {called}(); {module.unit} is pure: no files or clock"


def kernel_paths(module: Module) -> Iterator[tuple[int, str]]:
    if module.unit in KNOWS_KERNEL_PATHS:
        return
    prose = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Constant) or id(node) in prose:
            continue
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if isinstance(text, str) and KERNEL_PATH.fullmatch(text):
            who = " and ".join(KNOWS_KERNEL_PATHS)
            yield node.lineno, f"spells the kernel path {text!r}; only {who} do, ask Host for it"


def parquet(module: Module) -> Iterator[tuple[int, str]]:
    if module.unit in KNOWS_PARQUET:
        return
    for line, name in imports(module):
        if name.partition(".")[0] == "pyarrow":
            yield line, f"imports {name}; file layout is the business of {', '.join(KNOWS_PARQUET)}"


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Every imported dotted name, relative ones made absolute, and import_module("name")."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            upwards = module.package[: len(module.package) - node.level + 1] if node.level else ()
            base = ".".join((*upwards, *([node.module] if node.module else [])))
            if base == module.package[0]:  # from exhume import store
                for alias in node.names:
                    yield node.lineno, f"{base}.{alias.name}"
            else:
                yield node.lineno, base
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func).rpartition(".")[2]
            name = node.args[0].value
            if called in ("import_module", "__import__") and isinstance(name, str):
                yield node.lineno, name


def test_every_module_keeps_the_import_directions_and_the_core_stays_pure() -> None:
    found = violations(PACKAGE)
    assert not found, "ARCHITECTURE.md says otherwise:\n  " + "\n  ".join(found)


def test_a_tree_that_keeps_the_rules_has_no_violations(tmp_path: Path) -> None:
    write(tmp_path, "__init__.py", "__version__ = '1'")
    write(tmp_path, "__main__.py", "from exhume.cli.main import entry")
    write(tmp_path, "host.py", "PROC = '/proc'\nfrom exhume.errors import UserError")
    write(tmp_path, "model/window.py", "from datetime import datetime\nimport numpy as np")
    write(tmp_path, "sources/stat.py", '"""/proc/stat"""\nfrom exhume import host, model')
    write(tmp_path, "store/head.py", "import pyarrow.parquet\nfrom exhume.store.codec import pack")
    write(tmp_path, "cli/main.py", "from exhume import __version__\nHELP = '/proc is not there'")
    write(tmp_path, "cli/top.py", "SLICE = '/system.slice'\nfrom exhume.store import head")
    assert violations(tmp_path / "exhume") == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("model/a.py", "import exhume.store.head", "model is a lower layer than store"),
        ("store/a.py", "\nfrom exhume import record", ":2: imports exhume.record"),
        ("store/a.py", "from ..cli import main", "store is a lower layer than cli"),
        ("perf/a.py", "import_module('exhume.web')", "perf is a lower layer than web"),
        ("derive/a.py", "def f():\n  import exhume.perf", ":2: imports exhume.perf"),
        ("sources/a.py", "from exhume.sampler import ring", "sources and sampler are neighbours"),
        ("export/a.py", "from exhume.fleet import lake", "export and fleet are neighbours"),
        ("__init__.py", "from exhume.cli.main import entry", "__init__ imports no layer"),
        ("helpers.py", "", "helpers has no place in the layers"),
        ("cli/a.py", "from exhume.utils import f", "exhume.utils, which has no place"),
        ("derive/a.py", "import os.path", "derive is pure"),
        ("model/a.py", "from pathlib import Path", "model is pure"),
        ("detect/a.py", "import time", "detect is pure"),
        ("detect/a.py", "datetime.datetime.now()", "calls datetime.datetime.now()"),
        ("diagnose/a.py", "open('signatures.toml')", "calls open()"),
        ("sources/a.py", "NAME = '/proc/stat'", "spells the kernel path '/proc/stat'"),
        ("perf/a.py", "def f(pid): return f'/proc/{pid}/maps'", "spells the kernel path '/proc/'"),
        ("record/a.py", "NAME = b'/dev/kmsg'", "spells the kernel path '/dev/kmsg'"),
        ("cli/a.py", "import pyarrow.parquet as pq", "imports pyarrow.parquet"),
    ],
)
def test_each_broken_rule_is_named_with_file_line_and_reason(
    tmp_path: Path, file: str, source: str, complaint: str
) -> None:
    write(tmp_path, file, source)
    (found,) = violations(tmp_path / "exhume")
    assert found.startswith(f"exhume/{file}:")
    assert complaint in found


def write(root: Path, file: str, source: str) -> None:
    path = root / "exhume" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
