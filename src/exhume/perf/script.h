/* What script.c, script_head.c and script_stack.c have in common: what a line may be, and how text is
 * hashed. Nothing outside of [p, end) is read. */
#ifndef XS_SCRIPT_H
#define XS_SCRIPT_H

#include "loads.h"

#include <stdint.h>
#include <string.h>

#define NONE INT64_MIN
#define BEYOND INT64_MAX /* a time that no clock shows */

/* The first line of a sample. */
typedef struct {
    const uint8_t *comm, *comm_end, *event, *event_end, *rest;
    int64_t time, period; /* nanoseconds, or BEYOND; NONE where the line has none */
    int32_t pid, tid, cpu; /* -1 where the line has none */
} head;

/* The lines below it. */
typedef struct {
    const uint8_t *begin, *end;
    uint64_t hash[2]; /* of what they say */
    int is_whole; /* what follows them is there to be seen */
    int has_frame; /* the first of them is one of a stack, rather than of other fields */
} stack;

/* How first lines are read. */
enum {
    NEEDS_TIME = 1, /* those without a time don't count */
    NO_IDS = 2, /* there are neither processes' nor threads' (`-F comm,cpu,time,event,ip,sym`), but times */
};

int xs_read_head(const uint8_t *line, const uint8_t *end, int how, head *h);
const uint8_t *xs_lone_frame(const uint8_t *p, const uint8_t *end);
void xs_find_stack(const uint8_t *p, const uint8_t *end, int at_end, int has_times, int how, stack *s);
void xs_hash_frame(const uint8_t *p, const uint8_t *end, uint64_t out[2]);
void xs_hash_stack(const uint8_t *p, const uint8_t *end, uint64_t out[2]);

static inline int is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }
static inline int is_hex(uint8_t c) { return is_digit(c) || (uint8_t)((c | 0x20) - 'a') < 6; }
static inline int is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

static inline const uint8_t *skip_spaces(const uint8_t *p, const uint8_t *end) {
    while (p < end && is_blank(*p)) p++;
    return p;
}

static inline const uint8_t *line_end(const uint8_t *p, const uint8_t *end) {
    const uint8_t *found = memchr(p, '\n', (size_t)(end - p));
    return found ? found : end;
}

static inline int starts_with(const uint8_t *p, const uint8_t *end, const char *word) {
    uint64_t n = strlen(word);
    return (uint64_t)(end - p) >= n && !memcmp(p, word, n);
}

/* An address: what a line of a stack begins with. */
static inline int begins_with_address(const uint8_t *p, const uint8_t *end) {
    const uint8_t *begin = p;
    while (p < end && is_hex(*p) && p - begin < 17) p++;
    return p > begin && p < end && *p == ' ';
}

/* Are the 16 digits at p an address in the kernel's half? POWER's begins with the longer one. */
static inline int in_kernel_half(const uint8_t *p) { return !memcmp(p, "ffff", 4) || !memcmp(p, "c00000", 6); }

/* Both halves of the product, as wyhash does it (https://github.com/wangyi-fudan/wyhash). */
static inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two hashes that share nothing but the text. No text has the bytes of the constants. */
static inline void hash_pair(uint64_t v, uint64_t w, uint64_t h[2]) {
    h[0] = fold(v ^ 0xff51afd7ed558ccdu, w ^ h[0]);
    h[1] = fold(v ^ h[1], w ^ 0xc4ceb9fe1a85ec53u);
}

static inline void hash_begin(uint64_t h[2]) { h[0] = 0x9e3779b97f4a7c15u, h[1] = 0xc2b2ae3d27d4eb4fu; }

/* The length must have gone in before: what fills up a short word must not stand for text, nor what
 * the last words have in common with those before them. */
static inline void hash_bytes(const uint8_t *p, uint64_t n, uint64_t h[2]) {
    const uint8_t *end = p + n;
    if (n >= 16) {
        for (; end - p > 16; p += 16) hash_pair(load64(p), load64(p + 8), h);
        hash_pair(load64(end - 16), load64(end - 8), h);
    } else if (n >= 8) {
        hash_pair(load64(p), load64(end - 8), h);
    } else if (n >= 4) {
        hash_pair(load32(p), load32(end - 4), h);
    } else if (n) {
        hash_pair(p[0] | (uint64_t)p[n / 2] << 8, end[-1], h);
    }
}

static inline void hash_text(const uint8_t *p, uint64_t n, uint64_t out[2]) {
    hash_begin(out);
    hash_pair(n, 0, out);
    hash_bytes(p, n, out);
}

#endif
