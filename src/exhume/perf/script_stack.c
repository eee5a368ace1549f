/* The lines below it: where a stack ends, and what its frames say. */
#define _GNU_SOURCE /* memrchr */
#include "script.h"

#define BYTES(c) (0x0101010101010101u * (c))
#define HIGH_BITS BYTES(0x80)
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* What a line below the first one of a sample is. */
enum line_kind { OF_STACK, OF_NEXT_SAMPLE, OTHER };

static enum line_kind kind_of(const uint8_t *p, const uint8_t *end, int how) {
    head ignored;
    if (*p == '\t') return OF_STACK;
    if (*p != ' ' && !begins_with_address(p, end)) return OTHER;
    /* Thread names are right-aligned where there are no stacks, and may look like an address:
     * `   dd 29776 666709.771979:` */
    return xs_read_head(p, end, how | NEEDS_TIME, &ignored) ? OF_NEXT_SAMPLE : OF_STACK;
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
static int is_complaint(const uint8_t *p, const uint8_t *end, int at_end, int how) {
    head h;
    for (int lines = 0; lines < MOST_COMPLAINTS; lines++) {
        const uint8_t *eol = line_end(p, end), *text = skip_spaces(p, eol);
        if (eol == end && !at_end) return -1;
        if (lines && *p == '\t' && begins_with_address(text, eol)) return 1;
        /* `… could not find abbrev number 1234` is no sample: it has no event, and no time as the others. */
        if (text == eol || (xs_read_head(p, eol, how, &h) && (h.time != NONE || h.event < h.event_end))) return 0;
        if (eol + 1 >= end) return at_end ? 0 : -1;
        p = eol + 1;
    }
    return 0;
}

/* Is the line one of a stack, rather than of other fields below it? With `-F ip` the address is all. */
static int is_frame(const uint8_t *p, const uint8_t *eol) {
    p = skip_spaces(p, eol);
    const uint8_t *after = p;
    while (after < eol && is_hex(*after)) after++;
    return begins_with_address(p, eol) || (after > p && after - p <= 16 && skip_spaces(after, eol) == eol);
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

/* The high bit of each byte that is a lower-case digit of an address. */
static uint64_t hex_bytes(uint64_t v) {
    uint64_t digits = (v + BYTES(0x80 - '0')) & ~(v + BYTES(0x80 - '9' - 1));
    uint64_t letters = (v + BYTES(0x80 - 'a')) & ~(v + BYTES(0x80 - 'f' - 1));
    /* What is not ASCII would carry over into the byte above it. */
    return v & HIGH_BITS ? 0 : (digits | letters) & HIGH_BITS;
}

/* Are the 16 bytes at p an address as perf writes it, spaces before it? */
static int is_address_column(const uint8_t *p) {
    uint64_t first = load64(p), second = load64(p + 8), spaces = BYTES(' ');
    if (first == spaces) first = second;
    else if (hex_bytes(second) != HIGH_BITS) return 0;
    if (first == spaces) return 0;
    uint64_t before = ((uint64_t)1 << (__builtin_ctzll(first ^ spaces) & 56)) - 1;
    return (hex_bytes(first) | (before & HIGH_BITS)) == HIGH_BITS;
}

/* What two lines that say the same have in common: symbol, file, and whose half the address is in. */
static void hash_said(const uint8_t *symbol, const uint8_t *symbol_end, const uint8_t *file, const uint8_t *end,
                      uint64_t half, uint64_t out[2]) {
    uint64_t symbol_length = (uint64_t)(symbol_end - symbol), file_length = (uint64_t)(end - file);
    hash_begin(out);
    hash_pair(symbol_length << 1 | half, file_length, out);
    hash_bytes(symbol, symbol_length, out);
    hash_bytes(file, file_length, out);
}

/* Is no symbol known, and does the address stand for it? */
static int is_unnamed(const uint8_t *symbol, const uint8_t *end) {
    static const char unknown[] = "[unknown]";
    return starts_with(symbol, end, unknown) && !starts_with(symbol + sizeof unknown - 1, end, " ([unknown])");
}

/* The file in brackets at the end of a line, with the blank before it; NULL where it is not as simple. */
static const uint8_t *simple_file(const uint8_t *symbol, const uint8_t *end) {
    if (end[-1] != ')') return NULL;
    const uint8_t *file = memrchr(symbol, '(', (size_t)(end - symbol));
    if (!file || --file < symbol || *file != ' ') return NULL;
    return memchr(file, ')', (size_t)(end - file)) == end - 1 ? file : NULL;
}

/* The same as hash_other_frame for lines as perf writes nearly all of them, in a third of the time:
 * `\t    7f89cc45c5c3 name+0x3 (/file)`, also without offset or file. 0: it is another, which may be a
 * frame, too. */
static int hash_usual_frame(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    const uint8_t *symbol = p + 18, *file;
    if (!IS_LITTLE_ENDIAN || end - p < 19 || *p != '\t' || p[17] != ' ' || is_blank(*symbol) || is_blank(end[-1]) ||
        *symbol == '(' || !is_address_column(p + 1))
        return 0;
    uint64_t half = in_kernel_half(p + 1);
    if (*symbol == '[' && is_unnamed(symbol, end)) {
        p = skip_spaces(p, end);
        hash_text(p, (uint64_t)(end - p), out);
        return 1;
    }
    if ((file = simple_file(symbol, end))) {
        uint64_t other = hex_bytes(load64(file - 8)) ^ HIGH_BITS;
        if (!other) return 0; /* its offset has more than 7 digits, if it is one */
        const uint8_t *offset = file - (__builtin_clzll(other) >> 3) - 3;
        if (offset >= symbol && offset < file - 3 && !memcmp(offset, "+0x", 3)) {
            hash_said(symbol, offset, file, end, half, out);
            return 1;
        }
    }
    if (memchr(symbol, '+', (size_t)(end - symbol))) return 0;
    hash_said(symbol, end, end, end, half, out);
    return 1;
}

static void hash_other_frame(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    p = skip_spaces(p, end);
    while (end > p && is_blank(end[-1])) end--;
    const uint8_t *symbol = p, *offset, *file;
    while (symbol < end && is_hex(*symbol) && symbol - p < 17) symbol++;
    int is_frame = begins_with_address(p, end);
    uint64_t half = is_frame && symbol - p == 16 && in_kernel_half(p);
    if (is_frame) symbol = skip_spaces(symbol, end);
    /* No symbol either where only the file stands there, in brackets (`-F ip,dso`). */
    if (!is_frame || *symbol == '(' || is_unnamed(symbol, end)) {
        hash_text(p, (uint64_t)(end - p), out);
        return;
    }
    find_offset(symbol, end, &offset, &file);
    hash_said(symbol, offset, file, end, half, out);
}

/* What a line of a stack says: its symbol and its file, and whose half the address is in. The address
 * itself says more only where it is to stand for the symbol that is not known. */
void xs_hash_frame(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    if (!hash_usual_frame(p, end, out)) hash_other_frame(p, end, out);
}

/* Stacks that say the same are one, wherever in its functions the code was. */
void xs_hash_stack(const uint8_t *p, const uint8_t *end, uint64_t out[2]) {
    hash_begin(out);
    while (p < end) {
        const uint8_t *eol = line_end(p, end);
        uint64_t line[2];
        xs_hash_frame(p, eol, line);
        hash_pair(line[0], line[1], out);
        p = eol < end ? eol + 1 : end;
    }
}

/* Where the stack that begins at p ends, or that it can't be told yet; the other fields are of what was
 * seen of it. Each line is looked at once. `has_times`: so has the sample, and so will have the next. */
void xs_find_stack(const uint8_t *p, const uint8_t *end, int at_end, int has_times, int how, stack *s) {
    const uint8_t *before = p;
    *s = (stack){.begin = p, .is_whole = 1};
    hash_begin(s->hash);
    while (p < end) {
        const uint8_t *eol = line_end(p, end);
        uint64_t line[2];
        if (eol == end && !at_end) break;
        if (hash_usual_frame(p, eol, line)) {
            s->has_frame |= p == s->begin;
        } else if (skip_spaces(p, eol) == eol) {
            /* Some tools put an empty line between the head and its stack, some pages spaces for tabs, too. */
            if (p != s->begin) goto found;
            if (eol + 1 >= end) break;
            if (eol[1] != '\t') {
                const uint8_t *next = eol + 1, *next_end = line_end(next, end);
                if (next_end == end && !at_end && *next == ' ') break;
                if (!has_times || *next != ' ' || !is_frame(next, next_end) || kind_of(next, next_end, how) != OF_STACK)
                    goto found;
            }
            s->begin = before = p = eol + 1;
            continue;
        } else {
            enum line_kind kind = kind_of(p, eol, how);
            if (kind == OF_NEXT_SAMPLE) goto found;
            if (kind == OTHER) {
                /* Not where a terminal broke a frame's line in two. */
                int goes_on = has_times && is_even(before, p) ? is_complaint(p, end, at_end, how) : 0;
                if (!goes_on) goto found;
                if (goes_on < 0) break;
            }
            s->has_frame |= p == s->begin && is_frame(p, eol);
            hash_other_frame(p, eol, line);
        }
        hash_pair(line[0], line[1], s->hash);
        before = p;
        p = eol < end ? eol + 1 : end;
    }
    s->is_whole = at_end;
found:
    s->end = p;
}
