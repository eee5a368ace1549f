"""The C reader of perf-script text under sanitizers, on text that was cut and mangled."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import exhume.perf.script_scan as script_scan
from tests import sanitized

# Every buffer has exactly the size that script_scan.py gives it, and so has the text.
DRIVER = r"""
#include "script_head.c"
#include "script_stack.c"
#include "script.c"
#include <stdio.h>
enum { ROOM = 64, LINE_ROOM = 1100 };
#define COLUMNS(DO) \
    DO(time, ROOM) DO(period, ROOM) DO(pid, ROOM) DO(tid, ROOM) DO(cpu, ROOM) DO(comm, ROOM) \
    DO(event, ROOM) DO(stack, ROOM) DO(comm_at, ROOM) DO(event_at, ROOM) DO(stack_at, ROOM) \
    DO(comm_length, ROOM) DO(event_length, ROOM) DO(stack_length, ROOM) DO(line_count, ROOM) \
    DO(line_at, LINE_ROOM) DO(line_length, LINE_ROOM) DO(stack_lines, LINE_ROOM)
#define NEW(column, room) c.column = malloc((room) * sizeof *c.column);
#define FREE(column, room) free(c.column);
int main(void) {
    uint64_t length;
    xs_texts *texts[4];
    for (int i = 0; i < 4; i++) texts[i] = xs_texts_new();
    while (fread(&length, 8, 1, stdin) == 1) {
        uint8_t *text = malloc(length ? length : 1);
        if (fread(text, 1, length, stdin) != length) return 2;
        uint64_t at = 0;
        static int round;
        round++;
        for (xs_counts n = {.consumed = 1}; at < length && n.consumed; at += n.consumed) {
            xs_columns c;
            COLUMNS(NEW)
            uint8_t *rest = malloc(length - at);
            memcpy(rest, text + at, length - at);
            if (!xs_read(rest, length - at, 1, round % 3 > 0, texts[0], texts[1], texts[2],
                         texts[3], ROOM, LINE_ROOM, &c, &n)) return 3;
            uint64_t lines = 0;
            for (uint64_t i = 0; i < n.stacks; i++) lines += c.line_count[i];
            if (lines != n.stack_lines || n.lines > n.stack_lines) return 4;
            for (uint64_t i = 0; i < lines; i++)
                if (c.stack_lines[i] >= xs_texts_count(texts[3])) return 5;
            free(rest);
            COLUMNS(FREE)
        }
        free(text);
        if (xs_texts_count(texts[2]) > 500) xs_texts_reset(texts[2]), xs_texts_reset(texts[3]);
    }
    for (int i = 0; i < 4; i++) xs_texts_free(texts[i]);
    return 0;
}
"""
PARTS = [
    b"worker 7/7 [000] 1.000000: 1 cpu-clock:\n", b"java 19983 cycles:\n", b"#1 2 [0] 3.4: x:\n",
    b"\tffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])\n", b"\t57ac3 [unknown] (/a)\n",
    b"\t           57ac3 main+0x1f (/bin/a)\n", b"\t    7ffd0c6a3c60 [unknown] ([unknown])\n",
    b"\t57ac3 [unknown] ([unknown])\n", b"\t401b97 outer (inlined)\n", b"\t1 f(int (*)())+0x (x)\n",
    b"\t7f00 (anonymous namespace)::go() (/bin/x)\n", b"\t7f00\n", b"\t\n", b"\n", b" \t \r\n",
    b"   dd 29776 666709.771979: ffffffff f+0x1 (x)\n", b"PERF_RECORD_LOST lost 12\n",
    b"worker [001] 1.5: x:\n", b"# comment\n", b"+0x1",
]  # fmt: skip


def mangled(seed: int, count: int) -> bytes:
    rng = random.Random(seed)
    out: list[bytes] = []
    for _ in range(count):
        text = bytearray(b"".join(rng.choices(PARTS, k=rng.randrange(200))))
        for _ in range(rng.randrange(5) if text else 0):
            text[rng.randrange(len(text))] = rng.choice(b"\0 \t\n()[]+0xff:/\xff")
        if rng.random() < 0.2:
            text += b"worker 7 1.0: x:\n" + b"\t1 f (x)\n" * rng.randrange(2000)
        del text[rng.randrange(len(text) + 1) :]
        out += [struct.pack("<Q", len(text)), bytes(text)]
    return b"".join(out)


def test_no_text_makes_the_reader_leave_its_memory(tmp_path: Path) -> None:
    driver = sanitized.build(tmp_path, DRIVER, Path(script_scan.__file__).parent)
    for seed in range(3):
        run = subprocess.run([driver], input=mangled(seed, 400), capture_output=True, check=False)
        assert run.returncode == 0, run.stderr.decode()
