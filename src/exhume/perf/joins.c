/* Joins of columns and trees of stacks: what numpy could only do by sorting, over and over.
 *
 * Naming the samples of a segment comes down to three questions: which rows are equal, what was last
 * said of a key before a time, and which node of a tree a path ends at. All three are hash tables
 * here. The caller owns every column; what grows from call to call is owned by a handle.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { JOINS_ABI = 2 };

#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)
#define FAILED UINT32_MAX

int xh_joins_abi(void) { return JOINS_ABI; }

static uint64_t stir(uint64_t h, uint64_t v, uint64_t k) {
    h ^= v;
    h *= k;
    return h ^ (h >> 29);
}

/* A table of at least twice as many slots as rows. */
static uint64_t mask_for(uint64_t rows) {
    uint64_t mask = 1023;
    while (mask < 2 * rows) mask = mask * 2 + 1;
    return mask;
}

/* Which rows are equal: which[i] is the number of row i among the distinct ones, in the order they
 * come first; first[j] is where number j does. Sorting them, as numpy would, takes ten times as
 * long. Returns how many there are, FAILED when out of memory. */
uint32_t xh_distinct(const int64_t *const *columns, uint32_t n_columns, uint32_t n, int64_t *which,
                     int64_t *first) {
    uint64_t mask = mask_for(n);
    uint32_t *slots = calloc(mask + 1, sizeof *slots), count = 0;
    if (!slots) return FAILED;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t h = 0x9e3779b97f4a7c15u;
        for (uint32_t c = 0; c < n_columns; c++) h = stir(h, (uint64_t)columns[c][i], 0xff51afd7ed558ccdu);
        uint64_t at = (h ^ (h >> 32)) & mask;
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

/* The prefix tree of addresses: stacks root first, one node for each distinct way to an address.
 *
 * Names are looked up once a node, and nodes are far fewer than words. A node is identified by its
 * parent, its kind and its address; user addresses mean something in one address space only, so a
 * stack that has any starts with a node for its space.
 */
enum { NODE_ROOT, NODE_SPACE, NODE_USER, NODE_KERNEL };

typedef struct {
    uint64_t address;
    uint32_t parent;
    int32_t space;
    uint16_t depth;
    uint8_t kind;
} xh_node; /* 24 bytes, all of which a look-up touches at once */

/* A way from the root to a node that was gone before. Its 128-bit hash is the identity. */
typedef struct {
    uint64_t hash[2];
    uint32_t node; /* 0: the slot is free */
} xh_way;

typedef struct {
    xh_node *nodes;
    uint32_t count, room;
    uint32_t *slots; /* node number, 0 for empty: the root is never looked up */
    uint64_t mask;
    xh_way *ways;
    uint64_t ways_count, ways_mask;
    uint8_t *kinds; /* of one stack's words, while it is added */
    uint64_t kinds_room;
} xh_tree;

void xh_tree_free(xh_tree *t) {
    if (!t) return;
    free(t->nodes), free(t->slots), free(t->ways), free(t->kinds), free(t);
}

xh_tree *xh_tree_new(void) {
    xh_tree *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->mask = (1u << 14) - 1;
    t->room = 1u << 12;
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    t->nodes = malloc(t->room * sizeof *t->nodes);
    if (!t->slots || !t->nodes) {
        xh_tree_free(t);
        return NULL;
    }
    t->nodes[0] = (xh_node){0, 0, -1, 0, NODE_ROOT};
    t->count = 1;
    return t;
}

uint32_t xh_tree_count(const xh_tree *t) { return t->count; }

/* Where they lie until one is added. */
const xh_node *xh_tree_nodes(const xh_tree *t) { return t->nodes; }

static uint64_t node_hash(uint32_t parent, uint8_t kind, uint64_t address) {
    uint64_t h = stir(((uint64_t)parent << 8) | kind, 0, 0xff51afd7ed558ccdu);
    h = stir(h, address, 0xc4ceb9fe1a85ec53u);
    return h ^ (h >> 32);
}

static int tree_grow(xh_tree *t) {
    if (t->count == t->room) {
        xh_node *nodes = t->room > UINT32_MAX / 2 ? NULL : realloc(t->nodes, 2ull * t->room * sizeof *nodes);
        if (!nodes) return -1;
        t->nodes = nodes;
        t->room *= 2;
    }
    if (2ull * t->count < t->mask) return 0;
    uint64_t mask = t->mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return -1;
    for (uint32_t number = 1; number < t->count; number++) {
        const xh_node *node = t->nodes + number;
        uint64_t at = node_hash(node->parent, node->kind, node->address) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = number;
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    return 0;
}

/* The child of a node, made if need be; 0 when out of memory. */
static uint32_t tree_child(xh_tree *t, uint32_t parent, uint8_t kind, uint64_t address, int32_t space) {
    uint64_t hash = node_hash(parent, kind, address), at = hash & t->mask;
    for (uint32_t number; (number = t->slots[at]); at = (at + 1) & t->mask) {
        const xh_node *node = t->nodes + number;
        if (node->parent == parent && node->address == address && node->kind == kind) return number;
    }
    if (t->count == t->room || 2ull * t->count >= t->mask) {
        if (tree_grow(t) != 0) return 0;
        for (at = hash & t->mask; t->slots[at];) at = (at + 1) & t->mask;
    }
    uint16_t depth = (uint16_t)(t->nodes[parent].depth + 1);
    t->nodes[t->count] = (xh_node){address, parent, space, depth, kind};
    t->slots[at] = t->count;
    return t->count++;
}

/* What each word of a stack is (leaf first): 0 a marker, else a kind; the high bit: a return address.
 *
 * The first address after a marker is where the code was. The others are return addresses: they may
 * lie behind the end of the function that called, so they are looked up one byte earlier.
 */
#define RETURN_ADDRESS 0x80
typedef struct {
    int has_user;
    uint64_t above_leaf; /* where the words above the leaf begin */
    uint64_t above_mark; /* where those above the last marker do: mostly the program's, below the kernel's */
} stack_shape;

static stack_shape word_kinds(const uint64_t *words, uint64_t n, uint8_t *kinds) {
    stack_shape shape = {0, n, 0};
    int kind = 0, is_exact = 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        if (word >= (uint64_t)-4095) {
            kind = (word == CONTEXT_USER || word == CONTEXT_GUEST_USER) ? NODE_USER : NODE_KERNEL;
            is_exact = 1;
            kinds[i] = 0;
            shape.above_mark = i + 1;
            continue;
        }
        if (shape.above_leaf == n) shape.above_leaf = i + 1;
        /* No marker yet (some imported chains): the upper half of addresses is the kernel's. */
        int own = kind ? kind : (word >> 63 ? NODE_KERNEL : NODE_USER);
        shape.has_user |= own == NODE_USER;
        kinds[i] = (uint8_t)(own | (is_exact ? 0 : RETURN_ADDRESS));
        is_exact = 0;
    }
    return shape;
}

static xh_way *way_slot(xh_way *ways, uint64_t mask, const uint64_t hash[2]) {
    uint64_t at = (hash[0] ^ (hash[0] >> 32)) & mask;
    while (ways[at].node && (ways[at].hash[0] != hash[0] || ways[at].hash[1] != hash[1])) at = (at + 1) & mask;
    return ways + at;
}

static uint32_t known_way(const xh_tree *t, const uint64_t hash[2]) {
    return t->ways ? way_slot(t->ways, t->ways_mask, hash)->node : 0;
}

static int remember_way(xh_tree *t, const uint64_t hash[2], uint32_t node) {
    if (!t->ways || 2 * t->ways_count >= t->ways_mask) {
        uint64_t mask = t->ways ? t->ways_mask * 2 + 1 : mask_for(0);
        xh_way *ways = calloc(mask + 1, sizeof *ways);
        if (!ways) return -1;
        for (uint64_t i = 0; t->ways && i <= t->ways_mask; i++)
            if (t->ways[i].node) *way_slot(ways, mask, t->ways[i].hash) = t->ways[i];
        free(t->ways);
        t->ways = ways;
        t->ways_mask = mask;
    }
    xh_way *slot = way_slot(t->ways, t->ways_mask, hash);
    t->ways_count += !slot->node;
    *slot = (xh_way){{hash[0], hash[1]}, node};
    return 0;
}

/* The nodes of the words in front of `from`, one below the other. 0 when out of memory. */
static int add_words(xh_tree *t, const uint64_t *stack, uint64_t from, uint64_t to, int32_t space,
                     uint32_t *node) {
    for (uint64_t at = from; at-- > to;) {
        uint8_t kind = t->kinds[at] & 0x7f;
        if (!kind || t->nodes[*node].depth == UINT16_MAX) continue;
        uint64_t address = stack[at] - (t->kinds[at] & RETURN_ADDRESS ? 1 : 0);
        *node = tree_child(t, *node, kind, address, space);
        if (!*node) return 0;
    }
    return 1;
}

/* Add stacks (leaf first, as perf writes them); ends[i] is the node of the leaf of stack i.
 *
 * Stack i is words[start[i] .. start[i] + count[i]), seen in address space space[i]. Its node is the
 * root for an empty one. Returns 0 when out of memory.
 *
 * Most stacks differ from some other only at the leaf, or only in the kernel: then the rest of the
 * way is known by its hash, and need not be gone word by word.
 */
int xh_tree_add(xh_tree *t, const uint64_t *words, const int64_t *start, const int64_t *count,
                const int64_t *space, uint64_t n, uint32_t *ends) {
    enum { LEAST_WORDS = 4 };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = (uint64_t)count[i];
        const uint64_t *stack = words + start[i];
        if (length > t->kinds_room) {
            uint8_t *kinds = realloc(t->kinds, length);
            if (!kinds) return 0;
            t->kinds = kinds;
            t->kinds_room = length;
        }
        stack_shape shape = word_kinds(stack, length, t->kinds);
        uint32_t node = 0;
        if (shape.has_user) {
            node = tree_child(t, 0, NODE_SPACE, (uint64_t)space[i], (int32_t)space[i]);
            if (!node) return 0;
        }
        /* From the root on: first what is above the mark, then what is above the leaf, then it. */
        uint64_t leaf = shape.above_leaf, mark = shape.above_mark > leaf ? shape.above_mark : leaf;
        uint64_t stops[2] = {mark, leaf}, hashes[2][2], at = length;
        uint64_t h[2] = {node + 0x9e3779b97f4a7c15u, node + 0xc2b2ae3d27d4eb4fu};
        for (int stop = 0; stop < 2; stop++) {
            for (; at > stops[stop]; at--) {
                h[0] = stir(h[0], stack[at - 1], 0xff51afd7ed558ccdu);
                h[1] = stir(h[1], stack[at - 1] + t->kinds[at - 1], 0xc4ceb9fe1a85ec53u);
            }
            memcpy(hashes[stop], h, sizeof h);
        }
        uint64_t from = length;
        for (int stop = 1; stop >= 0 && from == length; stop--) {
            if (length - stops[stop] < LEAST_WORDS) continue;
            uint32_t known = known_way(t, hashes[stop]);
            if (known) node = known, from = stops[stop];
        }
        for (int stop = 0; stop < 2; stop++) {
            if (stops[stop] >= from) continue;
            if (!add_words(t, stack, from, stops[stop], (int32_t)space[i], &node)) return 0;
            from = stops[stop];
            if (node && length - from >= LEAST_WORDS && remember_way(t, hashes[stop], node) != 0) return 0;
        }
        if (!add_words(t, stack, from, 0, (int32_t)space[i], &node)) return 0;
        ends[i] = node;
    }
    return 1;
}

