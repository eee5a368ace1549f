"""The C encoder stays within the rooms that its callers give it, whatever the values."""

from __future__ import annotations

import subprocess
from pathlib import Path

import exhume.store.encodings as encodings
from tests import sanitized

# Every buffer has exactly the size that encodings.py gives it, and the sanitizer looks on.
DRIVER = r"""
#include "encode.c"
#include <stdlib.h>
static uint64_t state = 1;
static uint64_t any(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11;
}
int main(void) {
    for (int round = 0; round < 3000; round++) {
        uint64_t n = any() % 700;
        int width = 1 + (int)(any() % 32), bits = round % 2 ? 32 : 64;
        int64_t *wide = malloc(8 * n + 1);
        uint32_t *narrow = malloc(4 * n + 1), value = 0;
        for (uint64_t i = 0, left = 0; i < n; i++, left -= left > 0) {
            if (!left) left = any() % (1 + any() % 40), value = (uint32_t)any() >> (32 - width);
            narrow[i] = value;
            wide[i] = (int64_t)(any() << 53 ^ any()) >> any() % 64;
            if (bits == 32) wide[i] = (int32_t)wide[i];
        }
        uint64_t room = 40 + (n / 128 + 1) * (14 + 128 * 8);
        uint8_t *out = malloc(room);
        if (xe_delta(wide, n, bits, out) > room) return 1;
        free(out);
        room = 20 + (n + 8) * 5;
        out = malloc(room);
        if (xe_runs(narrow, n, width, out) > room) return 2;
        free(out), free(wide), free(narrow);
    }
    return 0;
}
"""


def test_no_values_make_the_encoder_leave_its_memory(tmp_path: Path) -> None:
    driver = sanitized.build(tmp_path, DRIVER, Path(encodings.__file__).parent)
    run = subprocess.run([driver], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
