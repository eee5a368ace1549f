/* Walks perf records in bulk: the one loop that numpy does five times slower (docs/decisions/0001).
 *
 * Records come from a ring, a perf.data file or a pipe; all three share this code. The caller owns
 * every buffer. Nothing here trusts a length that it read: a record that does not add up ends the
 * walk or is counted as bad, and no read leaves its record.
 *
 * Layout of the records: include/uapi/linux/perf_event.h, enum perf_event_type.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ABI = 5 };

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

#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define NO_ID UINT64_MAX
#define MISC_COMM_EXEC (1u << 13)
#define COMM_BYTES 16

/* How one event's records are laid out: from its perf_event_attr. */
typedef struct {
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t branch_type;
    uint64_t regs_user;
    uint64_t regs_intr;
    uint64_t sample_id_all;
} xh_layout;

typedef struct {
    uint64_t hash[2];
    uint32_t id;
    uint32_t used;
} slot;

/* Which stacks were seen since the last reset. The 128-bit hash is the identity. */
typedef struct {
    slot *slots;
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
} xh_columns;

typedef struct {
    uint64_t samples, others, words, new_stacks, bad, consumed;
    uint64_t kinds; /* which types the others have: bit n for type n, bit 63 for all from 63 on */
} xh_counts;

/* What the side band tells, by kind; the caller sized them by xh_told_count. */
typedef struct {
    int64_t *comm_time;
    int32_t *comm_pid, *comm_tid;
    uint8_t *comm_exec, *comm_name; /* COMM_BYTES each, zeros behind the end */
    int64_t *fork_time;
    int32_t *fork_pid, *fork_parent_pid, *fork_tid, *fork_parent_tid;
    int64_t *exit_time;
    int32_t *exit_pid, *exit_parent_pid, *exit_tid, *exit_parent_tid;
    int64_t *map_time;
    int32_t *map_pid;
    uint64_t *map_start, *map_length, *map_offset, *map_hash;
    uint8_t *rest; /* whole records of all other kinds, and the first mapping of each new file */
} xh_told;

typedef struct {
    uint64_t comms, forks, exits, maps, rest;
} xh_told_counts;

/* A ring as the kernel maps it: the control page, then the data, a power of two long. */
typedef struct {
    uint8_t *control;
    const uint8_t *data;
    uint64_t size;
} xh_ring;

int xh_abi(void) { return ABI; }

static uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint16_t load16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static uint64_t mix(uint64_t h, uint64_t v, uint64_t k) {
    h ^= v;
    h *= k;
    return h ^ (h >> 29);
}

/* The length goes in first: without it a trailing zero frame hashes to nothing. */
static void hash_words(const uint8_t *p, uint64_t n, uint64_t out[2]) {
    uint64_t a = mix(0x9e3779b97f4a7c15u, n, 0xff51afd7ed558ccdu);
    uint64_t b = mix(0xc2b2ae3d27d4eb4fu, n, 0xc4ceb9fe1a85ec53u);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = load64(p + 8 * i);
        a = mix(a, v, 0xff51afd7ed558ccdu);
        b = mix(b, v ^ (v >> 32), 0xc4ceb9fe1a85ec53u);
    }
    out[0] = a ^ (a >> 32);
    out[1] = b ^ (b >> 32);
}

xh_stacks *xh_stacks_new(uint32_t slots_log2) {
    xh_stacks *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->mask = (1ull << slots_log2) - 1;
    s->slots = calloc(s->mask + 1, sizeof *s->slots);
    if (!s->slots) {
        free(s);
        return NULL;
    }
    return s;
}

void xh_stacks_free(xh_stacks *s) {
    if (s) free(s->slots);
    free(s);
}

void xh_stacks_reset(xh_stacks *s) {
    memset(s->slots, 0, (s->mask + 1) * sizeof *s->slots);
    s->count = 0;
}

uint32_t xh_stacks_count(const xh_stacks *s) { return s->count; }