/* The children of nodes, one each, made if need be: children[i] is that of parent[i] at address[i].
 * Nodes are of one kind and in no space: this tree is one of names. 0 when out of memory. */
int xh_tree_children(xh_tree *t, const uint32_t *parent, const uint64_t *address, uint64_t n,
                     uint32_t *children) {
    for (uint64_t i = 0; i < n; i++) {
        if (parent[i] >= t->count || t->nodes[parent[i]].depth == UINT16_MAX) return 0;
        children[i] = tree_child(t, parent[i], NODE_KERNEL, address[i], -1);
        if (!children[i]) return 0;
    }
    return 1;
}

static uint64_t place_hash(uint8_t kind, int32_t space, uint64_t address) {
    uint64_t h = stir(((uint64_t)(uint32_t)space << 8) | kind, 0, 0xff51afd7ed558ccdu);
    h = stir(h, address, 0xc4ceb9fe1a85ec53u);
    return h ^ (h >> 32);
}

/* The distinct places of code in a tree: an address, and for user code the space it is of. place[i]
 * is the number of node i's, first[j] the first node at place j. The root and the nodes of spaces
 * are at place 0. Returns how many there are, FAILED when out of memory. */
uint32_t xh_tree_places(const xh_tree *t, uint32_t *place, uint32_t *first) {
    uint64_t mask = mask_for(t->count);
    uint32_t *slots = calloc(mask + 1, sizeof *slots), count = 1;
    if (!slots) return FAILED;
    first[0] = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const xh_node *node = t->nodes + i;
        if (node->kind != NODE_USER && node->kind != NODE_KERNEL) {
            place[i] = 0;
            continue;
        }
        int32_t space = node->kind == NODE_USER ? node->space : -1;
        uint64_t at = place_hash(node->kind, space, node->address) & mask;
        for (; slots[at]; at = (at + 1) & mask) {
            const xh_node *other = t->nodes + first[slots[at]];
            if (other->address == node->address && other->kind == node->kind &&
                (node->kind == NODE_KERNEL || other->space == space))
                break;
        }
        if (!slots[at]) {
            first[count] = i;
            slots[at] = count++;
        }
        place[i] = slots[at];
    }
    free(slots);
    return count;
}

