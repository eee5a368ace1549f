/* The two Parquet encodings that cannot be written as whole-column arithmetic in numpy.
 *
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/. The caller owns every buffer and
 * sizes the output by the bounds given here; nothing is read beyond `n` values.
 */
#include <stdint.h>
#include <string.h>

enum { ABI = 1, MINI = 32, MINIS = 4, BLOCK = MINI * MINIS };

int xe_abi(void) { return ABI; }

static uint8_t *varint(uint8_t *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *zigzag(uint8_t *out, int64_t value) {
    return varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static int width_of(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

/* n values of `width` bits each, lowest bits first; n * width is a multiple of 8. */
static uint8_t *pack64(uint8_t *out, const uint64_t *values, uint64_t n, int width) {
    uint64_t held = 0;
    int bits = 0;
    for (uint64_t i = 0; i < n && width; i++) {
        held |= values[i] << bits;
        if (bits + width >= 64) {
            memcpy(out, &held, 8); /* little-endian, as all this program runs on */
            out += 8;
            held = bits ? values[i] >> (64 - bits) : 0;
            if (bits + width == 64) held = 0;
            bits += width - 64;
        } else {
            bits += width;
        }
    }
    for (; bits > 0; bits -= 8, held >>= 8) *out++ = (uint8_t)held;
    return out;
}

/* DELTA_BINARY_PACKED. Room: 40 + (n / 128 + 1) * (14 + 128 * 8) bytes. Differences wrap around at
 * the width of the column's type, which is 32 or 64 bits. Returns the bytes written. */
uint64_t xe_delta(const int64_t *values, uint64_t n, int type_bits, uint8_t *out) {
    uint8_t *begin = out;
    out = varint(out, BLOCK);
    out = varint(out, MINIS);
    out = varint(out, n);
    int64_t first = n ? values[0] : 0;
    out = zigzag(out, type_bits == 32 ? (int32_t)first : first);
    uint64_t mask = type_bits == 32 ? UINT32_MAX : UINT64_MAX;
    for (uint64_t at = 1; at < n; at += BLOCK) {
        uint64_t count = n - at < BLOCK ? n - at : BLOCK, deltas[BLOCK] = {0};
        int64_t least = INT64_MAX;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t delta = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
            int64_t wrapped = type_bits == 32 ? (int64_t)(int32_t)(uint32_t)delta : (int64_t)delta;
            if (wrapped < least) least = wrapped;
            deltas[i] = (uint64_t)wrapped;
        }
        out = zigzag(out, least);
        uint8_t *widths = out;
        memset(widths, 0, MINIS);
        out += MINIS;
        for (uint64_t mini = 0; mini * MINI < count; mini++) {
            uint64_t all = 0, *some = deltas + mini * MINI;
            for (uint64_t i = 0; i < MINI; i++) {
                some[i] = mini * MINI + i < count ? (some[i] - (uint64_t)least) & mask : 0;
                all |= some[i];
            }
            widths[mini] = (uint8_t)width_of(all);
            out = pack64(out, some, MINI, widths[mini]);
        }
    }
    return (uint64_t)(out - begin);
}

static uint8_t *literals(uint8_t *out, const uint32_t *values, uint64_t n, int width) {
    uint64_t groups = (n + 7) / 8;
    if (!groups) return out;
    out = varint(out, groups << 1 | 1);
    for (uint64_t group = 0; group < groups; group++) {
        uint64_t eight[8] = {0};
        for (uint64_t i = 0; i < 8 && group * 8 + i < n; i++) eight[i] = values[group * 8 + i];
        out = pack64(out, eight, 8, width);
    }
    return out;
}

/* The hybrid of runs and bit-packed groups of 8, for values below 2^width, width 1 to 32. Room:
 * 20 + (n + 8) * 5 bytes. Returns the bytes written. */
uint64_t xe_runs(const uint32_t *values, uint64_t n, int width, uint8_t *out) {
    uint8_t *begin = out;
    uint64_t from = 0, at = 0; /* literals wait in [from, at) */
    while (at < n) {
        uint64_t run = 1, odd = (at - from) % 8;
        while (at + run < n && values[at + run] == values[at]) run++;
        if (run >= 8 && !odd) {
            out = literals(out, values + from, at - from, width);
            out = varint(out, run << 1);
            for (int bit = 0; bit < width; bit += 8) *out++ = (uint8_t)(values[at] >> bit);
            from = at += run;
        } else {
            at += odd && run > 8 - odd ? 8 - odd : run;
        }
    }
    out = literals(out, values + from, at - from, width);
    return (uint64_t)(out - begin);
}
