"""The description of the HTTP API and the page's types, made from the code.

python -m exhume.cli.api            writes docs/openapi.json and ui/src/api.ts
python -m exhume.cli.api --check    fails where one is not current
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from exhume.cli.written import check_or_write
from exhume.web.openapi import document
from exhume.web.typescript import types


def texts() -> dict[str, str]:
    described = document()
    return {
        "docs/openapi.json": json.dumps(described, indent=1, ensure_ascii=False) + "\n",
        "ui/src/api.ts": types(described),
    }


if __name__ == "__main__":
    sys.exit(check_or_write(texts(), Path.cwd(), sys.argv[1:]))
