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

enum { ABI = 4 };

enum {
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
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
} xh_counts;

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

/* Who and when of a record that is not a sample: the trailer that sample_id_all appends. */
static void walk_trailer(const uint8_t *record, uint16_t size, const xh_layout *l, xh_columns *c, uint64_t i) {
    uint64_t t = l->sample_type;
    uint64_t length = 8 * (((t & SAMPLE_TID) != 0) + ((t & SAMPLE_TIME) != 0) + ((t & SAMPLE_ID) != 0) +
                           ((t & SAMPLE_STREAM_ID) != 0) + ((t & SAMPLE_CPU) != 0) +
                           ((t & SAMPLE_IDENTIFIER) != 0));
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

/* The prefix tree of addresses: stacks root first, one node for each distinct way to an address.
 *
 * Names are looked up once a node, and nodes are far fewer than words. A node is identified by its
 * parent, its kind and its address; user addresses mean something in one address space only, so a
 * stack that has any starts with a node for its space.
 */
enum { NODE_ROOT, NODE_SPACE, NODE_USER, NODE_KERNEL };

typedef struct {
    uint64_t *address;
    uint32_t *parent;
    int32_t *space;
    uint16_t *depth;
    uint8_t *kind;
    uint32_t count, room;
    uint32_t *slots; /* node number, 0 for empty: the root is never looked up */
    uint64_t mask;
    uint8_t *kinds; /* of one stack's words, while it is added */
    uint64_t kinds_room;
} xh_tree;

void xh_tree_free(xh_tree *t) {
    if (!t) return;
    free(t->address), free(t->parent), free(t->space), free(t->depth), free(t->kind);
    free(t->slots), free(t->kinds), free(t);
}

static int tree_room(xh_tree *t, uint32_t room) {
    void *a = realloc(t->address, room * sizeof *t->address);
    if (a) t->address = a;
    void *p = realloc(t->parent, room * sizeof *t->parent);
    if (p) t->parent = p;
    void *s = realloc(t->space, room * sizeof *t->space);
    if (s) t->space = s;
    void *d = realloc(t->depth, room * sizeof *t->depth);
    if (d) t->depth = d;
    void *k = realloc(t->kind, room);
    if (k) t->kind = k;
    if (!a || !p || !s || !d || !k) return -1;
    t->room = room;
    return 0;
}

xh_tree *xh_tree_new(void) {
    xh_tree *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->mask = (1u << 14) - 1;
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    if (!t->slots || tree_room(t, 1u << 12) != 0) {
        xh_tree_free(t);
        return NULL;
    }
    t->address[0] = 0, t->parent[0] = 0, t->space[0] = -1, t->depth[0] = 0, t->kind[0] = NODE_ROOT;
    t->count = 1;
    return t;
}

uint32_t xh_tree_count(const xh_tree *t) { return t->count; }

static uint64_t node_hash(uint32_t parent, uint8_t kind, uint64_t address) {
    uint64_t h = mix(((uint64_t)parent << 8) | kind, 0, 0xff51afd7ed558ccdu);
    h = mix(h, address, 0xc4ceb9fe1a85ec53u);
    return h ^ (h >> 32);
}

static int tree_grow(xh_tree *t) {
    uint64_t mask = t->mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return -1;
    for (uint32_t node = 1; node < t->count; node++) {
        uint64_t at = node_hash(t->parent[node], t->kind[node], t->address[node]) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = node;
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    return 0;
}

/* The child of a node, made if need be; 0 when out of memory. */
static uint32_t tree_child(xh_tree *t, uint32_t parent, uint8_t kind, uint64_t address, int32_t space) {
    uint64_t at = node_hash(parent, kind, address) & t->mask;
    for (uint32_t node; (node = t->slots[at]); at = (at + 1) & t->mask)
        if (t->parent[node] == parent && t->address[node] == address && t->kind[node] == kind) return node;
    if (t->count == t->room && tree_room(t, t->room * 2) != 0) return 0;
    uint32_t node = t->count++;
    t->parent[node] = parent;
    t->address[node] = address;
    t->kind[node] = kind;
    t->space[node] = space;
    t->depth[node] = (uint16_t)(t->depth[parent] + 1);
    t->slots[at] = node;
    if ((uint64_t)t->count * 2 > t->mask && tree_grow(t) != 0) return 0;
    return node;
}

/* What each word of a stack is (leaf first): 0 a marker, else a kind; the high bit: a return address.
 *
 * The first address after a marker is where the code was. The others are return addresses: they may
 * lie behind the end of the function that called, so they are looked up one byte earlier.
 */
#define RETURN_ADDRESS 0x80
static int word_kinds(const uint64_t *words, uint64_t n, uint8_t *kinds) {
    int has_user = 0, kind = 0, is_exact = 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        if (word >= (uint64_t)-4095) {
            kind = (word == CONTEXT_USER || word == (uint64_t)-2560) ? NODE_USER : NODE_KERNEL;
            is_exact = 1;
            kinds[i] = 0;
            continue;
        }
        /* No marker yet (some imported chains): the upper half of addresses is the kernel's. */
        int own = kind ? kind : (word >> 63 ? NODE_KERNEL : NODE_USER);
        has_user |= own == NODE_USER;
        kinds[i] = (uint8_t)(own | (is_exact ? 0 : RETURN_ADDRESS));
        is_exact = 0;
    }
    return has_user;
}

/* Add stacks (leaf first, as perf writes them); ends[i] is the node of the leaf of stack i.
 *
 * Stack i is words[start[i] .. start[i] + count[i]), seen in address space space[i]. Its node is the
 * root for an empty one. Returns 0 when out of memory.
 */
int xh_tree_add(xh_tree *t, const uint64_t *words, const int64_t *start, const int64_t *count,
                const int64_t *space, uint64_t n, uint32_t *ends) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = (uint64_t)count[i];
        const uint64_t *stack = words + start[i];
        if (length > t->kinds_room) {
            uint8_t *kinds = realloc(t->kinds, length);
            if (!kinds) return 0;
            t->kinds = kinds;
            t->kinds_room = length;
        }
        uint32_t node = 0;
        if (word_kinds(stack, length, t->kinds)) {
            node = tree_child(t, 0, NODE_SPACE, (uint64_t)space[i], (int32_t)space[i]);
            if (!node) return 0;
        }
        for (uint64_t at = length; at-- > 0;) {
            uint8_t kind = t->kinds[at] & 0x7f;
            if (!kind) continue;
            uint64_t address = stack[at] - (t->kinds[at] & RETURN_ADDRESS ? 1 : 0);
            if (t->depth[node] == UINT16_MAX) break;
            node = tree_child(t, node, kind, address, (int32_t)space[i]);
            if (!node) return 0;
        }
        ends[i] = node;
    }
    return 1;
}

