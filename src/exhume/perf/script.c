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
#define _GNU_SOURCE /* memrchr */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ABI = 3 };

#define NONE INT64_MIN
#define LONGEST_NAME 80 /* TASK_COMM_LEN is 16; what perf makes up is not much longer */

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
    int64_t *time, *period; /* nanoseconds; NONE where the line has none */
    int32_t *pid, *tid, *cpu; /* -1 for the core where the line has none */
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
} xs_counts;

typedef struct {
    const uint8_t *comm, *comm_end, *event, *event_end, *rest;
    int64_t time, period;
    int32_t pid, tid, cpu;
} head;

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

static uint64_t mix(uint64_t h, uint64_t v, uint64_t k) {
    h ^= v;
    h *= k;
    return h ^ (h >> 29);
}

/* The length goes in first: the zeros that fill up a short word must not stand for text, nor what the
 * last word has in common with the one before it. */
static void hash_text(const uint8_t *p, uint64_t n, uint64_t out[2]) {
    uint64_t a = mix(0x9e3779b97f4a7c15u, n, 0xff51afd7ed558ccdu);
    uint64_t b = mix(0xc2b2ae3d27d4eb4fu, n, 0xc4ceb9fe1a85ec53u);
    uint64_t v = 0;
    const uint8_t *end = p + n;
    for (; end - p > 8; p += 8) {
        memcpy(&v, p, 8);
        a = mix(a, v, 0xff51afd7ed558ccdu);
        b = mix(b, v ^ (v >> 32), 0xc4ceb9fe1a85ec53u);
    }
    if (n >= 8) {
        memcpy(&v, end - 8, 8);
    } else {
        v = 0;
        for (uint64_t i = 0; i < n; i++) v = v << 8 | p[i];
    }
    a = mix(a, v, 0xff51afd7ed558ccdu);
    b = mix(b, v ^ (v >> 32), 0xc4ceb9fe1a85ec53u);
    out[0] = a ^ (a >> 32);
    out[1] = b ^ (b >> 32);
}

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

