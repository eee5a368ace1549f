/* Reads the text of `perf script` in bulk: a line-by-line loop in Python is thirty times slower.
 *
 *     swapper     0 [001]     7.020221:   10309278 cpu-clock:
 *     	ffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])
 *     	ffffffffb3a3d005 arch_cpu_idle+0x15 ([kernel.kallsyms])
 *     (an empty line)
 *
 * Turns the first line of each sample into columns, and gives equal thread names and events one number
 * each, stacks that say the same and their lines, so that Python looks at each once. The caller owns
 * every buffer; nothing outside of [buf, buf + len) is read.
 */
#include <stdlib.h>

#include "script.h"

enum { ABI = 5 };

typedef struct {
    uint64_t hash[2];
    uint32_t id;
    uint32_t used;
} slot;

/* Texts seen since the last reset. The 128-bit hash is the identity. */
typedef struct {
    slot *slots;
    uint64_t mask;
    uint32_t count;
} xs_texts;

typedef struct {
    int64_t *time, *period; /* nanoseconds, or BEYOND; NONE where the line has none */
    int32_t *pid, *tid, *cpu; /* -1 where the line has none */
    uint32_t *comm, *event, *stack;
    /* Where the texts seen first in this call lie, in the order of their numbers. */
    uint64_t *comm_at, *event_at, *stack_at;
    uint32_t *comm_length, *event_length;
    uint64_t *stack_length;
    uint32_t *line_count; /* of each of those stacks */
    uint64_t *line_at, *line_length;
    uint32_t *stack_lines; /* the numbers of their lines, leaf first, one stack after the other */
} xs_columns;

typedef struct {
    uint64_t samples, comms, events, stacks, lines, stack_lines, odd, first_odd, consumed;
    uint64_t lost_records, lost_samples; /* that the kernel dropped, as lines say */
    uint64_t headers; /* of `perf script --header`, each of one capture */
} xs_counts;

int xs_abi(void) { return ABI; }

xs_texts *xs_texts_new(void) {
    xs_texts *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->mask = (1u << 10) - 1;
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    if (!t->slots) {
        free(t);
        return NULL;
    }
    return t;
}

void xs_texts_free(xs_texts *t) {
    if (t) free(t->slots);
    free(t);
}

void xs_texts_reset(xs_texts *t) {
    memset(t->slots, 0, (t->mask + 1) * sizeof *t->slots);
    t->count = 0;
}

uint32_t xs_texts_count(const xs_texts *t) { return t->count; }

