"""JSON Schemas of every `--json`, written to docs/schema/.

python -m exhume.cli.schemas            writes them
python -m exhume.cli.schemas --check    fails where a file is not current
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from exhume.cli.main import COMMANDS, command_module
from exhume.cli.written import check_or_write
from exhume.model.schema import schema_of

DIRECTORY = "docs/schema"


def schemas() -> dict[str, str]:
    """File name → text, for each command whose module names its ANSWER."""
    texts: dict[str, str] = {}
    for name, _ in COMMANDS:
        answer = getattr(command_module(name), "ANSWER", None)
        if answer is not None:
            schema = schema_of(answer, title=f"exhume {name} --json")
            texts[f"{DIRECTORY}/{name}.json"] = (
                json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
            )
    return texts


if __name__ == "__main__":
    sys.exit(check_or_write(schemas(), Path.cwd(), sys.argv[1:]))