static int is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static int is_hex(uint8_t c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static const uint8_t *skip_spaces(const uint8_t *p, const uint8_t *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p;
}

/* Digits up to 18 of them: what is longer is no number of ours. NULL where there is none. */
static const uint8_t *read_digits(const uint8_t *p, const uint8_t *end, int64_t *value) {
    const uint8_t *begin = p;
    int64_t v = 0;
    while (p < end && is_digit(*p) && p - begin < 18) v = v * 10 + (*p++ - '0');
    if (p == begin || (p < end && is_digit(*p))) return NULL;
    *value = v;
    return p;
}

static const uint8_t *read_id(const uint8_t *p, const uint8_t *end, int32_t *value) {
    int64_t v;
    int is_negative = p < end && *p == '-'; /* -1: a task that was already reaped */
    const uint8_t *after = read_digits(p + is_negative, end, &v);
    if (!after || v > INT32_MAX) return NULL;
    *value = (int32_t)(is_negative ? -v : v);
    return after;
}

/* `PID` or `PID/TID`, then space or the end of the line. A lone number is the thread's. */
static const uint8_t *read_ids(const uint8_t *p, const uint8_t *end, head *h) {
    p = read_id(p, end, &h->pid);
    if (!p) return NULL;
    h->tid = h->pid;
    if (p < end && *p == '/' && !(p = read_id(p + 1, end, &h->tid))) return NULL;
    return p == end || *p == ' ' || *p == '\t' || *p == '\r' ? skip_spaces(p, end) : NULL;
}

/* `[003]`, if it is there; `[-01]` where perf does not know it. */
static const uint8_t *read_cpu(const uint8_t *p, const uint8_t *end, head *h) {
    int64_t v;
    h->cpu = -1;
    if (p == end || *p != '[') return p;
    int is_negative = p + 1 < end && p[1] == '-';
    const uint8_t *after = read_digits(p + 1 + is_negative, end, &v);
    if (!after || after == end || *after != ']' || v > INT32_MAX) return p;
    h->cpu = is_negative ? -1 : (int32_t)v;
    return skip_spaces(after + 1, end);
}

/* `7.020221:` */
static const uint8_t *read_time(const uint8_t *p, const uint8_t *end, head *h) {
    int64_t seconds, fraction;
    const uint8_t *dot = read_digits(p, end, &seconds);
    if (!dot || dot == end || *dot != '.' || seconds > 9000000000) return NULL;
    const uint8_t *after = read_digits(dot + 1, end, &fraction);
    if (!after || after - dot > 10 || after == end || *after != ':') return NULL;
    for (int64_t digits = after - dot - 1; digits < 9; digits++) fraction *= 10;
    h->time = seconds * 1000000000 + fraction;
    return skip_spaces(after + 1, end);
}

/* `K     ` and `2026-11-17 02:49:24.924079 ` (or `N/A `), which `-F +misc,+tod` put before the time. */
static const uint8_t *skip_misc_and_date(const uint8_t *p, const uint8_t *end) {
    static const char date[] = "dddd-dd-dd dd:dd:dd.dddddd";
    const uint8_t *word = p;
    while (word < end && memchr("KUHGgMESp", *word, 9)) word++; /* tools/perf/builtin-script.c */
    if (word > p && word < end && *word == ' ') p = skip_spaces(word, end);
    if (end - p > 4 && !memcmp(p, "N/A ", 4)) return skip_spaces(p + 4, end);
    for (word = p; word < end && word - p < (int64_t)sizeof date - 1; word++) {
        char c = date[word - p];
        if (c == 'd' ? !is_digit(*word) : *word != (uint8_t)c) return p;
    }
    while (word < end && is_digit(*word)) word++;
    return word < end && *word == ' ' ? skip_spaces(word, end) : p;
}

/* Is there a process id with its core in it, `7801 [000] `? */
static int has_core(const uint8_t *p, const uint8_t *end) {
    int64_t core;
    for (const uint8_t *open = p; (open = memchr(open, '[', (size_t)(end - open))); open++) {
        const uint8_t *before = open, *after = read_digits(open + 1, end, &core);
        if (!after || after == end || *after != ']' || after - open < 4) continue;
        while (before > p && before[-1] == ' ') before--;
        if (before < open && before > p && is_digit(before[-1])) return 1;
    }
    return 0;
}

/* Is there a time in it, `bash [000]  9.286793: `? */
static int has_time(const uint8_t *p, const uint8_t *end) {
    head ignored;
    for (; p < end; p++)
        if (is_digit(*p) && read_time(p, end, &ignored)) return 1;
    return 0;
}

/* An address: what a line of a stack begins with. */
static int begins_with_address(const uint8_t *p, const uint8_t *end) {
    const uint8_t *begin = p;
    while (p < end && is_hex(*p) && p - begin < 17) p++;
    return p > begin && p < end && *p == ' ';
}

static const uint8_t *word_end(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r') p++;
    return p;
}

/* What the line of a sample without a stack says of its code, behind the event: `ADDRESS SYMBOL (FILE)`.
 * Other fields may stand before it, addresses of data among them, and behind it. perf makes columns of
 * addresses 16 wide; of those that a symbol follows the last one is the code's. NULL where there is none. */
static const uint8_t *lone_frame(const uint8_t *p, const uint8_t *end) {
    const uint8_t *after = p, *found = NULL, *symbol = NULL;
    if (p >= end) return NULL;
    while (after < end && is_hex(*after)) after++;
    if (after - p >= 6 && after - p <= 16 && skip_spaces(after, end) == end) return p; /* `-F ip` */
    /* What it did may stand before a branch (`tr strt`, `call`), and behind it where it went. */
    const uint8_t *branch = memmem(p, (size_t)(end - p), ") => ", 5);
    if (branch) end = branch + 1;
    int is_path = *p == '/'; /* `-F +cgroup` */
    if (!begins_with_address(p, end) && !is_path && !branch) return NULL;
    const uint8_t *file = memrchr(p, '(', (size_t)(end - p));
    for (const uint8_t *word = p, *next; word < end; word = next) {
        after = word_end(word, end);
        next = skip_spaces(after, end);
        const uint8_t *digits = word;
        while (digits < after && is_hex(*digits)) digits++;
        if (digits < after || after - word > 16) continue;
        if (word - p > 1 && word[-2] != ' ' && after - word < 16) continue; /* of a name */
        if (next == end ? word != symbol : found && file && word > file) continue;
        found = word, symbol = next;
    }
    return found;
}

/* `10309278 cpu-clock:`, with or without the period, and what follows on the line. Where no event is
 * told (`-F comm,tid,time,ip,sym`) an address may follow at once, all of whose digits may be decimal. */
static int read_event(const uint8_t *p, const uint8_t *end, head *h) {
    const uint8_t *begin = p, *after = read_digits(p, end, &h->period);
    if (after && (after == end || *after == ' ' || *after == '\r')) p = skip_spaces(after, end);
    else h->period = NONE;
    h->event = p;
    p = word_end(p, end);
    h->event_end = p > h->event && p[-1] == ':' ? p - 1 : p;
    h->rest = skip_spaces(p, end);
    if (h->event_end < p) return 1; /* an event's name ends with a colon */
    if (lone_frame(h->event, end)) {
        h->rest = h->event;
    } else if (h->period != NONE && h->event < end) {
        h->rest = begin;
        h->period = NONE;
    } else {
        return 0;
    }
    h->event_end = h->event;
    return 0;
}

/* The first line of a sample. Names may hold spaces, digits and brackets, so the first place where
 * the rest of the line makes sense ends the name. With `strict` only lines with a time count. */
static int read_head(const uint8_t *line, const uint8_t *end, int strict, head *h) {
    while (line < end && *line == ' ') line++;
    if (line < end && *line == '>') return 0; /* a mail quotes it, and then its stacks too */
    h->comm = line;
    for (int needs_time = 1; needs_time >= strict; needs_time--) {
        /* No name at all (`-F tid,time,event,ip,sym`) is believed where there is a time. */
        for (const uint8_t *p = line + !needs_time; p < end && p - line < LONGEST_NAME; p++) {
            /* simpleperf's report_sample.py has a tab behind the name. */
            if ((p > line && p[-1] != ' ' && p[-1] != '\t') || !(is_digit(*p) || *p == '-')) continue;
            const uint8_t *after = read_ids(p, end, h);
            if (!after) continue;
            after = read_cpu(after, end, h);
            h->comm_end = p;
            while (h->comm_end > h->comm && (h->comm_end[-1] == ' ' || h->comm_end[-1] == '\t')) h->comm_end--;
            if (needs_time) {
                if (!(after = read_time(skip_misc_and_date(after, end), end, h))) continue;
                read_event(after, end, h);
                return 1;
            }
            /* `java 19983 cycles:`, or no event either */
            h->time = NONE;
            /* No name: what stands before a time we can't read, or one without a thread id before it. */
            if (has_core(h->comm, h->comm_end) || has_time(h->comm, h->comm_end)) continue;
            if ((read_event(after, end, h) && h->rest == end) || after == end) return 1;
        }
    }
    return 0;
}

static const uint8_t *line_end(const uint8_t *p, const uint8_t *end) {
    const uint8_t *found = memchr(p, '\n', (size_t)(end - p));
    return found ? found : end;
}

/* Does this line belong to the stack above it? */
static int is_stack_line(const uint8_t *p, const uint8_t *end) {
    head ignored;
    if (*p == '\t') return 1;
    /* Thread names are right-aligned where there are no stacks, and may look like an address:
     * `   dd 29776 666709.771979:` */
    return (*p == ' ' || begins_with_address(p, end)) && !read_head(p, end, 1, &ignored);
}

/* Are there as many brackets that open as that close? */
static int is_even(const uint8_t *p, const uint8_t *end) {
    int64_t open = 0;
    if (p == end) return 1;
    if (end[-1] == ')' && memchr(p, ')', (size_t)(end - p)) == end - 1)
        return memchr(p, '(', (size_t)(end - p)) == memrchr(p, '(', (size_t)(end - p)); /* nearly all */
    for (; p < end; p++) open += (*p == '(') - (*p == ')');
    return open == 0;
}

enum { MOST_COMPLAINTS = 16 };

/* Is it what perf or addr2line complained of in the middle of a stack (`perf script 2>&1`)? Then a frame
 * follows, set off by a tab as perf does it. -1: that is not there to be seen yet. */
static int is_complaint(const uint8_t *p, const uint8_t *end, int at_end) {
    head h;
    for (int lines = 0; lines < MOST_COMPLAINTS; lines++) {
        const uint8_t *eol = line_end(p, end), *text = skip_spaces(p, eol);
        if (eol == end && !at_end) return -1;
        if (lines && *p == '\t' && begins_with_address(text, eol)) return 1;
        /* `… could not find abbrev number 1234` is no sample: it has no event, and no time as the others. */
        if (text == eol || (read_head(p, eol, 0, &h) && (h.time != NONE || h.event < h.event_end))) return 0;
        if (eol + 1 >= end) return at_end ? 0 : -1;
        p = eol + 1;
    }
    return 0;
}

/* Where the stack that begins at *begin ends; *is_whole: what follows it is there to be seen.
 * `has_times`: so has the sample, and so will have the next. */
static const uint8_t *stack_end(const uint8_t **begin, const uint8_t *end, int at_end, int has_times,
                                int *is_whole) {
    const uint8_t *p = *begin, *before = p;
    *is_whole = 1;
    while (p < end) {
        const uint8_t *eol = line_end(p, end);
        if (eol == end && !at_end) break;
        if (skip_spaces(p, eol) == eol) {
            /* Some tools put an empty line between the head and its stack. */
            if (p != *begin || (eol + 1 < end && eol[1] != '\t')) return p;
            if (eol + 1 >= end) break;
            *begin = p = eol + 1;
            continue;
        }
        if (!is_stack_line(p, eol)) {
            /* Not where a terminal broke a frame's line in two. */
            int goes_on = has_times && is_even(before, p) ? is_complaint(p, end, at_end) : 0;
            if (!goes_on) return p;
            if (goes_on < 0) break;
        }
        before = p;
        p = eol < end ? eol + 1 : end;
    }
    *is_whole = at_end;
    return p;
}

/* Is the line one of a stack, rather than of other fields below it? With `-F ip` the address is all. */
static int is_frame(const uint8_t *p, const uint8_t *eol) {
    p = skip_spaces(p, eol);
    const uint8_t *after = p;
    while (after < eol && is_hex(*after)) after++;
    return begins_with_address(p, eol) || (after > p && after - p <= 16 && skip_spaces(after, eol) == eol);
}

static int starts_with(const uint8_t *p, const uint8_t *end, const char *word) {
    uint64_t n = strlen(word);
    return (uint64_t)(end - p) >= n && !memcmp(p, word, n);
}

/* Where `+0x1f` begins and ends, the last one that a file in brackets or the end of the line follows;
 * both `end` where there is none. */
static void find_offset(const uint8_t *p, const uint8_t *end, const uint8_t **begin, const uint8_t **after) {
    const uint8_t *plus = end;
    while (plus > p && (plus = memrchr(p, '+', (size_t)(plus - p)))) {
        if (!starts_with(plus, end, "+0x")) continue;
        const uint8_t *digits = plus + 3;
        while (digits < end && is_hex(*digits)) digits++;
        if (digits == plus + 3 || !(digits == end || starts_with(digits, end, " (")) || !is_even(digits, end))
            continue; /* in the name of a file */
        *begin = plus, *after = digits;
        return;
    }
    *begin = *after = end;
}

/* What a line of a stack says: its symbol and its file, and whose half the address is in. The address
 * itself says more only where it is to stand for the symbol that is not known. */
static void hash_frame(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    static const char unknown[] = "[unknown]";
    p = skip_spaces(p, end);
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    const uint8_t *symbol = p, *offset, *file;
    while (symbol < end && is_hex(*symbol) && symbol - p < 17) symbol++;
    int is_frame = begins_with_address(p, end);
    uint64_t half = is_frame && symbol - p == 16 && starts_with(p, end, "ffff");
    if (is_frame) symbol = skip_spaces(symbol, end);
    /* No symbol either where only the file stands there, in brackets (`-F ip,dso`). */
    if (!is_frame || *symbol == '(' ||
        (starts_with(symbol, end, unknown) && !starts_with(symbol + sizeof unknown - 1, end, " ([unknown])"))) {
        hash_text(p, (uint64_t)(end - p), out);
        return;
    }
    uint64_t h[2];
    find_offset(symbol, end, &offset, &file);
    hash_text(symbol, (uint64_t)(offset - symbol), h);
    hash_text(file, (uint64_t)(end - file), out);
    out[0] = mix(h[0] + half, out[0], 0xff51afd7ed558ccdu);
    out[1] = mix(h[1] + half, out[1], 0xc4ceb9fe1a85ec53u);
}

static void hash_name(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    hash_text(p, (uint64_t)(end - p), out);
}

/* Stacks that say the same are one, wherever in its functions the code was. */
static void hash_stack(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    out[0] = 0x9e3779b97f4a7c15u, out[1] = 0xc2b2ae3d27d4eb4fu;
    while (p < end) {
        const uint8_t *eol = line_end(p, end);
        uint64_t h[2];
        hash_frame(p, eol, h);
        out[0] = mix(out[0], h[0], 0xff51afd7ed558ccdu);
        out[1] = mix(out[1], h[1], 0xc4ceb9fe1a85ec53u);
        p = eol < end ? eol + 1 : end;
    }
    out[0] ^= out[0] >> 32;
    out[1] ^= out[1] >> 32;
}

/* Number a text by its hash, and say where it lies if it is new. 0: out of memory. */
#define NUMBER(texts, hash, text, length, number, at_column, length_column, count) \
    do {                                                                           \
        int is_new_ = 0;                                                           \
        const uint8_t *text_ = (text);                                             \
        uint64_t length_ = (uint64_t)(length), hash_[2];                           \
        hash(text_, text_ + length_, hash_);                                       \
        (number) = number_of((texts), hash_, &is_new_);                            \
        if ((number) == UINT32_MAX) return 0;                                      \
        if (is_new_) {                                                             \
            (at_column)[count] = (uint64_t)(text_ - buf);                          \
            (length_column)[count] = length_;                                      \
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
        NUMBER(lines, hash_frame, p, eol - p, number, c->line_at, c->line_length, n->lines);
        c->stack_lines[n->stack_lines++] = number;
    }
    c->line_count[n->stacks - 1] = count;
    return 1;
}

/* Read samples until the text ends or there is no room for one more, or for its lines. `at_end`: no more
 * text will come. A sample that is not whole yet is left for the next call. Returns 0 when out of memory. */
int xs_read(const uint8_t *buf, uint64_t len, int at_end, xs_texts *comms, xs_texts *events,
            xs_texts *stacks, xs_texts *lines, uint64_t room, uint64_t line_room, xs_columns *c, xs_counts *n) {
    memset(n, 0, sizeof *n);
    const uint8_t *p = buf, *end = buf + len;
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
        if (*p == '\t' || !read_head(p, eol, *text == '#', &h)) {
            /* Comments, and what `--show-round-events` says, tell nothing. A thread may be called #1. */
            if (*text == '#' || starts_with(text, eol, "PERF_RECORD_")) {
                p = next;
                continue;
            }
            if (!n->odd++) n->first_odd = (uint64_t)(p - buf);
            p = next;
            continue;
        }
        int is_whole;
        const uint8_t *stack = next, *after = stack_end(&stack, end, at_end, h.time != NONE, &is_whole);
        if (!is_whole) break;
        const uint8_t *stack_eol = line_end(stack, after);
        int has_stack = is_frame(stack, stack_eol);
        if (h.time == NONE && h.event == h.event_end && !has_stack) {
            /* `word 12` and no frame below it: no sample, whatever else it is */
            if (!n->odd++) n->first_odd = (uint64_t)(p - buf);
            p = next;
            continue;
        }
        const uint8_t *lone = has_stack ? NULL : lone_frame(h.rest, eol), *stack_stop = after;
        if (lone) stack = lone, stack_stop = next; /* below it are source lines, instructions, … */
        uint64_t i = n->samples;
        c->time[i] = h.time;
        c->period[i] = h.period;
        c->pid[i] = h.pid;
        c->tid[i] = h.tid;
        c->cpu[i] = h.cpu;
        NUMBER(comms, hash_name, h.comm, h.comm_end - h.comm, c->comm[i], c->comm_at, c->comm_length, n->comms);
        NUMBER(events, hash_name, h.event, h.event_end - h.event, c->event[i], c->event_at, c->event_length,
               n->events);
        uint64_t known = n->stacks;
        NUMBER(stacks, hash_stack, stack, stack_stop - stack, c->stack[i], c->stack_at, c->stack_length, n->stacks);
        if (n->stacks > known && !number_lines(buf, stack, stack_stop, lines, c, n)) return 0;
        n->samples++;
        p = after;
    }
    n->consumed = (uint64_t)(p - buf);
    return 1;
}