static int grow(xh_stacks *s) {
    slot *old = s->slots;
    uint64_t old_size = s->mask + 1, mask = old_size * 2 - 1;
    slot *fresh = calloc(mask + 1, sizeof *fresh);
    if (!fresh) return -1;
    for (uint64_t i = 0; i < old_size; i++) {
        if (!old[i].used) continue;
        uint64_t at = old[i].hash[0] & mask;
        while (fresh[at].used) at = (at + 1) & mask;
        fresh[at] = old[i];
    }
    free(old);
    s->slots = fresh;
    s->mask = mask;
    return 0;
}

/* The id of a stack; *is_new tells whether it was seen first now. UINT32_MAX: out of memory. */
static uint32_t stack_id(xh_stacks *s, const uint8_t *words, uint64_t n, int *is_new) {
    uint64_t h[2];
    if ((uint64_t)s->count * 2 > s->mask && grow(s) != 0) return UINT32_MAX;
    hash_words(words, n, h);
    uint64_t at = h[0] & s->mask;
    while (s->slots[at].used) {
        if (s->slots[at].hash[0] == h[0] && s->slots[at].hash[1] == h[1]) {
            *is_new = 0;
            return s->slots[at].id;
        }
        at = (at + 1) & s->mask;
    }
    s->slots[at] = (slot){{h[0], h[1]}, s->count++, 1};
    *is_new = 1;
    return s->slots[at].id;
}

/* Upper bounds for the columns; stops at the first record that is not whole. */
void xh_count(const uint8_t *buf, uint64_t len, xh_counts *out) {
    memset(out, 0, sizeof *out);
    uint64_t at = 0;
    while (at + 8 <= len) {
        uint32_t type = load32(buf + at);
        uint16_t size = load16(buf + at + 6);
        if (size < 8 || at + size > len) break;
        if (type == RECORD_SAMPLE) {
            out->samples++;
            out->words += size / 8 + 2;
        } else {
            out->others++;
        }
        at += size;
    }
    out->consumed = at;
}

/* How many bytes of whole records there are before the first that is no record for the walker: one
 * of perf's own types (64 and up) whose bit is set in `stops`. It may have a payload behind it, hold
 * records inside, or change how those after it read. */
uint64_t xh_span(const uint8_t *buf, uint64_t len, uint64_t stops) {
    uint64_t at = 0;
    while (at + 8 <= len) {
        uint32_t type = load32(buf + at);
        uint16_t size = load16(buf + at + 6);
        if (size < 8 || at + size > len) break;
        if (type >= RECORD_USER_TYPE_START && type < RECORD_USER_TYPE_START + 64 &&
            stops >> (type - RECORD_USER_TYPE_START) & 1)
            break;
        at += size;
    }
    return at;
}

static const xh_layout *layout_of(uint64_t id, const xh_layout *layouts, const uint64_t *ids,
                                  const uint16_t *id_layout, uint64_t n_ids, uint16_t *index) {
    uint64_t low = 0, high = n_ids;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (ids[mid] < id) low = mid + 1;
        else high = mid;
    }
    *index = (low < n_ids && ids[low] == id) ? id_layout[low] : 0;
    return &layouts[*index];
}

/* Where in a record the id of its event lies: IDENTIFIER (kernel 3.12 on) comes first. Before, all
 * events of a file had to have one layout, with the ID behind what precedes it. 0: there is none. */
static uint64_t sample_id_at(uint64_t t) {
    if (t & SAMPLE_IDENTIFIER) return 8;
    if (!(t & SAMPLE_ID)) return 0;
    return 8 + 8 * (uint64_t)(((t & SAMPLE_IP) != 0) + ((t & SAMPLE_TID) != 0) +
                              ((t & SAMPLE_TIME) != 0) + ((t & SAMPLE_ADDR) != 0));
}

static uint64_t read_size(const uint8_t *p, const uint8_t *end, uint64_t format) {
    uint64_t times = ((format & 1) != 0) + ((format & 2) != 0);
    uint64_t each = 1 + ((format & 4) != 0) + ((format & 16) != 0);
    if (!(format & 8)) return 8 * (each + times);
    if (end - p < 8) return UINT64_MAX;
    uint64_t n = load64(p);
    return n > (1u << 16) ? UINT64_MAX : 8 * (1 + times + n * each);
}

