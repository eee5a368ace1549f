/* Walks perf records in bulk: the one loop that numpy does five times slower (docs/decisions/0001).
 *
 * Records come from a ring, a perf.data file or a pipe; all three share this code. The caller owns
 * every buffer. Nothing here trusts a length that it read: a record that does not add up ends the
 * walk or is counted as bad, and no read leaves its record.
 *
 * Layout of the records: include/uapi/linux/perf_event.h, enum perf_event_type.
 */
#include "native.h"

enum { ABI = 9 };

#define BRANCH_CALL_STACK (1u << 11)
#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_DUMP ((uint64_t)-4001) /* our own: no mark of the kernel */
enum { NO_TYPE = 1 << 16 }; /* the kernel counts from 1, perf from 64, simpleperf from 32768 */
enum { AHEAD = 8 }; /* what is fetched from memory while this much else is done */

struct xh_slot {
    uint64_t hash[2];
    uint32_t id;
    uint32_t used;
};

int xh_abi(void) { return ABI; }

/* The length goes in first: without it a trailing zero frame hashes to nothing. */
static void hash_more(const uint8_t *p, uint64_t n, uint64_t out[2]) {
    uint64_t a = mix(out[0], n, 0xff51afd7ed558ccdu);
    uint64_t b = mix(out[1], n, 0xc4ceb9fe1a85ec53u);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = load64(p + 8 * i);
        a = mix(a, v, 0xff51afd7ed558ccdu);
        b = mix(b, v ^ (v >> 32), 0xc4ceb9fe1a85ec53u);
    }
    out[0] = a ^ (a >> 32);
    out[1] = b ^ (b >> 32);
}

