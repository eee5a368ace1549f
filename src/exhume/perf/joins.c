/* Joins of columns: what numpy could only do by sorting, over and over.
 *
 * Naming the samples of a segment comes down to three questions: which rows are equal, what was last
 * said of a key before a time, and which node of a tree a stack ends at (stacks.c). All three are hash
 * tables. The caller owns every column; what grows from call to call is owned by a handle.
 */
#include "joins.h"

enum { JOINS_ABI = 8 };

int xh_joins_abi(void) { return JOINS_ABI; }

/* Which rows are equal: which[i] is the number of row i among the distinct ones, in the order they
 * come first; first[j] is where number j does. Sorting them, as numpy would, takes ten times as
 * long. Returns how many there are, FAILED when out of memory. */
uint32_t xh_distinct(const int64_t *const *columns, uint32_t n_columns, uint32_t n, int64_t *which,
                     int64_t *first) {
    enum { BLOCK = 32 };
    uint64_t mask = mask_for(n), slot[BLOCK];
    uint32_t *slots = calloc(mask + 1, sizeof *slots), count = 0;
    if (!slots) return FAILED;
    for (uint32_t begin = 0; begin < n; begin += BLOCK) {
        uint32_t end = n - begin < BLOCK ? n : begin + BLOCK;
        /* Slots lie anywhere: all of a block are fetched from memory before the first is looked at. */
        for (uint32_t i = begin; i < end; i++) {
            uint64_t h = 0x9e3779b97f4a7c15u;
            for (uint32_t c = 0; c < n_columns; c++) h = stir(h, (uint64_t)columns[c][i], 0xff51afd7ed558ccdu);
            slot[i - begin] = (h ^ (h >> 32)) & mask;
            __builtin_prefetch(slots + slot[i - begin], 1);
        }
        for (uint32_t i = begin; i < end; i++) {
            uint64_t at = slot[i - begin];
            for (; slots[at]; at = (at + 1) & mask) {
                int64_t other = first[slots[at] - 1];
                uint32_t c = 0;
                while (c < n_columns && columns[c][other] == columns[c][i]) c++;
                if (c == n_columns) break;
            }
            if (!slots[at]) {
                first[count] = i;
                slots[at] = ++count;
            }
            which[i] = slots[at] - 1;
        }
    }
    free(slots);
    return count;
}

/* Distinct rows that are kept from call to call, numbered as they come. */
typedef struct {
    int64_t *cells; /* row by row */
    uint32_t width, count, room;
    uint32_t *slots; /* row number + 1 */
    uint64_t mask;
} xh_rows;

void xh_rows_free(xh_rows *r) {
    if (!r) return;
    free(r->cells), free(r->slots), free(r);
}

enum { MOST_COLUMNS = 8 };

/* NULL when out of memory, or when there are more columns. */
xh_rows *xh_rows_new(uint32_t width) {
    if (width > MOST_COLUMNS) return NULL;
    xh_rows *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->width = width;
    r->room = 256;
    r->mask = mask_for(0);
    r->cells = malloc((uint64_t)r->room * width * sizeof *r->cells);
    r->slots = calloc(r->mask + 1, sizeof *r->slots);
    if (!r->cells || !r->slots) {
        xh_rows_free(r);
        return NULL;
    }
    return r;
}

uint32_t xh_rows_count(const xh_rows *r) { return r->count; }

static uint64_t cells_hash(const int64_t *cells, uint32_t width) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (uint32_t c = 0; c < width; c++) h = stir(h, (uint64_t)cells[c], 0xff51afd7ed558ccdu);
    return h ^ (h >> 32);
}

static int rows_grow(xh_rows *r) {
    if (r->count == r->room) {
        if (r->room > UINT32_MAX / 2) return -1;
        int64_t *cells = realloc(r->cells, 2ull * r->room * r->width * sizeof *cells);
        if (!cells) return -1;
        r->cells = cells;
        r->room *= 2;
    }
    if (2ull * r->count < r->mask) return 0;
    uint64_t mask = r->mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return -1;
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t at = cells_hash(r->cells + (uint64_t)i * r->width, r->width) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = i + 1;
    }
    free(r->slots);
    r->slots = slots;
    r->mask = mask;
    return 0;
}

#define NO_ROOM (FAILED - 1)

/* The number of a row, a new one if need be; FAILED when out of memory, NO_ROOM for a new one where there are
 * `most` already. */
static uint32_t row_number(xh_rows *r, const int64_t *cells, uint32_t most) {
    uint64_t hash = cells_hash(cells, r->width), at = hash & r->mask;
    for (; r->slots[at]; at = (at + 1) & r->mask) {
        const int64_t *other = r->cells + (uint64_t)(r->slots[at] - 1) * r->width;
        uint32_t c = 0;
        while (c < r->width && other[c] == cells[c]) c++; /* two or three: a call of memcmp takes longer */
        if (c == r->width) return r->slots[at] - 1;
    }
    if (r->count >= most) return NO_ROOM;
    if (r->count == r->room || 2ull * r->count >= r->mask) {
        if (rows_grow(r) != 0) return FAILED;
        for (at = hash & r->mask; r->slots[at];) at = (at + 1) & r->mask;
    }
    memcpy(r->cells + (uint64_t)r->count * r->width, cells, r->width * sizeof *cells);
    r->slots[at] = r->count + 1;
    return r->count++;
}