/* Advance over n bytes of the record, or give up on it. */
#define SKIP(n)                                               \
    do {                                                      \
        uint64_t skip_ = (n);                                 \
        if (skip_ > (uint64_t)(end - p)) return 0;            \
        p += skip_;                                           \
    } while (0)
#define NEED(n)                                               \
    do {                                                      \
        if ((uint64_t)(n) > (uint64_t)(end - p)) return 0;    \
    } while (0)

/* One sample into row i. 0: it does not add up. */
static int walk_sample(const uint8_t *p, const uint8_t *end, uint16_t misc, const xh_layout *l,
                       uint16_t event, xh_stacks *stacks, xh_columns *c, xh_counts *n) {
    uint64_t t = l->sample_type, i = n->samples;
    c->ip[i] = c->time[i] = c->period[i] = c->cgroup[i] = 0;
    c->pid[i] = c->tid[i] = -1;
    c->cpu[i] = UINT32_MAX;
    c->event[i] = event;
    c->misc[i] = misc;
    if (t & SAMPLE_IDENTIFIER) SKIP(8);
    if (t & SAMPLE_IP) { NEED(8); c->ip[i] = load64(p); p += 8; }
    if (t & SAMPLE_TID) {
        NEED(8);
        c->pid[i] = (int32_t)load32(p);
        c->tid[i] = (int32_t)load32(p + 4);
        p += 8;
    }
    if (t & SAMPLE_TIME) { NEED(8); c->time[i] = load64(p); p += 8; }
    if (t & SAMPLE_ADDR) SKIP(8);
    if (t & SAMPLE_ID) SKIP(8);
    if (t & SAMPLE_STREAM_ID) SKIP(8);
    if (t & SAMPLE_CPU) { NEED(8); c->cpu[i] = load32(p); p += 8; }
    if (t & SAMPLE_PERIOD) { NEED(8); c->period[i] = load64(p); p += 8; }
    if (t & SAMPLE_READ) SKIP(read_size(p, end, l->read_format));

    uint64_t lone[2] = {(misc & 7) == 2 ? CONTEXT_USER : CONTEXT_KERNEL, c->ip[i]};
    const uint8_t *words = (const uint8_t *)lone;
    uint64_t depth = 2;
    if (t & SAMPLE_CALLCHAIN) {
        NEED(8);
        uint64_t nr = load64(p);
        if (nr > (uint64_t)(end - p) / 8 - 1) return 0;
        if (nr > 0) {
            words = p + 8;
            depth = nr;
        }
        p += 8 + nr * 8;
    }
    if (t & SAMPLE_RAW) { NEED(4); SKIP(4 + (uint64_t)load32(p)); }
    if (t & SAMPLE_BRANCH_STACK) {
        NEED(8);
        uint64_t nr = load64(p);
        if (nr > (1u << 16)) return 0;
        SKIP(8 + nr * 24 + (l->branch_type & BRANCH_HW_INDEX ? 8 : 0) +
             (l->branch_type & BRANCH_COUNTERS ? nr * 8 : 0));
    }
    if (t & SAMPLE_REGS_USER) {
        NEED(8);
        SKIP(8 + (load64(p) ? 8 * (uint64_t)__builtin_popcountll(l->regs_user) : 0));
    }
    if (t & SAMPLE_STACK_USER) {
        NEED(8);
        uint64_t size = load64(p);
        if (size > (1u << 20)) return 0;
        SKIP(8 + (size ? size + 8 : 0));
    }
    if (t & (SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT)) SKIP(8);
    if (t & SAMPLE_DATA_SRC) SKIP(8);
    if (t & SAMPLE_TRANSACTION) SKIP(8);
    if (t & SAMPLE_REGS_INTR) {
        NEED(8);
        SKIP(8 + (load64(p) ? 8 * (uint64_t)__builtin_popcountll(l->regs_intr) : 0));
    }
    if (t & SAMPLE_PHYS_ADDR) SKIP(8);
    if (t & SAMPLE_CGROUP) { NEED(8); c->cgroup[i] = load64(p); p += 8; }

    int is_new = 0;
    c->stack[i] = stack_id(stacks, words, depth, &is_new);
    if (c->stack[i] == UINT32_MAX) return 0;
    if (is_new) {
        memcpy(c->words + n->words, words, depth * 8);
        c->word_count[n->new_stacks++] = (uint32_t)depth;
        n->words += depth;
    }
    n->samples++;
    return 1;
}