/* What is known of each place. */
typedef struct {
    const uint32_t *frame;
    const int8_t *mode;      /* that its frame speaks for, -1: says nothing */
    const uint8_t *nameless; /* of a run of nameless addresses the first stands for all */
} xh_named;

static int adds_nothing(const xh_tree *t, const uint32_t *place, const xh_named *named, uint32_t node) {
    if (t->nodes[node].kind == NODE_SPACE) return 1;
    uint32_t here = place[node], above = place[t->nodes[node].parent];
    return named->nameless[here] && named->nameless[above] && named->frame[here] == named->frame[above];
}

/* Paths of addresses → paths of names, below the node of their process: ends[i] is the node of
 * `names` for node[i] under top[process[i]], modes[i] what a core did there. Whatever leads to the
 * same names is one node. Quickest when rows of one process come together: then each node is looked
 * at once a process. 0 when out of memory. */
int xh_tree_join(const xh_tree *t, const uint32_t *place, const xh_named *named, xh_tree *names,
                 const uint32_t *top, const uint32_t *process, const uint32_t *node, uint64_t n,
                 uint32_t *ends, uint8_t *modes) {
    enum { USER = 0, SYSTEM = 1 };
    uint32_t *known = calloc(t->count, sizeof *known); /* process + 1 */
    uint32_t *name = malloc(t->count * sizeof *name);
    uint8_t *mode = malloc(t->count); /* what the innermost telling kernel frame down to here says */
    uint32_t *way = malloc((UINT16_MAX + 1ull) * sizeof *way);
    int is_done = 0;
    if (!known || !name || !mode || !way) goto out;
    mode[0] = SYSTEM;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t at = node[i], steps = 0, mark = process[i] + 1, end;
        while (at && known[at] != mark) way[steps++] = at, at = t->nodes[at].parent;
        end = at ? name[at] : top[process[i]];
        while (steps) {
            at = way[--steps];
            if (!adds_nothing(t, place, named, at) && names->nodes[end].depth != UINT16_MAX) {
                end = tree_child(names, end, NODE_KERNEL, named->frame[place[at]], -1);
                if (!end) goto out;
            }
            const xh_node *here = t->nodes + at;
            int8_t said = here->kind == NODE_KERNEL ? named->mode[place[at]] : -1;
            mode[at] = said >= 0 ? (uint8_t)said : mode[here->parent];
            known[at] = mark, name[at] = end;
        }
        ends[i] = end;
        modes[i] = t->nodes[node[i]].kind == NODE_USER ? USER : mode[node[i]];
    }
    is_done = 1;
out:
    free(known), free(name), free(mode), free(way);
    return is_done;
}
