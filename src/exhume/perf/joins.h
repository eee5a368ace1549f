/* What joins.c and stacks.c have in common: how they hash, and rows by key. */
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

typedef struct {
    int64_t position;
    uint32_t row;
} xh_said;

/* Rows put together by key, those of each in order of their position. */
typedef struct {
    const int64_t *key;
    uint32_t *slots; /* number of a group + 1 */
    uint32_t *first; /* the first row of each */
    uint32_t *start; /* where it begins in `rows` */
    xh_said *rows;
    uint64_t mask;
} xh_groups;

/* 0 when out of memory; to be freed in any case. `key` is not copied. */
int xh_groups_make(xh_groups *g, const int64_t *key, const int64_t *position, uint32_t n);
void xh_groups_free(xh_groups *g);

/* The group of a key, FAILED where there is none. */
uint32_t xh_group_of(const xh_groups *g, int64_t key);

/* The row of that group with the greatest position not after the one asked for, of rows at one position
 * the last one; -1 where there is none. */
int64_t xh_last_of(const xh_groups *g, uint32_t group, int64_t asked);

#endif