/* How long the trailer is that sample_id_all appends to a record that is not a sample. */
static uint64_t trailer_bytes(uint64_t t) {
    return 8 * (uint64_t)(((t & SAMPLE_TID) != 0) + ((t & SAMPLE_TIME) != 0) + ((t & SAMPLE_ID) != 0) +
                          ((t & SAMPLE_STREAM_ID) != 0) + ((t & SAMPLE_CPU) != 0) +
                          ((t & SAMPLE_IDENTIFIER) != 0));
}

/* Who and when of it. */
static void walk_trailer(const uint8_t *record, uint16_t size, const xh_layout *l, xh_columns *c, uint64_t i) {
    uint64_t t = l->sample_type, length = trailer_bytes(t);
    if (!l->sample_id_all || size < 8 + length) return;
    const uint8_t *p = record + size - length;
    if (t & SAMPLE_TID) {
        c->other_pid[i] = (int32_t)load32(p);
        c->other_tid[i] = (int32_t)load32(p + 4);
        p += 8;
    }
    if (t & SAMPLE_TIME) { c->other_time[i] = load64(p); p += 8; }
    if (t & SAMPLE_ID) p += 8;
    if (t & SAMPLE_STREAM_ID) p += 8;
    if (t & SAMPLE_CPU) c->other_cpu[i] = load32(p);
}

/* MMAP2: device and inode (or build id) at 40, protection at 64, file name from 72 on. */
static uint64_t mapped_file_hash(const uint8_t *record, uint16_t size) {
    if (size < 80) return 0;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int at = 40; at < 64; at += 8) h = mix(h, load64(record + at), 0xff51afd7ed558ccdu);
    for (uint16_t at = 72; at < size && record[at]; at++) h = mix(h, record[at], 0xc4ceb9fe1a85ec53u);
    return h | 1;
}

/* Walk whole records into the columns. ids (sorted) tell which event a sample is of, if there are several. */
void xh_walk(const uint8_t *buf, uint64_t len, const xh_layout *layouts, const uint64_t *ids,
             const uint16_t *id_layout, uint64_t n_ids, xh_stacks *stacks, xh_columns *c, xh_counts *n) {
    memset(n, 0, sizeof *n);
    uint64_t at = 0;
    while (at + 8 <= len) {
        const uint8_t *record = buf + at;
        uint32_t type = load32(record);
        uint16_t misc = load16(record + 4), size = load16(record + 6);
        if (size < 8 || at + size > len) break;
        if (type == RECORD_SAMPLE) {
            uint16_t event = 0;
            const xh_layout *l = layouts;
            uint64_t id_at = sample_id_at(l->sample_type);
            if (n_ids && id_at && size >= id_at + 8)
                l = layout_of(load64(record + id_at), layouts, ids, id_layout, n_ids, &event);
            if (!walk_sample(record + 8, record + size, misc, l, event, stacks, c, n)) n->bad++;
        } else {
            uint64_t i = n->others++;
            n->kinds |= 1ull << (type < 63 ? type : 63);
            c->offset[i] = at;
            c->type[i] = type;
            c->size[i] = size;
            c->other_misc[i] = misc;
            c->other_time[i] = 0;
            c->other_pid[i] = c->other_tid[i] = -1;
            c->other_cpu[i] = UINT32_MAX;
            c->file_hash[i] = type == RECORD_MMAP2 ? mapped_file_hash(record, size) : 0;
            if (type < RECORD_USER_TYPE_START) {
                uint16_t event = 0;
                const xh_layout *l = layouts;
                /* At the very end, so that it can be found before the layout is known. */
                if (n_ids && (l->sample_type & SAMPLE_IDENTIFIER) && size >= 16)
                    l = layout_of(load64(record + size - 8), layouts, ids, id_layout, n_ids, &event);
                walk_trailer(record, size, l, c, i);
            }
        }
        at += size;
    }
    n->consumed = at;
}

