/* Names of functions where they lie: lines of kallsyms, strings of ELF files.
 *
 * A table of symbols has hundreds of thousands of names, of which a capture needs some thousands. In
 * Python each is an object, and to look at a text column by column reads it twenty times over. The
 * caller owns every column; nothing is kept from call to call, and nothing read behind `length`.
 */
#include <stdint.h>
#include <string.h>

enum { NAMES_ABI = 1 };

int xh_names_abi(void) { return NAMES_ABI; }

/* Copy pieces of a blob to where they belong: out[to[i]] on gets blob[begin[i] .. begin[i] + size[i]].
 * Pieces that are not wholly inside both are left out; returns how many those are. */
uint64_t xh_gather(const uint8_t *blob, uint64_t length, const int64_t *begin, const int64_t *size,
                   const int64_t *to, uint64_t n, uint8_t *out, uint64_t room) {
    uint64_t left_out = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = (uint64_t)begin[i], bytes = (uint64_t)size[i], at = (uint64_t)to[i];
        if (from > length || bytes > length - from || at > room || bytes > room - at)
            left_out++;
        else
            memcpy(out + at, blob + from, bytes);
    }
    return left_out;
}

/* Where the NUL behind each name is, `limit` bytes on at most: a million names that begin in one long
 * text without a NUL must not take a million times as long as one. */
void xh_name_ends(const uint8_t *blob, uint64_t length, uint64_t limit, const int64_t *start, uint64_t n,
                  int64_t *end) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = (uint64_t)start[i] < length ? (uint64_t)start[i] : length;
        uint64_t bytes = length - from < limit ? length - from : limit;
        const uint8_t *nul = memchr(blob + from, 0, bytes);
        end[i] = nul ? nul - blob : (int64_t)(from + bytes);
    }
}

/* Lines of `address type name\t[module]`, columns of `room` rows each. */
typedef struct {
    uint64_t *address;
    uint8_t *kind;
    int64_t *name, *name_end, *line_end;
    /* Rises by one at a line of code whose module differs from that of the line of code before. */
    uint32_t *run;
} xh_lines;

static int hex(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int is_code(uint8_t kind) { return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W'; }

/* Every line ends in a newline. Returns how many there are; where one isn't as expected, or there are
 * more than `room`, -1 minus its number, counted from 0. */
int64_t xh_kallsyms(const uint8_t *text, uint64_t length, uint32_t digits, const xh_lines *out,
                    uint64_t room) {
    const uint8_t *at = text, *stop = text + length, *module = NULL;
    uint64_t line = 0, module_bytes = 0;
    uint32_t run = 0;
    for (; at < stop; line++) {
        const uint8_t *end = memchr(at, '\n', (uint64_t)(stop - at));
        if (!end || line >= room || end - at < (int64_t)digits + 3) return -1 - (int64_t)line;
        uint64_t address = 0;
        for (uint32_t i = 0; i < digits; i++) {
            int digit = hex(at[i]);
            if (digit < 0) return -1 - (int64_t)line;
            address = address << 4 | (uint64_t)digit;
        }
        if (at[digits] != ' ' || at[digits + 2] != ' ') return -1 - (int64_t)line;
        const uint8_t *name = at + digits + 3, *name_end = end;
        if (is_code(at[digits + 1])) {
            const uint8_t *tab = memchr(name, '\t', (uint64_t)(end - name));
            uint64_t bytes = tab ? (uint64_t)(end - tab) : 0;
            if (tab) name_end = tab;
            if (bytes != module_bytes || (bytes && memcmp(module, tab, bytes))) {
                run++;
                module = tab;
                module_bytes = bytes;
            }
        }
        out->address[line] = address;
        out->kind[line] = at[digits + 1];
        out->name[line] = name - text;
        out->name_end[line] = name_end - text;
        out->line_end[line] = end - text;
        out->run[line] = run;
        at = end + 1;
    }
    return (int64_t)line;
}