static void hash_words(const uint8_t *p, uint64_t n, uint64_t out[2]) {
    out[0] = 0x9e3779b97f4a7c15u;
    out[1] = 0xc2b2ae3d27d4eb4fu;
    hash_more(p, n, out);
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
    struct xh_slot *old = s->slots;
    uint64_t old_size = s->mask + 1, mask = old_size * 2 - 1;
    struct xh_slot *fresh = calloc(mask + 1, sizeof *fresh);
    if (!fresh) return -1;
    for (uint64_t i = 0; i < old_size; i++) {
        if (i + AHEAD < old_size) __builtin_prefetch(fresh + (old[i + AHEAD].hash[0] & mask), 1);
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

/* So many more find a free slot afterwards, or it returns 0. */
static int have_room(xh_stacks *s, uint64_t more) {
    while ((s->count + more) * 2 > s->mask)
        if (grow(s) != 0) return 0;
    return 1;
}

static uint32_t stack_id(xh_stacks *s, const uint64_t h[2], int *is_new) {
    uint64_t at = h[0] & s->mask;
    while (s->slots[at].used) {
        if (s->slots[at].hash[0] == h[0] && s->slots[at].hash[1] == h[1]) {
            *is_new = 0;
            return s->slots[at].id;
        }
        at = (at + 1) & s->mask;
    }
    s->slots[at] = (struct xh_slot){{h[0], h[1]}, s->count++, 1};
    *is_new = 1;
    return s->slots[at].id;
}

uint32_t xh_stack_id(xh_stacks *s, const uint8_t *words, uint64_t n, int *is_new) {
    uint64_t h[2];
    if (!have_room(s, 1)) return UINT32_MAX;
    hash_words(words, n, h);
    return stack_id(s, h, is_new);
}

/* Hopping from header to header waits for memory each time. Records are of like sizes, so what will
 * be looked at eight records later can be fetched meanwhile: a third less time for 200 MB. */
static void fetch_ahead(const uint8_t *record, uint64_t size) {
    __builtin_prefetch((const void *)((uintptr_t)record + AHEAD * size));
}

/* Upper bounds for the columns. Ends at `until`, or behind the record that lies across it; before that
 * at the first record that is not whole, that is no record by its type, or that is none for the walker: one of perf's own types (64 and
 * up) whose bit is set in `stops`. It may have a payload behind it, hold records inside, or change how
 * those after it read. */
void xh_count(const uint8_t *buf, uint64_t len, uint64_t until, uint64_t stops, xh_counts *out) {
    memset(out, 0, sizeof *out);
    uint64_t at = 0;
    while (at < until && at + 8 <= len) {
        uint32_t type = load32(buf + at);
        uint16_t size = load16(buf + at + 6);
        if (size < 8 || at + size > len || type >= NO_TYPE) break;
        fetch_ahead(buf + at, size);
        if (type == RECORD_SAMPLE) {
            out->samples++;
            out->words += size / 8 + 2;
        } else {
            if (type >= RECORD_USER_TYPE_START && type < RECORD_USER_TYPE_START + 64 &&
                stops >> (type - RECORD_USER_TYPE_START) & 1)
                break;
            out->others++;
            out->bytes += size;
        }
        at += size;
    }
    out->consumed = at;
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

enum { MOST_CALLS = 64 }; /* of those that a processor keeps: 8 to 32 so far */

/* A sample whose stack has no number yet. */
typedef struct {
    uint64_t row, depth, hash[2];
    const uint8_t *words;
    uint64_t lone[2]; /* a stack made of the sample's address alone */
    uint64_t calls[MOST_CALLS], n_calls; /* what follows the words: calls that the processor kept */
    /* A copy of the program's stack, to be unwound later: its words come behind a mark and registers. */
    uint64_t head[4], dumped;
    const uint8_t *dump; /* NULL: there is none */
} unnumbered;

static uint64_t load_reg(const uint8_t *regs, uint64_t mask, uint64_t number) {
    return load64(regs + 8 * (uint64_t)__builtin_popcountll(mask & ((1ull << number) - 1)));
}

/* `--call-graph lbr`: instead of a chain by frame pointers the program's part is where it was, and from
 * where each function was called, newest first, as the processor kept it. `entries` are from, to and flags. */
static void take_calls(const uint8_t *entries, uint64_t n, unnumbered *found) {
    uint64_t user = 0;
    while (user < found->depth && load64(found->words + 8 * user) != CONTEXT_USER) user++;
    if (user == found->depth || n == 0) return; /* it keeps those of programs only */
    if (user + 2 <= found->depth) found->depth = user + 2;
    else found->calls[found->n_calls++] = load64(entries + 8); /* the innermost function, at its begin */
    for (uint64_t i = 0; i < n && found->n_calls < MOST_CALLS && load64(entries + 24 * i); i++)
        found->calls[found->n_calls++] = load64(entries + 24 * i) + 1; /* inside the call: as if to return to */
}

/* Row i of the columns, but for the number of its stack. 0: the record does not add up. */
static int read_sample(const uint8_t *p, const uint8_t *end, uint16_t misc, const xh_layout *l,
                       uint16_t event, xh_columns *c, uint64_t i, unnumbered *found) {
    uint64_t t = l->sample_type;
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

    found->row = i;
    found->n_calls = 0;
    found->dump = NULL;
    found->lone[0] = (misc & 7) == 2 ? CONTEXT_USER : CONTEXT_KERNEL;
    found->lone[1] = c->ip[i];
    found->words = (const uint8_t *)found->lone;
    found->depth = 2;
    if (t & SAMPLE_CALLCHAIN) {
        NEED(8);
        uint64_t nr = load64(p);
        if (nr > (uint64_t)(end - p) / 8 - 1) return 0;
        uint64_t depth = nr;
        /* `--call-graph fp,defer` (kernel 6.19 on): the program's part comes in a record of its own, and
         * here stands the number of that, which is no address. */
        if (!l->deferred && nr >= 2 && load64(p + 8 * (nr - 1)) == CONTEXT_USER_DEFERRED) depth -= 2;
        if (depth > 0) {
            found->words = p + 8;
            found->depth = depth;
        }
        p += 8 + nr * 8;
    }
    if (t & SAMPLE_RAW) { NEED(4); SKIP(4 + (uint64_t)load32(p)); }
    if (t & SAMPLE_BRANCH_STACK) {
        NEED(8);
        uint64_t nr = load64(p);
        if (nr > (1u << 16)) return 0;
        uint64_t head = l->branch_type & BRANCH_HW_INDEX ? 16 : 8;
        const uint8_t *entries = (const uint8_t *)((uintptr_t)p + head);
        SKIP(head + nr * 24 + (l->branch_type & BRANCH_COUNTERS ? nr * 8 : 0));
        if (l->branch_type & BRANCH_CALL_STACK) take_calls(entries, nr, found);
    }
    const uint8_t *regs = NULL;
    if (t & SAMPLE_REGS_USER) {
        enum { NO_REGS = 0, REGS_64 = 2 };
        NEED(8);
        uint64_t abi = load64(p);
        if (abi == REGS_64) regs = p + 8;
        SKIP(8 + (abi != NO_REGS ? 8 * (uint64_t)__builtin_popcountll(l->regs_user) : 0));
    }
    if (t & SAMPLE_STACK_USER) {
        NEED(8);
        uint64_t size = load64(p);
        if (size > (1u << 20)) return 0;
        const uint8_t *dump = p + 8;
        SKIP(8 + (size ? size + 8 : 0));
        if (size && regs && l->dump_regs) {
            uint64_t real = load64(p - 8); /* how much of it there was */
            found->dump = dump;
            found->dumped = (real < size ? real : size) / 8;
            found->head[0] = CONTEXT_DUMP;
            for (int r = 0; r < 3; r++)
                found->head[1 + r] = load_reg(regs, l->regs_user, l->dump_regs >> 8 * r & 63);
            if (found->words == (const uint8_t *)found->lone && found->lone[0] == CONTEXT_USER) found->depth = 0;
        }
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

    hash_words(found->words, found->depth, found->hash);
    if (found->n_calls) hash_more((const uint8_t *)found->calls, found->n_calls, found->hash);
    if (found->dump) {
        hash_more((const uint8_t *)found->head, 4, found->hash);
        hash_more(found->dump, found->dumped, found->hash);
    }
    return 1;
}

static void put_words(const void *words, uint64_t n, xh_columns *c, xh_counts *counts) {
    memcpy(c->words + counts->words, words, n * 8);
    counts->words += n;
}

/* There must be room among the stacks. */
static void number_stack(const unnumbered *found, xh_stacks *stacks, xh_columns *c, xh_counts *n) {
    int is_new = 0;
    c->stack[found->row] = stack_id(stacks, found->hash, &is_new);
    if (!is_new) return;
    uint64_t before = n->words;
    put_words(found->words, found->depth, c, n);
    put_words(found->calls, found->n_calls, c, n);
    if (found->dump) {
        put_words(found->head, 4, c, n);
        put_words(found->dump, found->dumped, c, n);
    }
    c->word_count[n->new_stacks++] = (uint32_t)(n->words - before);
}

int xh_walk_sample(const uint8_t *p, const uint8_t *end, uint16_t misc, const xh_layout *l,
                   uint16_t event, xh_stacks *stacks, xh_columns *c, xh_counts *n) {
    unnumbered found;
    if (!read_sample(p, end, misc, l, event, c, n->samples, &found) || !have_room(stacks, 1)) return 0;
    number_stack(&found, stacks, c, n);
    n->samples++;
    return 1;
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
uint64_t xh_mapped_file_hash(const uint8_t *record, uint16_t size) {
    if (size < 80) return 0;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int at = 40; at < 64; at += 8) h = mix(h, load64(record + at), 0xff51afd7ed558ccdu);
    for (uint16_t at = 72; at < size && record[at]; at++) h = mix(h, record[at], 0xc4ceb9fe1a85ec53u);
    return h | 1;
}

/* Walk whole records into the columns, behind what `n` says is in them. ids (sorted) tell which event a sample is of, if there are several.
 * Without `stacks` samples are passed over: another process takes them, this one goes on to its own. */
void xh_walk(const uint8_t *buf, uint64_t len, const xh_layout *layouts, const uint64_t *ids,
             const uint16_t *id_layout, uint64_t n_ids, xh_stacks *stacks, xh_columns *c, xh_counts *n) {
    /* Looking a stack up waits for memory as well: its slot is fetched while the next samples are read. */
    unnumbered waiting[AHEAD];
    uint64_t at = 0, first = 0, last = 0;
    while (at + 8 <= len) {
        const uint8_t *record = buf + at;
        uint32_t type = load32(record);
        uint16_t misc = load16(record + 4), size = load16(record + 6);
        if (size < 8 || at + size > len || type >= NO_TYPE) break; /* as in xh_count, which made the room */
        if (type == RECORD_SAMPLE && !stacks) {
            fetch_ahead(record, size);
        } else if (type == RECORD_SAMPLE) {
            uint16_t event = 0;
            const xh_layout *l = layouts;
            uint64_t id_at = sample_id_at(l->sample_type);
            if (n_ids && id_at && size >= id_at + 8)
                l = layout_of(load64(record + id_at), layouts, ids, id_layout, n_ids, &event);
            if (last - first == AHEAD) number_stack(waiting + first++ % AHEAD, stacks, c, n);
            unnumbered *found = waiting + last % AHEAD;
            if (read_sample(record + 8, record + size, misc, l, event, c, n->samples, found) &&
                have_room(stacks, AHEAD)) {
                __builtin_prefetch(stacks->slots + (found->hash[0] & stacks->mask), 1);
                last++;
                n->samples++;
            } else {
                n->bad++;
            }
        } else {
            uint64_t i = n->others++;
            n->kinds |= 1ull << (type < 63 ? type : 63);
            c->offset[i] = at;
            if (c->bytes) {
                memcpy(c->bytes + n->bytes, record, size);
                c->offset[i] = n->bytes;
            }
            n->bytes += size;
            c->type[i] = type;
            c->size[i] = size;
            c->other_misc[i] = misc;
            c->other_time[i] = 0;
            c->other_pid[i] = c->other_tid[i] = -1;
            c->other_cpu[i] = UINT32_MAX;
            c->file_hash[i] = type == RECORD_MMAP2 ? xh_mapped_file_hash(record, size) : 0;
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
    while (first < last) number_stack(waiting + first++ % AHEAD, stacks, c, n);
    n->consumed += at;
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
