/* Reads the kernel's rings in place: the samples, and what the side band tells.
 *
 * The kernel writes while we read, so each ring is read up to a head that was taken once; what it
 * holds is trusted no more than a file.
 */
#include "native.h"

#define MISC_COMM_EXEC (1u << 13)
#define COMM_BYTES 16

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

/* Take each ring's head, which goes to the caller, and let `seen` have every record up to it. */
static inline void count_records(const xh_ring *rings, uint64_t n, uint64_t *heads,
                                 void (*seen)(void *, uint32_t, uint16_t), void *out) {
    uint32_t type;
    uint16_t misc, size;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ring_tail(&rings[i]);
        heads[i] = ring_head(&rings[i]);
        if (heads[i] - at > rings[i].size) continue;
        for (; (size = header(&rings[i], at, heads[i], &type, &misc)); at += size) seen(out, type, size);
    }
}

static void count_sample(void *counts, uint32_t type, uint16_t size) {
    xh_counts *out = counts;
    if (type != RECORD_SAMPLE) return;
    out->samples++;
    out->words += size / 8 + 2;
}

/* Upper bounds for the samples that wait in these rings. */
void xh_rings_count(const xh_ring *rings, uint64_t n, uint64_t *heads, xh_counts *out) {
    memset(out, 0, sizeof *out);
    count_records(rings, n, heads, count_sample, out);
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
            else if (!xh_walk_sample(record + 8, record + size, misc, layout, 0, stacks, c, counts)) counts->bad++;
        }
        __atomic_store_n((uint64_t *)(rings[i].control + 1032), heads[i], __ATOMIC_RELEASE);
    }
}

static void count_told(void *counts, uint32_t type, uint16_t size) {
    xh_told_counts *out = counts;
    out->comms += type == RECORD_COMM;
    out->forks += type == RECORD_FORK;
    out->exits += type == RECORD_EXIT;
    out->maps += type == RECORD_MMAP2;
    out->rest += size;
}

/* Upper bounds for what the side band in these rings tells. */
void xh_told_count(const xh_ring *rings, uint64_t n, uint64_t *heads, xh_told_counts *out) {
    memset(out, 0, sizeof *out);
    count_records(rings, n, heads, count_told, out);
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
                uint64_t hash = xh_mapped_file_hash(record, size);
                told_map(record, time, hash, c, out->maps++);
                xh_stack_id(known, (const uint8_t *)&hash, 1, &is_new);
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

enum { BORN = 1, GONE = 2, WANTED = 4 };

/* Processes by pid: `state` 0 is a free slot. */
typedef struct {
    int32_t *pid;
    uint8_t *state;
    uint64_t mask;
} xh_processes;

static uint8_t *process(const xh_processes *all, int32_t pid) {
    uint64_t at = ((uint32_t)pid * 0x9e3779b97f4a7c15u >> 32) & all->mask;
    while (all->state[at] && all->pid[at] != pid) at = (at + 1) & all->mask;
    all->pid[at] = pid;
    return &all->state[at];
}

static void want(const xh_processes *all, int32_t pid) {
    uint8_t *state = process(all, pid);
    if (*state) *state |= WANTED;
}

/* The rows of mappings that a sample may need: all but those of processes that came and went before
 * `until`, were not sampled, and left neither a thread nor a child that began as their copy. `all`
 * has zeros for states, and more than twice as many slots as there are forks. */
uint64_t xh_needed_maps(const xh_told *c, const xh_told_counts *n, int64_t until, const int32_t *sampled,
                        uint64_t samples, const xh_processes *all, int64_t *rows) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n->forks; i++) {
        if (c->fork_pid[i] != c->fork_tid[i]) continue;
        uint8_t *state = process(all, c->fork_pid[i]);
        *state |= *state ? WANTED : BORN; /* a number given twice: which of them is gone? */
    }
    for (uint64_t i = 0; i < n->exits; i++) {
        uint8_t *state = process(all, c->exit_pid[i]);
        if (*state && c->exit_pid[i] == c->exit_tid[i] && c->exit_time[i] < until) *state |= GONE;
    }
    for (uint64_t i = 0; i < n->forks; i++) {
        want(all, c->fork_pid[i] == c->fork_tid[i] ? c->fork_parent_pid[i] : c->fork_pid[i]);
    }
    for (uint64_t i = 0; i < samples; i++) want(all, sampled[i]);
    for (uint64_t i = 0; i < n->maps; i++) {
        if (*process(all, c->map_pid[i]) != (BORN | GONE)) rows[kept++] = (int64_t)i;
    }
    return kept;
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