/* Rows of the samples that the idle loop itself did not make, and how many it made on each core.
 * `ranges` are its addresses, start and end, in order. */
uint64_t xh_busy(const uint64_t *ip, const int32_t *pid, const uint32_t *cpu, uint64_t n,
                 const uint64_t *ranges, uint64_t n_ranges, uint64_t *idle, uint64_t n_cores,
                 int64_t *rows) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        int is_idle = 0;
        for (uint64_t r = 0; pid[i] == 0 && r < n_ranges && ranges[2 * r] <= ip[i]; r++)
            is_idle |= ip[i] < ranges[2 * r + 1];
        if (!is_idle) rows[kept++] = (int64_t)i;
        else if (cpu[i] < n_cores) idle[cpu[i]]++;
    }
    return kept;
}

/* Distinct values and how often each occurs, in the order of their first; `table` has mask + 1
 * zeros, more than twice as many as there are values. */
uint64_t xh_tally(const int32_t *values, uint64_t n, uint32_t *table, uint64_t mask, int32_t *found,
                  uint32_t *counts) {
    uint64_t distinct = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = mix(0, (uint32_t)values[i], 0x9e3779b97f4a7c15u) & mask;
        while (table[at] && found[table[at] - 1] != values[i]) at = (at + 1) & mask;
        if (!table[at]) {
            found[distinct] = values[i];
            counts[distinct] = 0;
            table[at] = (uint32_t)++distinct;
        }
        counts[table[at] - 1]++;
    }
    return distinct;
}

static uint64_t ring_head(const xh_ring *r) {
    return __atomic_load_n((const uint64_t *)(r->control + 1024), __ATOMIC_ACQUIRE);
}

static uint64_t ring_tail(const xh_ring *r) {
    return __atomic_load_n((const uint64_t *)(r->control + 1032), __ATOMIC_RELAXED);
}

/* A record of a ring in one piece: where it lies, or in `spare` where it wraps. */
static const uint8_t *whole(const xh_ring *r, uint64_t at, uint16_t size, uint8_t *spare) {
    uint64_t begin = at & (r->size - 1), first = r->size - begin;
    if (size <= first) return r->data + begin;
    memcpy(spare, r->data + begin, first);
    memcpy(spare + first, r->data, size - first);
    return spare;
}

/* The header at `at`; 0 where no whole record is there. Records are multiples of 8 long, so that a
 * header never wraps. */
static uint16_t header(const xh_ring *r, uint64_t at, uint64_t head, uint32_t *type, uint16_t *misc) {
    if (at % 8 || at + 8 > head) return 0;
    const uint8_t *p = r->data + (at & (r->size - 1));
    uint16_t size = load16(p + 6);
    *type = load32(p);
    *misc = load16(p + 4);
    return size < 8 || size % 8 || at + size > head ? 0 : size;
}

static uint64_t lost_by(const uint8_t *record, uint32_t type, uint16_t size) {
    if (type == RECORD_LOST && size >= 24) return load64(record + 16);
    return type == RECORD_LOST_SAMPLES && size >= 16 ? load64(record + 8) : 0;
}

/* Upper bounds for what waits in these rings, each up to its `head`, which goes to the caller. */
void xh_rings_count(const xh_ring *rings, uint64_t n, uint64_t *heads, xh_counts *out) {
    uint32_t type;
    uint16_t misc, size;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ring_tail(&rings[i]);
        heads[i] = ring_head(&rings[i]);
        if (heads[i] - at > rings[i].size) continue;
        for (; (size = header(&rings[i], at, heads[i], &type, &misc)); at += size) {
            if (type != RECORD_SAMPLE) continue;
            out->samples++;
            out->words += size / 8 + 2;
        }
    }
}