/* The number of each row, new ones added until there are `most`; then they get -1. 0 when out of memory. */
int xh_rows_add(xh_rows *r, const int64_t *const *columns, uint64_t n, uint32_t most, int64_t *numbers) {
    int64_t cells[MOST_COLUMNS];
    for (uint64_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < r->width; c++) cells[c] = columns[c][i];
        uint32_t number = row_number(r, cells, most);
        if (number == FAILED) return 0;
        numbers[i] = number == NO_ROOM ? -1 : (int64_t)number;
    }
    return 1;
}

/* One column of the rows from `begin` on. */
void xh_rows_column(const xh_rows *r, uint32_t column, uint32_t begin, int64_t *out) {
    for (uint32_t i = begin; i < r->count; i++) *out++ = r->cells[(uint64_t)i * r->width + column];
}

static int by_position(const void *a, const void *b) {
    const xh_said *x = a, *y = b;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static uint64_t key_slot(const xh_groups *g, int64_t asked) {
    uint64_t h = stir(0x9e3779b97f4a7c15u, (uint64_t)asked, 0xff51afd7ed558ccdu);
    uint64_t at = (h ^ (h >> 32)) & g->mask;
    while (g->slots[at] && g->key[g->first[g->slots[at] - 1]] != asked) at = (at + 1) & g->mask;
    return at;
}

void xh_groups_free(xh_groups *g) { free(g->slots), free(g->first), free(g->start), free(g->rows); }

/* Rows mostly come in order of position already. */
int xh_groups_make(xh_groups *g, const int64_t *key, const int64_t *position, uint32_t n) {
    g->key = key;
    g->mask = mask_for(n);
    g->slots = calloc(g->mask + 1, sizeof *g->slots);
    g->first = malloc((n + 1ull) * sizeof *g->first);
    g->start = calloc(n + 2ull, sizeof *g->start);
    g->rows = malloc((n + 1ull) * sizeof *g->rows);
    uint32_t *group = malloc((n + 1ull) * sizeof *group), groups = 0;
    if (!g->slots || !g->first || !g->start || !g->rows || !group) {
        free(group);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = key_slot(g, key[i]);
        if (!g->slots[at]) {
            g->first[groups] = i;
            g->slots[at] = ++groups;
        }
        group[i] = g->slots[at] - 1;
        g->start[group[i] + 2]++;
    }
    for (uint32_t one = 0; one < groups; one++) g->start[one + 2] += g->start[one + 1];
    for (uint32_t i = 0; i < n; i++) g->rows[g->start[group[i] + 1]++] = (xh_said){position[i], i};
    free(group);
    for (uint32_t one = 0; one < groups; one++) {
        uint32_t begin = g->start[one], end = g->start[one + 1], i = begin + 1;
        while (i < end && g->rows[i - 1].position <= g->rows[i].position) i++;
        if (i < end) qsort(g->rows + begin, end - begin, sizeof *g->rows, by_position);
    }
    return 1;
}

uint32_t xh_group_of(const xh_groups *g, int64_t key) {
    uint32_t group = g->slots[key_slot(g, key)];
    return group ? group - 1 : FAILED;
}

int64_t xh_last_of(const xh_groups *g, uint32_t group, int64_t asked) {
    uint32_t begin = g->start[group], low = begin, high = g->start[group + 1];
    /* Most questions come after all that was said of their key: the last word on it holds. */
    if (g->rows[high - 1].position <= asked) return g->rows[high - 1].row;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (g->rows[middle].position <= asked) low = middle + 1;
        else high = middle;
    }
    return low > begin ? (int64_t)g->rows[low - 1].row : -1;
}

/* For each question the row with its key and the greatest position not after it, -1 where there is
 * none; of rows at one position the last one. 0 when out of memory. */
int xh_last_before(const int64_t *key, const int64_t *position, uint32_t n, const int64_t *asked_key,
                   const int64_t *asked_position, uint64_t m, int64_t *found) {
    xh_groups groups;
    uint32_t group = FAILED;
    int is_done = xh_groups_make(&groups, key, position, n);
    for (uint64_t q = 0; is_done && q < m; q++) {
        if (!q || asked_key[q] != asked_key[q - 1]) group = xh_group_of(&groups, asked_key[q]);
        found[q] = group == FAILED ? -1 : xh_last_of(&groups, group, asked_position[q]);
    }
    xh_groups_free(&groups);
    return is_done;
}

/* Ranges that may lie in each other, cut into pieces that don't: each point is in the one of those around
 * it that begins last, of those that begin together in the last one. Rows are in order of their key and
 * their start. There is room for two pieces a row; returns how many there are, FAILED when out of memory. */
uint32_t xh_pieces(const int64_t *key, const int64_t *start, const int64_t *end, uint32_t n, int64_t *row,
                   int64_t *piece_start, int64_t *piece_end) {
    uint32_t *open = malloc((n + 1ull) * sizeof *open), depth = 0, count = 0; /* the innermost last */
    if (!open) return FAILED;
    int64_t at = 0;
    for (uint32_t i = 0; i <= n; i++) {
        int is_other = i == n || (i && key[i] != key[i - 1]);
        while (depth && (is_other || at < start[i])) {
            uint32_t top = open[depth - 1];
            int64_t until = is_other || end[top] < start[i] ? end[top] : start[i];
            if (at < until) {
                row[count] = top, piece_start[count] = at, piece_end[count++] = until;
                at = until;
            }
            if (end[top] <= at) depth--;
        }
        if (i < n && start[i] < end[i]) open[depth++] = i, at = start[i];
    }
    free(open);
    return count;
}
