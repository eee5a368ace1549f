"""The modes of a core's time, as they are stored and shown."""

from __future__ import annotations

MAP_MODES = ("user", "system", "irq", "softirq", "steal", "iowait")
"""The modes of a `CoreMap`. `user` has nice in it; guests count as user. Busy = all but iowait."""
