"""The C of the walker and of the trees under sanitizers, on hostile buffers."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest

import exhume.perf.native as native_module
from tests import sanitized
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Sample, Shape
from tests.perf.test_native import ALL_BITS, MIXED

# The sources are included, so that their structs need not be told twice. Every buffer has exactly
# the size that the callers give it: one byte more, read or written, and the sanitizer ends it.
DRIVER = r"""
#include "native.c"
#include "joins.c"
#include "stacks.c"
#include <stdio.h>
#define ROOM(n) malloc((n) ? (n) : 1)
int main(void) {
    uint64_t length, walks = 0;
    xh_stacks *stacks = xh_stacks_new(4);
    xh_tree *names = xh_tree_new();
    xh_layout layouts[2];
    uint64_t ids[3] = {1, 5, 1ull << 40};
    uint16_t of_id[3] = {0, 1, 1};
    while (fread(&length, 8, 1, stdin) == 1) {
        if (fread(layouts, sizeof layouts, 1, stdin) != 1) return 2;
        uint8_t *buf = ROOM(length);
        if (length && fread(buf, length, 1, stdin) != 1) return 2;
        xh_counts n, m;
        xh_count(buf, length / 2, length, 0, &m);
        xh_count(buf, length, length / 2, 0, &n);
        if (n.consumed < m.consumed || n.consumed > length) return 12;
        xh_count(buf, length, length, 0, &n);
        uint64_t s = n.samples, o = n.others;
        xh_columns c = {
            ROOM(8 * s), ROOM(8 * s), ROOM(8 * s), ROOM(8 * s), ROOM(4 * s), ROOM(4 * s),
            ROOM(4 * s), ROOM(4 * s), ROOM(2 * s), ROOM(2 * s), ROOM(8 * n.words), ROOM(4 * s),
            ROOM(8 * o), ROOM(4 * o), ROOM(4 * o), ROOM(2 * o), ROOM(8 * o), ROOM(4 * o),
            ROOM(4 * o), ROOM(4 * o), ROOM(8 * o), walks % 3 ? ROOM(n.bytes) : NULL,
        };
        memset(&m, 0, sizeof m);
        xh_walk(buf, length, layouts, ids, of_id, walks % 2 ? 3 : 0, stacks, &c, &m);
        if (m.consumed != n.consumed || m.consumed > length) return 3;
        if (m.samples + m.bad != s || m.others != o || m.words > n.words) return 4;
        xh_counts told = {0};
        xh_columns others = c;
        others.ip = NULL, others.words = NULL;
        xh_walk(buf, length, layouts, ids, of_id, walks % 2 ? 3 : 0, NULL, &others, &told);
        if (told.bytes != n.bytes || m.bytes != n.bytes) return 15;
        if (told.samples || told.words || told.others != o) return 13;
        if (told.consumed != n.consumed) return 14;
        uint64_t found = m.new_stacks;
        int64_t *count = ROOM(8 * found), *space = ROOM(8 * found), *stack = ROOM(8 * found);
        const uint64_t **chains = ROOM(8 * found);
        uint32_t *process = ROOM(4 * found), *ends = ROOM(4 * found), top[2] = {0, 0}, one = 1;
        uint64_t taken = 0;
        for (uint64_t i = 0; i < found; i++) {
            count[i] = c.word_count[i], space[i] = (int64_t)(i % 3) - 1;
            stack[i] = (int64_t)(found - 1 - i), process[i] = i % 4 > 1;
            uint64_t *words = ROOM(8 * count[i]); /* exactly as many as there are */
            memcpy(words, c.words + taken, 8 * count[i]);
            chains[i] = words, taken += count[i];
        }
        int64_t where[4] = {0, 1ull << 46, 0, -1}, ends_at[4] = {1ll << 45, 1ll << 47, 9, 7};
        int64_t spaces[4] = {0, 0, 1, 1}, code[4] = {0, -1, 1, 1};
        xh_maps maps = {spaces, where, ends_at, where, code, 4};
        xh_places *places = xh_places_new();
        int8_t mode[7] = {-1, -1, 0, 1, 2, 3, -1};
        if (!xh_tree_children(names, top, &one, 1, top + 1)) return 7;
        xh_chains all = {chains, count};
        xh_seen seen = {process, space, stack, found};
        for (int round = 0; round < 2; round++) {
            uint32_t met = xh_places_count(places);
            xh_names known = {places, -2, mode, 1, 2, 6, 300, {3, 4, 5, 6}, UINT32_MAX};
            int64_t done = xh_tree_name(names, &known, &maps, &all, top, &seen, ends);
            if (done != (int64_t)found) return 10;
            if (round && xh_places_count(places) != met) return 5;
            for (uint64_t i = 0; i < found; i++)
                if (ends[i] >= xh_tree_count(names) || (round && process[i] && !ends[i])) return 11;
            met = xh_places_count(places);
            int64_t *codes = ROOM(8 * met), *offsets = ROOM(8 * met);
            uint32_t *frame = ROOM(4 * met);
            xh_places_cells(places, 0, codes, offsets);
            for (uint32_t i = 0; i < met; i++) {
                if (codes[i] < -2 || codes[i] > 1 || codes[i] == -1) return 6;
                frame[i] = (uint32_t)offsets[i] % 7;
            }
            xh_places_name(places, 0, frame);
            free(codes), free(offsets), free(frame);
        }
        xh_places_free(places);
        for (uint64_t i = 0; i < found; i++) free((void *)chains[i]);
        free(chains), free(count), free(space), free(stack), free(process), free(ends);
        void **columns = (void **)&c;
        for (size_t i = 0; i < sizeof c / sizeof *columns; i++) free(columns[i]);
        free(buf);
        if (++walks % 97 == 0) xh_stacks_reset(stacks);
    }
    const xh_node *nodes = xh_tree_nodes(names);
    for (uint32_t i = 1; i < xh_tree_count(names); i++)
        if (nodes[i].parent >= i || nodes[i].depth != nodes[nodes[i].parent].depth + 1) return 16;
    xh_tree_free(names), xh_stacks_free(stacks);
    printf("%llu\n", (unsigned long long)walks);
    return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    return sanitized.build(folder, DRIVER, Path(native_module.__file__).parent)


def fuzzed(seed: int, count: int) -> bytes:
    """Valid records, cut, flipped, with lengths of choice, or plain noise."""
    rng = random.Random(seed)
    hostile = [0, 1, 7, 8, 16, 0xFFFF, 1 << 16, 1 << 32, 1 << 61, 1 << 63, (1 << 64) - 8]
    out: list[bytes] = []
    for _ in range(count):
        sample_type = rng.getrandbits(25) & ALL_BITS
        dumps = rng.choice([0, 8 | 7 << 8 | 6 << 16, rng.getrandbits(24)])
        shape = Shape(
            sample_type, rng.getrandbits(5), rng.getrandbits(20), rng.getrandbits(64),
            dump_regs=dumps, deferred=rng.random() < 0.5,
        )  # fmt: skip
        other = Shape(rng.getrandbits(25), rng.getrandbits(5))
        chain = tuple(
            rng.choice([rng.getrandbits(64), enc.USER, enc.KERNEL]) for _ in range(rng.randrange(6))
        )
        s = Sample(
            id=rng.choice([0, 1, 5, 1 << 40]),
            chain=chain,
            branches=2,
            raw=b"12345",
            user_stack=rng.randbytes(rng.randrange(80)),
        )
        data = bytearray(b"".join([*rng.sample(MIXED, 3), *[enc.sample(shape, s)] * 2]))
        for _ in range(rng.randrange(4)):
            match rng.randrange(5):
                case 0:
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                case 1:
                    at = rng.randrange(0, max(1, len(data) - 8))
                    data[at : at + 8] = struct.pack("<Q", rng.choice(hostile))
                case 2:
                    del data[rng.randrange(max(8, len(data) - 64), len(data) + 1) :]
                    data += bytes(rng.randrange(16))
                case 3:
                    data = bytearray(rng.randbytes(rng.randrange(16, 128)))
                case 4:  # a record of any kind that is shorter than such a record ever is
                    data += enc.record(rng.randrange(20), 0, rng.randbytes(rng.randrange(72)))
        out += [
            struct.pack("<Q", len(data)),
            bytes(shape.layout()),
            bytes(other.layout()),
            bytes(data),
        ]
    return b"".join(out)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_buffer_makes_the_walker_leave_its_memory(driver: Path, seed: int) -> None:
    done = subprocess.run([driver], input=fuzzed(seed, 3000), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"3000\n"), done.stderr.decode()[-4000:]
