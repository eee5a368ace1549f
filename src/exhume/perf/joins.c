/* Joins of columns: what numpy could only do by sorting, over and over.
 *
 * Naming the samples of a segment comes down to three questions: which rows are equal, what was last
 * said of a key before a time, and which node of a tree a path ends at (paths.c). All three are hash
 * tables. The caller owns every column; what grows from call to call is owned by a handle.
 */
#include "joins.h"

enum { JOINS_ABI = 3 };

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

xh_rows *xh_rows_new(uint32_t width) {
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

/* The number of each row, new ones added. 0 when out of memory. */
int xh_rows_add(xh_rows *r, const int64_t *const *columns, uint64_t n, int64_t *numbers) {
    uint32_t width = r->width;
    for (uint64_t i = 0; i < n; i++) {
        if (rows_grow(r) != 0) return 0;
        int64_t *cells = r->cells + (uint64_t)r->count * width; /* room for one more */
        for (uint32_t c = 0; c < width; c++) cells[c] = columns[c][i];
        uint64_t at = cells_hash(cells, width) & r->mask;
        for (; r->slots[at]; at = (at + 1) & r->mask)
            if (!memcmp(r->cells + (uint64_t)(r->slots[at] - 1) * width, cells, width * sizeof *cells)) break;
        if (!r->slots[at]) r->slots[at] = ++r->count;
        numbers[i] = r->slots[at] - 1;
    }
    return 1;
}

/* One column of the rows from `begin` on. */
void xh_rows_column(const xh_rows *r, uint32_t column, uint32_t begin, int64_t *out) {
    for (uint32_t i = begin; i < r->count; i++) *out++ = r->cells[(uint64_t)i * r->width + column];
}

typedef struct {
    int64_t position;
    uint32_t row;
} said;

static int by_position(const void *a, const void *b) {
    const said *x = a, *y = b;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static uint64_t key_slot(const int64_t *key, const uint32_t *slots, const uint32_t *first, uint64_t mask,
                         int64_t asked) {
    uint64_t h = stir(0x9e3779b97f4a7c15u, (uint64_t)asked, 0xff51afd7ed558ccdu);
    uint64_t at = (h ^ (h >> 32)) & mask;
    while (slots[at] && key[first[slots[at] - 1]] != asked) at = (at + 1) & mask;
    return at;
}

/* For each question the row with its key and the greatest position not after it, -1 where there is
 * none; of rows at one position the last one. Rows are put together by key, and mostly come in order
 * of position already. 0 when out of memory. */
int xh_last_before(const int64_t *key, const int64_t *position, uint32_t n, const int64_t *asked_key,
                   const int64_t *asked_position, uint64_t m, int64_t *found) {
    uint64_t mask = mask_for(n);
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    uint32_t *group = malloc((n + 1ull) * sizeof *group);
    uint32_t *first = malloc((n + 1ull) * sizeof *first);     /* the first row of each group */
    uint32_t *start = calloc(n + 2ull, sizeof *start);        /* where it begins in `rows` */
    said *rows = malloc((n + 1ull) * sizeof *rows);
    int is_done = 0;
    if (!slots || !group || !first || !start || !rows) goto out;
    uint32_t groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = key_slot(key, slots, first, mask, key[i]);
        if (!slots[at]) {
            first[groups] = i;
            slots[at] = ++groups;
        }
        group[i] = slots[at] - 1;
        start[group[i] + 2]++;
    }
    for (uint32_t g = 0; g < groups; g++) start[g + 2] += start[g + 1];
    for (uint32_t i = 0; i < n; i++) rows[start[group[i] + 1]++] = (said){position[i], i};
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t begin = start[g], end = start[g + 1], i = begin + 1;
        while (i < end && rows[i - 1].position <= rows[i].position) i++;
        if (i < end) qsort(rows + begin, end - begin, sizeof *rows, by_position);
    }
    for (uint64_t q = 0; q < m; q++) {
        uint64_t at = key_slot(key, slots, first, mask, asked_key[q]);
        found[q] = -1;
        if (!slots[at]) continue;
        uint32_t begin = start[slots[at] - 1], low = begin, high = start[slots[at]];
        /* Most questions come after all that was said of their key: the last word on it holds. */
        if (rows[high - 1].position <= asked_position[q]) {
            found[q] = rows[high - 1].row;
            continue;
        }
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (rows[middle].position <= asked_position[q]) low = middle + 1;
            else high = middle;
        }
        if (low > begin) found[q] = rows[low - 1].row;
    }
    is_done = 1;
out:
    free(slots), free(group), free(first), free(start), free(rows);
    return is_done;
}