/* Walk the samples that wait in these rings, in place, and free the room. Of other records only the
 * losses are told, by ring. `spare` has 64 KiB, for a record that wraps. */
void xh_rings_walk(const xh_ring *rings, uint64_t n, const uint64_t *heads, const xh_layout *layout,
                   xh_stacks *stacks, xh_columns *c, xh_counts *counts, uint64_t *lost, uint8_t *spare) {
    uint32_t type;
    uint16_t misc, size;
    memset(counts, 0, sizeof *counts);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ring_tail(&rings[i]);
        lost[i] = 0;
        if (heads[i] - at > rings[i].size) at = heads[i];
        for (; (size = header(&rings[i], at, heads[i], &type, &misc)); at += size) {
            const uint8_t *record = whole(&rings[i], at, size, spare);
            if (type != RECORD_SAMPLE) lost[i] += lost_by(record, type, size);
            else if (!walk_sample(record + 8, record + size, misc, layout, 0, stacks, c, counts)) counts->bad++;
        }
        __atomic_store_n((uint64_t *)(rings[i].control + 1032), heads[i], __ATOMIC_RELEASE);
    }
}

/* Upper bounds for what the side band in these rings tells. */
void xh_told_count(const xh_ring *rings, uint64_t n, uint64_t *heads, xh_told_counts *out) {
    uint32_t type;
    uint16_t misc, size;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ring_tail(&rings[i]);
        heads[i] = ring_head(&rings[i]);
        if (heads[i] - at > rings[i].size) continue;
        for (; (size = header(&rings[i], at, heads[i], &type, &misc)); at += size) {
            out->comms += type == RECORD_COMM;
            out->forks += type == RECORD_FORK;
            out->exits += type == RECORD_EXIT;
            out->maps += type == RECORD_MMAP2;
            out->rest += size;
        }
    }
}

static void told_comm(const uint8_t *record, uint16_t size, uint16_t misc, int64_t time, xh_told *c, uint64_t i) {
    uint8_t *name = c->comm_name + COMM_BYTES * i;
    uint64_t room = size - 16u < COMM_BYTES ? size - 16u : COMM_BYTES;
    const uint8_t *end = memchr(record + 16, 0, room);
    if (end) room = (uint64_t)(end - record) - 16;
    memset(name, 0, COMM_BYTES);
    memcpy(name, record + 16, room);
    c->comm_time[i] = time;
    c->comm_pid[i] = (int32_t)load32(record + 8);
    c->comm_tid[i] = (int32_t)load32(record + 12);
    c->comm_exec[i] = (misc & MISC_COMM_EXEC) != 0;
}

static void told_map(const uint8_t *record, int64_t time, uint64_t hash, xh_told *c, uint64_t i) {
    c->map_time[i] = time;
    c->map_pid[i] = (int32_t)load32(record + 8);
    c->map_start[i] = load64(record + 16);
    c->map_length[i] = load64(record + 24);
    c->map_offset[i] = load64(record + 32);
    c->map_hash[i] = hash;
}

/* FORK and EXIT share one layout: pid, ppid, tid, ptid, time. */
static void told_fork(const uint8_t *record, int64_t *time, int32_t *pid, int32_t *parent_pid, int32_t *tid,
                      int32_t *parent_tid, uint64_t i) {
    pid[i] = (int32_t)load32(record + 8);
    parent_pid[i] = (int32_t)load32(record + 12);
    tid[i] = (int32_t)load32(record + 16);
    parent_tid[i] = (int32_t)load32(record + 20);
    time[i] = (int64_t)load64(record + 24);
}

/* Walk the side band that waits in these rings, in place, and free the room. `known` are the files
 * told of before. Losses are told by ring; whatever else there is goes to `rest` as it is. */