/* The children of nodes, one each, made if need be: children[i] is that of parent[i] at address[i].
 * Nodes are of one kind and in no space: this tree is one of names. 0 when out of memory. */
int xh_tree_children(xh_tree *t, const uint32_t *parent, const uint64_t *address, uint64_t n,
                     uint32_t *children) {
    for (uint64_t i = 0; i < n; i++) {
        if (parent[i] >= t->count || t->depth[parent[i]] == UINT16_MAX) return 0;
        children[i] = tree_child(t, parent[i], NODE_KERNEL, address[i], -1);
        if (!children[i]) return 0;
    }
    return 1;
}

void xh_tree_copy(const xh_tree *t, uint32_t *parent, uint64_t *address, int32_t *space, uint16_t *depth,
                  uint8_t *kind) {
    memcpy(parent, t->parent, t->count * sizeof *parent);
    memcpy(address, t->address, t->count * sizeof *address);
    memcpy(space, t->space, t->count * sizeof *space);
    memcpy(depth, t->depth, t->count * sizeof *depth);
    memcpy(kind, t->kind, t->count);
}

/* Which rows are equal: which[i] is the number of row i among the distinct ones, in the order they
 * come first; first[j] is where number j does. Sorting them, as numpy would, takes ten times as
 * long. Returns how many there are, UINT32_MAX when out of memory. */
uint32_t xh_distinct(const int64_t *const *columns, uint32_t n_columns, uint32_t n, uint32_t *which,
                     uint32_t *first) {
    uint64_t mask = 1023;
    while (mask < 2ull * n) mask = mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots), count = 0;
    if (!slots) return UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t h = 0x9e3779b97f4a7c15u;
        for (uint32_t c = 0; c < n_columns; c++) h = mix(h, (uint64_t)columns[c][i], 0xff51afd7ed558ccdu);
        uint64_t at = (h ^ (h >> 32)) & mask;
        for (; slots[at]; at = (at + 1) & mask) {
            uint32_t other = first[slots[at] - 1], c = 0;
            while (c < n_columns && columns[c][other] == columns[c][i]) c++;
            if (c == n_columns) break;
        }
        if (!slots[at]) {
            first[count] = i;
            slots[at] = ++count;
        }
        which[i] = slots[at] - 1;
    }
    free(slots);
    return count;
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
