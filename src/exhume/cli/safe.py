"""Names from the machine are hostile: process names, frames, cgroup paths and log lines.

Whoever may name a process may put terminal escapes, newlines or right-to-left overrides into it.
Everything shown goes through `printable`, and into `rich.text.Text`, never into rich markup.
"""

from __future__ import annotations

from exhume.derive.printable import escaped, printable

__all__ = ["escaped", "printable"]