void xh_told_walk(const xh_ring *rings, uint64_t n, const uint64_t *heads, const xh_layout *layout,
                  xh_stacks *known, xh_told *c, xh_told_counts *out, uint64_t *lost, uint8_t *spare) {
    uint64_t t = layout->sample_type, length = trailer_bytes(t);
    uint64_t time_at = length - ((t & SAMPLE_TID) ? 8 : 0);
    int has_time = layout->sample_id_all && (t & SAMPLE_TIME);
    uint32_t type;
    uint16_t misc, size;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ring_tail(&rings[i]);
        lost[i] = 0;
        if (heads[i] - at > rings[i].size) at = heads[i];
        for (; (size = header(&rings[i], at, heads[i], &type, &misc)); at += size) {
            const uint8_t *record = whole(&rings[i], at, size, spare);
            int64_t time = has_time && size >= 8 + length ? (int64_t)load64(record + size - time_at) : 0;
            int is_new = 0;
            if (type == RECORD_COMM && size >= 16) {
                told_comm(record, size, misc, time, c, out->comms++);
            } else if (type == RECORD_FORK && size >= 32) {
                told_fork(record, c->fork_time, c->fork_pid, c->fork_parent_pid, c->fork_tid,
                          c->fork_parent_tid, out->forks++);
            } else if (type == RECORD_EXIT && size >= 32) {
                told_fork(record, c->exit_time, c->exit_pid, c->exit_parent_pid, c->exit_tid,
                          c->exit_parent_tid, out->exits++);
            } else if (type == RECORD_MMAP2 && size >= 80) {
                uint64_t hash = mapped_file_hash(record, size);
                told_map(record, time, hash, c, out->maps++);
                stack_id(known, (const uint8_t *)&hash, 1, &is_new);
            } else if (type == RECORD_LOST || type == RECORD_LOST_SAMPLES) {
                lost[i] += lost_by(record, type, size);
            } else if (type != RECORD_THROTTLE && type != RECORD_UNTHROTTLE) {
                is_new = 1;
            }
            if (is_new) {
                memcpy(c->rest + out->rest, record, size);
                out->rest += size;
            }
        }
        __atomic_store_n((uint64_t *)(rings[i].control + 1032), heads[i], __ATOMIC_RELEASE);
    }
}

/* Copy what the kernel wrote since the last call out of a ring, and give the space back.
 *
 * control is the first page of the mapping (struct perf_event_mmap_page): data_head at 1024,
 * data_tail at 1032. Nothing is taken if it does not fit into cap.
 */
uint64_t xh_ring_read(uint8_t *control, const uint8_t *data, uint64_t data_size, uint8_t *out, uint64_t cap) {
    uint64_t head = __atomic_load_n((uint64_t *)(control + 1024), __ATOMIC_ACQUIRE);
    uint64_t tail = __atomic_load_n((uint64_t *)(control + 1032), __ATOMIC_RELAXED);
    uint64_t n = head - tail;
    if (n == 0 || n > data_size || n > cap) return 0;
    uint64_t begin = tail & (data_size - 1), first = data_size - begin;
    if (first > n) first = n;
    memcpy(out, data + begin, first);
    memcpy(out + first, data, n - first);
    __atomic_store_n((uint64_t *)(control + 1032), head, __ATOMIC_RELEASE);
    return n;
}

/* How many bytes wait in a ring. */
uint64_t xh_ring_pending(const uint8_t *control) {
    return __atomic_load_n((const uint64_t *)(control + 1024), __ATOMIC_ACQUIRE) -
           __atomic_load_n((const uint64_t *)(control + 1032), __ATOMIC_RELAXED);
}

/* Copy what waits in these rings, from number `first` on, one behind the other. The number of the
 * first that did not fit, or n. */
uint64_t xh_rings_read(const xh_ring *rings, uint64_t n, uint64_t first, uint8_t *out, uint64_t cap,
                       uint64_t *bytes) {
    *bytes = 0;
    for (uint64_t i = first; i < n; i++) {
        const xh_ring *r = &rings[i];
        uint64_t waiting = ring_head(r) - ring_tail(r);
        if (waiting <= r->size && waiting > cap - *bytes) return i;
        *bytes += xh_ring_read(r->control, r->data, r->size, out + *bytes, cap - *bytes);
    }
    return n;
}
