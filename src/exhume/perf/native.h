/* What the two halves of the walker share: native.c walks buffers, rings.c the kernel's rings. */
#ifndef EXHUME_NATIVE_H
#define EXHUME_NATIVE_H

#include "loads.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_EXIT = 4,
    RECORD_THROTTLE = 5,
    RECORD_UNTHROTTLE = 6,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_USER_TYPE_START = 64, /* written by perf(1), without a sample_id trailer */
};

enum {
    SAMPLE_IP = 1u << 0,
    SAMPLE_TID = 1u << 1,
    SAMPLE_TIME = 1u << 2,
    SAMPLE_ADDR = 1u << 3,
    SAMPLE_READ = 1u << 4,
    SAMPLE_CALLCHAIN = 1u << 5,
    SAMPLE_ID = 1u << 6,
    SAMPLE_CPU = 1u << 7,
    SAMPLE_PERIOD = 1u << 8,
    SAMPLE_STREAM_ID = 1u << 9,
    SAMPLE_RAW = 1u << 10,
    SAMPLE_BRANCH_STACK = 1u << 11,
    SAMPLE_REGS_USER = 1u << 12,
    SAMPLE_STACK_USER = 1u << 13,
    SAMPLE_WEIGHT = 1u << 14,
    SAMPLE_DATA_SRC = 1u << 15,
    SAMPLE_IDENTIFIER = 1u << 16,
    SAMPLE_TRANSACTION = 1u << 17,
    SAMPLE_REGS_INTR = 1u << 18,
    SAMPLE_PHYS_ADDR = 1u << 19,
    SAMPLE_CGROUP = 1u << 21,
    SAMPLE_WEIGHT_STRUCT = 1u << 24,
};

/* How one event's records are laid out: from its perf_event_attr. */
typedef struct {
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t branch_type;
    uint64_t regs_user;
    uint64_t regs_intr;
    uint64_t sample_id_all;
    uint64_t dump_regs; /* of regs_user: where the code was, stack and frame pointer; 0: no dumps wanted */
    uint64_t deferred;  /* programs' stacks come later: what names them stays at the end of the chain */
} xh_layout;

/* Which stacks were seen since the last reset. The 128-bit hash is the identity. */
typedef struct {
    struct xh_slot *slots;
    uint64_t mask;
    uint32_t count;
} xh_stacks;

/* Columns to fill; the caller sized them by xh_count. */
typedef struct {
    uint64_t *time, *ip, *period, *cgroup;
    int32_t *pid, *tid;
    uint32_t *cpu, *stack;
    uint16_t *event, *misc;
    uint64_t *words;       /* stacks new in this call, one after the other */
    uint32_t *word_count;  /* length of each */
    uint64_t *offset;      /* of the records that are not samples */
    uint32_t *type, *size;
    uint16_t *other_misc;
    uint64_t *other_time;
    int32_t *other_pid, *other_tid;
    uint32_t *other_cpu;
    uint64_t *file_hash;   /* MMAP2: identity of the mapped file; else 0 */
    uint8_t *bytes;        /* a copy of them, in which the offsets are; NULL: they stay where they are */
} xh_columns;

typedef struct {
    uint64_t samples, others, words, new_stacks, bad, consumed;
    uint64_t kinds; /* which types the others have: bit n for type n, bit 63 for all from 63 on */
    uint64_t bytes; /* of the others */
} xh_counts;

static inline uint64_t mix(uint64_t h, uint64_t v, uint64_t k) {
    h ^= v;
    h *= k;
    return h ^ (h >> 29);
}

/* How long the trailer is that sample_id_all appends to a record that is not a sample. */
static inline uint64_t trailer_bytes(uint64_t t) {
    return 8 * (uint64_t)(((t & SAMPLE_TID) != 0) + ((t & SAMPLE_TIME) != 0) + ((t & SAMPLE_ID) != 0) +
                          ((t & SAMPLE_STREAM_ID) != 0) + ((t & SAMPLE_CPU) != 0) +
                          ((t & SAMPLE_IDENTIFIER) != 0));
}

/* The id of a stack; *is_new tells whether it was seen first now. UINT32_MAX: out of memory. */
uint32_t xh_stack_id(xh_stacks *s, const uint8_t *words, uint64_t n, int *is_new);

/* One sample into row n->samples. 0: it does not add up. */
int xh_walk_sample(const uint8_t *p, const uint8_t *end, uint16_t misc, const xh_layout *l, uint16_t event,
                   xh_stacks *stacks, xh_columns *c, xh_counts *n);

/* The identity of the file that an MMAP2 record names; 0 where it is too short. */
uint64_t xh_mapped_file_hash(const uint8_t *record, uint16_t size);

#endif
