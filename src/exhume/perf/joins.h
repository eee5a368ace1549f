/* What joins.c and paths.c have in common: how they hash. */
#ifndef XH_JOINS_H
#define XH_JOINS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAILED UINT32_MAX

static inline uint64_t stir(uint64_t h, uint64_t v, uint64_t k) {
    h ^= v;
    h *= k;
    return h ^ (h >> 29);
}

/* A table of at least twice as many slots as rows. */
static inline uint64_t mask_for(uint64_t rows) {
    uint64_t mask = 1023;
    while (mask < 2 * rows) mask = mask * 2 + 1;
    return mask;
}

#endif
