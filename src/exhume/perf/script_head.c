/* The first line of a sample in the text of perf script, and what else may stand for one. */
#define _GNU_SOURCE /* memrchr, memmem */
#include "script.h"

#define LONGEST_NAME 80 /* TASK_COMM_LEN is 16; what perf makes up is not much longer */

/* Digits up to 18 of them: what is longer is no number of ours. NULL where there is none. */
static const uint8_t *read_digits(const uint8_t *p, const uint8_t *end, int64_t *value) {
    const uint8_t *begin = p, *stop = end - p > 18 ? p + 18 : end;
    uint64_t v = 0, digit;
    for (; p < stop && (digit = (uint64_t)*p - '0') < 10; p++) v = v * 10 + digit;
    if (p == begin || (p < end && is_digit(*p))) return NULL;
    *value = (int64_t)v;
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
    return p == end || is_blank(*p) ? skip_spaces(p, end) : NULL;
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

#define LATEST_SECONDS 9000000000 /* nanoseconds of it fit */
#define MOST_SECONDS 18446744073 /* of perf's unsigned nanoseconds */

/* `7.020221:`, and `18446744069.414584:`, which is what `perf record --off-cpu` gave its samples. */
static const uint8_t *read_time(const uint8_t *p, const uint8_t *end, head *h) {
    int64_t seconds, fraction;
    const uint8_t *dot = read_digits(p, end, &seconds);
    if (!dot || dot == end || *dot != '.' || seconds > MOST_SECONDS) return NULL;
    const uint8_t *after = read_digits(dot + 1, end, &fraction);
    if (!after || after - dot > 10 || after == end || *after != ':') return NULL;
    for (int64_t digits = after - dot - 1; digits < 9; digits++) fraction *= 10;
    h->time = seconds > LATEST_SECONDS ? BEYOND : seconds * 1000000000 + fraction;
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

static const uint8_t *word_end(const uint8_t *p, const uint8_t *end) {
    while (p < end && !is_blank(*p)) p++;
    return p;
}

/* Where the last `(/bin/a)` or `([kernel.kallsyms])` begins: what is behind it may have brackets, too,
 * as `addb %al, (%rax)` of `--insn-trace=disasm`. Else the last bracket; NULL where there is none. */
static const uint8_t *find_file(const uint8_t *p, const uint8_t *end) {
    const uint8_t *last = memrchr(p, '(', (size_t)(end - p)), *open = last;
    for (; open && open > p; open = memrchr(p, '(', (size_t)(open - p)))
        if (open[-1] == ' ' && open + 1 < end && (open[1] == '/' || open[1] == '[')) return open;
    return last;
}

/* Is there a column of 16 with an address in it: ` ffffffff813ad60a `, or spaces before a shorter one? */
static int is_column(const uint8_t *p, const uint8_t *word, const uint8_t *after) {
    const uint8_t *before = word;
    while (before > p && before[-1] == ' ') before--;
    for (const uint8_t *digit = word; digit < after; digit++)
        if (!is_hex(*digit)) return 0;
    return before > p && after - word <= 16 && after - before > 16;
}

/* Where the code's address stands behind what a tracepoint says (`-F +ip,+sym,+dso` without -g):
 * `comm=perf pid=7 runtime=16574 [ns] ffffffff813ad60a update_se ([kernel.kallsyms])`. Without a file
 * only one in the kernel's half is believed, and a symbol to the end of the line. NULL: it is not there. */
static const uint8_t *find_traced_frame(const uint8_t *p, const uint8_t *end) {
    const uint8_t *file = find_file(p, end), *found = NULL;
    int has_file = file && file > p && file[-1] == ' ' && file + 1 < end && (file[1] == '/' || file[1] == '[');
    for (const uint8_t *word = p, *after, *next; word < end && !(has_file && word >= file); word = next) {
        after = word_end(word, end);
        next = skip_spaces(after, end);
        if (next == end || !is_column(p, word, after)) continue;
        if (has_file || (after - word == 16 && in_kernel_half(word) && skip_spaces(word_end(next, end), end) == end))
            found = word;
    }
    return found;
}

/* What the line of a sample without a stack says of its code, behind the event: `ADDRESS SYMBOL (FILE)`.
 * Other fields may stand before it, addresses of data among them, and behind it. perf makes columns of
 * addresses 16 wide; of those that a symbol follows the last one is the code's. NULL where there is none. */
const uint8_t *xs_lone_frame(const uint8_t *p, const uint8_t *end) {
    const uint8_t *after = p, *found = NULL, *symbol = NULL;
    if (p >= end) return NULL;
    while (after < end && is_hex(*after)) after++;
    if (after - p >= 6 && after - p <= 16 && skip_spaces(after, end) == end) return p; /* `-F ip` */
    /* What it did may stand before a branch (`tr strt`, `call`), and behind it where it went. */
    const uint8_t *branch = memmem(p, (size_t)(end - p), ") => ", 5);
    if (branch) end = branch + 1;
    int is_path = *p == '/'; /* `-F +cgroup` */
    if (!begins_with_address(p, end) && !is_path && !branch) return find_traced_frame(p, end);
    const uint8_t *file = find_file(p, end);
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

/* `10309278 `. perf writes all that 64 bits can hold, as garbage does; of that nothing is known. */
static const uint8_t *read_period(const uint8_t *p, const uint8_t *end, head *h) {
    const uint8_t *after = read_digits(p, end, &h->period);
    if (!after) {
        h->period = NONE;
        for (after = p; after < end && is_digit(*after); after++) {}
    }
    if (after > p && (after == end || *after == ' ' || *after == '\r')) return skip_spaces(after, end);
    h->period = NONE;
    return p;
}

/* `10309278 cpu-clock:`, with or without the period, and what follows on the line. Where no event is
 * told (`-F comm,tid,time,ip,sym`) an address may follow at once, all of whose digits may be decimal. */
static int read_event(const uint8_t *p, const uint8_t *end, head *h) {
    const uint8_t *begin = p;
    h->event = p = read_period(p, end, h);
    p = word_end(p, end);
    h->event_end = p > h->event && p[-1] == ':' ? p - 1 : p;
    h->rest = skip_spaces(p, end);
    if (h->event_end < p) return 1; /* an event's name ends with a colon */
    if (xs_lone_frame(h->event, end)) {
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

static const uint8_t *name_end(const uint8_t *name, const uint8_t *p) {
    while (p > name && (p[-1] == ' ' || p[-1] == '\t')) p--;
    return p;
}

/* A line without ids: its name ends where the core and the time begin, or the time alone. */
static int read_head_without_ids(const uint8_t *line, const uint8_t *end, head *h) {
    for (const uint8_t *p = line; p < end && p - line < LONGEST_NAME; p++) {
        if (p > line && p[-1] != ' ' && p[-1] != '\t') continue;
        const uint8_t *after = read_cpu(p, end, h), *time = read_time(after, end, h);
        /* What stands first is a name, whatever it looks like. */
        if (!time && p > line) time = read_time(skip_misc_and_date(after, end), end, h);
        if (!time) continue;
        h->pid = h->tid = -1;
        h->comm_end = name_end(h->comm, p);
        read_event(time, end, h);
        return 1;
    }
    return 0;
}

/* The first line of a sample. Names may hold spaces, digits and brackets, so the first place where
 * the rest of the line makes sense ends the name. */
int xs_read_head(const uint8_t *line, const uint8_t *end, int how, head *h) {
    while (line < end && *line == ' ') line++;
    if (line < end && *line == '>') return 0; /* a mail quotes it, and then its stacks too */
    h->comm = line;
    if (how & NO_IDS) return read_head_without_ids(line, end, h);
    for (int needs_time = 1; needs_time >= (how & NEEDS_TIME); needs_time--) {
        /* No name at all (`-F tid,time,event,ip,sym`) is believed where there is a time. */
        for (const uint8_t *p = line + !needs_time; p < end && p - line < LONGEST_NAME; p++) {
            if (!is_digit(*p) && *p != '-') continue;
            /* simpleperf's report_sample.py has a tab behind the name. */
            if (p > line && p[-1] != ' ' && p[-1] != '\t') continue;
            const uint8_t *after = read_ids(p, end, h);
            if (!after) continue;
            after = read_cpu(after, end, h);
            h->comm_end = name_end(h->comm, p);
            if (needs_time) {
                const uint8_t *time = read_time(after, end, h);
                if (!time && !(time = read_time(skip_misc_and_date(after, end), end, h))) continue;
                read_event(time, end, h);
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