static int grow(xs_texts *t) {
    uint64_t mask = t->mask * 2 + 1;
    slot *fresh = calloc(mask + 1, sizeof *fresh);
    if (!fresh) return -1;
    for (uint64_t i = 0; i <= t->mask; i++) {
        if (!t->slots[i].used) continue;
        uint64_t at = t->slots[i].hash[0] & mask;
        while (fresh[at].used) at = (at + 1) & mask;
        fresh[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = fresh;
    t->mask = mask;
    return 0;
}

/* The number of a text; *is_new tells whether it was seen first now. UINT32_MAX: out of memory. */
static uint32_t number_of(xs_texts *t, const uint64_t h[2], int *is_new) {
    if ((uint64_t)t->count * 2 > t->mask && grow(t) != 0) return UINT32_MAX;
    uint64_t at = h[0] & t->mask;
    for (; t->slots[at].used; at = (at + 1) & t->mask)
        if (t->slots[at].hash[0] == h[0] && t->slots[at].hash[1] == h[1]) {
            *is_new = 0;
            return t->slots[at].id;
        }
    t->slots[at] = (slot){{h[0], h[1]}, t->count++, 1};
    *is_new = 1;
    return t->slots[at].id;
}

/* Number a text by its hash, and say where it lies if it is new. 0: out of memory. */
#define NUMBER(texts, hash, text, length, number, at_column, length_column, count) \
    do {                                                                           \
        int is_new_ = 0;                                                           \
        (number) = number_of((texts), (hash), &is_new_);                           \
        if ((number) == UINT32_MAX) return 0;                                      \
        if (is_new_) {                                                             \
            (at_column)[count] = (uint64_t)((text) - buf);                         \
            (length_column)[count] = (length);                                     \
            (count)++;                                                             \
        }                                                                          \
    } while (0)

enum { MOST_LINES = 1025 }; /* of a stack: one more than Python takes */

/* The lines of a stack that was not seen before. 0: out of memory. */
static int number_lines(const uint8_t *buf, const uint8_t *p, const uint8_t *end, xs_texts *lines, xs_columns *c,
                        xs_counts *n) {
    uint32_t count = 0;
    for (const uint8_t *eol; p < end && count < MOST_LINES; p = eol < end ? eol + 1 : end, count++) {
        eol = line_end(p, end);
        uint32_t number;
        uint64_t hash[2];
        xs_hash_frame(p, eol, hash);
        NUMBER(lines, hash, p, (uint64_t)(eol - p), number, c->line_at, c->line_length, n->lines);
        c->stack_lines[n->stack_lines++] = number;
    }
    c->line_count[n->stacks - 1] = count;
    return 1;
}

/* `PERF_RECORD_LOST lost 88`, what `--show-lost-events` writes, with or without who ran then before it. */
static void note_lost(const uint8_t *p, const uint8_t *end, xs_counts *n) {
    if (!starts_with(p, end, "PERF_RECORD_LOST")) return;
    uint64_t *count = starts_with(p, end, "PERF_RECORD_LOST_SAMPLES") ? &n->lost_samples : &n->lost_records;
    uint64_t lost = 0;
    while (p < end && !is_digit(*p)) p++;
    for (int digits = 0; p < end && is_digit(*p) && digits < 18; digits++) lost = lost * 10 + (*p++ - '0');
    *count += lost;
}

/* Read samples until the text ends or there is no room for one more, or for its lines. `at_end`: no more
 * text will come. `has_ids`: who ran is told by numbers, too; where not, a sample needs a time.
 * A sample that is not whole yet is left for the next call. Returns 0 when out of memory. */
int xs_read(const uint8_t *buf, uint64_t len, int at_end, int has_ids, xs_texts *comms, xs_texts *events,
            xs_texts *stacks, xs_texts *lines, uint64_t room, uint64_t line_room, xs_columns *c, xs_counts *n) {
    memset(n, 0, sizeof *n);
    const uint8_t *p = buf, *end = buf + len;
    int how = has_ids ? 0 : NO_IDS;
    while (p < end && n->samples < room && n->stack_lines + MOST_LINES <= line_room) {
        const uint8_t *eol = line_end(p, end);
        if (eol == end && !at_end) break;
        const uint8_t *next = eol < end ? eol + 1 : end;
        head h;
        const uint8_t *text = skip_spaces(p, eol);
        if (text == eol) {
            p = next;
            continue;
        }
        if (starts_with(text, eol, "PERF_RECORD_")) { /* `--show-round-events` */
            note_lost(text, eol, n);
            p = next;
            continue;
        }
        if (*p == '\t' || !xs_read_head(p, eol, how | (*text == '#' ? NEEDS_TIME : 0), &h)) {
            /* Comments tell nothing but that a header is there. A thread may be called #1. */
            if (*text == '#') n->headers += (uint64_t)starts_with(text, eol, "# captured on");
            else if (!n->odd++) n->first_odd = (uint64_t)(p - buf);
            p = next;
            continue;
        }
        stack s;
        xs_find_stack(next, end, at_end, h.time != NONE, how, &s);
        if (!s.is_whole) break;
        if (h.time == NONE && h.event == h.event_end && !s.has_frame) {
            /* `word 12` and no frame below it: no sample, whatever else it is */
            if (!n->odd++) n->first_odd = (uint64_t)(p - buf);
            p = next;
            continue;
        }
        note_lost(h.event, eol, n);
        p = s.end;
        const uint8_t *lone = s.has_frame ? NULL : xs_lone_frame(h.rest, eol);
        if (lone) { /* below it are source lines, instructions, … */
            s.begin = lone, s.end = next;
            xs_hash_stack(s.begin, s.end, s.hash);
        }
        uint64_t i = n->samples, known = n->stacks, name[2];
        c->time[i] = h.time;
        c->period[i] = h.period;
        c->pid[i] = h.pid;
        c->tid[i] = h.tid;
        c->cpu[i] = h.cpu;
        uint32_t length = (uint32_t)(h.comm_end - h.comm);
        hash_text(h.comm, length, name);
        NUMBER(comms, name, h.comm, length, c->comm[i], c->comm_at, c->comm_length, n->comms);
        length = (uint32_t)(h.event_end - h.event);
        hash_text(h.event, length, name);
        NUMBER(events, name, h.event, length, c->event[i], c->event_at, c->event_length, n->events);
        NUMBER(stacks, s.hash, s.begin, (uint64_t)(s.end - s.begin), c->stack[i], c->stack_at, c->stack_length,
               n->stacks);
        if (n->stacks > known && !number_lines(buf, s.begin, s.end, lines, c, n)) return 0;
        n->samples++;
    }
    n->consumed = (uint64_t)(p - buf);
    return 1;
}
