/* Stacks of addresses → paths of places → nodes of the tree of names.
 *
 * A place is an address of code, and for user code the address space it is of. There are some thousand
 * of them where there are millions of words, so they are numbered first and named once each. The tree
 * then grows by names alone, small enough for the processor's cache.
 */
#include "joins.h"

#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)
#define FIRST_MARKER ((uint64_t)-4095)

enum { PLACE_USER = 1, PLACE_KERNEL = 2, KIND = 3, RETURN_ADDRESS = 4 };

typedef struct {
    uint64_t address;
    int32_t space; /* -1 in the kernel: it is the same in all of them */
    uint32_t kind;
} xh_place;

typedef struct {
    xh_place place;
    uint32_t number;
} known_place;

typedef struct {
    xh_place *places;
    uint32_t count, room;
    uint32_t *slots; /* place number + 1 */
    uint64_t mask;
    known_place *last; /* by how far from the root: there stacks have much in common with the one before */
    uint8_t *kinds;    /* of one stack's words, while it is added */
    uint64_t depth_room;
} xh_places;

void xh_places_free(xh_places *p) {
    if (!p) return;
    free(p->places), free(p->slots), free(p->last), free(p->kinds), free(p);
}

xh_places *xh_places_new(void) {
    xh_places *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->room = 1u << 12;
    p->mask = mask_for(p->room);
    p->places = malloc(p->room * sizeof *p->places);
    p->slots = calloc(p->mask + 1, sizeof *p->slots);
    if (!p->places || !p->slots) {
        xh_places_free(p);
        return NULL;
    }
    return p;
}

uint32_t xh_places_count(const xh_places *p) { return p->count; }

void xh_places_columns(const xh_places *p, uint64_t *address, int32_t *space, uint8_t *kind) {
    for (uint32_t i = 0; i < p->count; i++) {
        address[i] = p->places[i].address;
        space[i] = p->places[i].space;
        kind[i] = (uint8_t)p->places[i].kind;
    }
}

static int is_same(const xh_place *a, const xh_place *b) {
    return a->address == b->address && a->space == b->space && a->kind == b->kind;
}

static uint64_t place_hash(const xh_place *place) {
    uint64_t h = stir((uint64_t)(uint32_t)place->space << 8 | place->kind, 0, 0xff51afd7ed558ccdu);
    h = stir(h, place->address, 0xc4ceb9fe1a85ec53u);
    return h ^ (h >> 32);
}

static int places_grow(xh_places *p) {
    if (p->room > UINT32_MAX / 4) return -1;
    xh_place *places = realloc(p->places, 2ull * p->room * sizeof *places);
    if (!places) return -1;
    p->places = places;
    p->room *= 2;
    uint64_t mask = mask_for(p->room);
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return -1;
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t at = place_hash(p->places + i) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = i + 1;
    }
    free(p->slots);
    p->slots = slots;
    p->mask = mask;
    return 0;
}

/* Its number, a new one if need be; FAILED when out of memory. */
static uint32_t place_number(xh_places *p, const xh_place *place) {
    if (p->count == p->room && places_grow(p) != 0) return FAILED;
    uint64_t at = place_hash(place) & p->mask;
    for (; p->slots[at]; at = (at + 1) & p->mask)
        if (is_same(p->places + p->slots[at] - 1, place)) return p->slots[at] - 1;
    p->places[p->count] = *place;
    p->slots[at] = p->count + 1;
    return p->count++;
}

static int have_depth(xh_places *p, uint64_t depth) {
    if (depth <= p->depth_room) return 1;
    depth += depth / 2;
    known_place *last = realloc(p->last, depth * sizeof *last);
    if (last) p->last = last;
    uint8_t *kinds = realloc(p->kinds, depth);
    if (kinds) p->kinds = kinds;
    if (!last || !kinds) return 0;
    memset(last + p->depth_room, 0, (depth - p->depth_room) * sizeof *last); /* of no kind: like no place */
    p->depth_room = depth;
    return 1;
}

/* What each word of a stack is (leaf first): 0 a marker, else a kind, with a bit for return addresses.
 *
 * The first address after a marker is where the code was. The others are return addresses: they may
 * lie behind the end of the function that called, so they are looked up one byte earlier.
 */
static void word_kinds(const uint64_t *words, uint64_t n, uint8_t *kinds) {
    uint8_t kind = 0, is_return = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        if (word >= FIRST_MARKER) {
            kind = word == CONTEXT_USER || word == CONTEXT_GUEST_USER ? PLACE_USER : PLACE_KERNEL;
            is_return = kinds[i] = 0;
            continue;
        }
        /* No marker yet (some imported chains): the upper half of addresses is the kernel's. */
        uint8_t own = kind ? kind : word >> 63 ? PLACE_KERNEL : PLACE_USER;
        kinds[i] = own | is_return;
        is_return = RETURN_ADDRESS;
    }
}

/* The places of stacks. Stack i is words[start[i] .. start[i] + count[i]), leaf first as perf writes
 * it, seen in address space space[i]. Its places go to steps[begin[i] ..], root first; length[i] is
 * how many they are, at most count[i]. 0 when out of memory. */
int xh_places_add(xh_places *p, const uint64_t *words, const int64_t *start, const int64_t *count,
                  const int64_t *space, uint64_t n, const int64_t *begin, uint32_t *steps,
                  int64_t *length) {
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t *stack = words + start[i];
        if (!have_depth(p, (uint64_t)count[i])) return 0;
        word_kinds(stack, (uint64_t)count[i], p->kinds);
        uint32_t *step = steps + begin[i];
        known_place *last = p->last;
        for (int64_t at = count[i]; at-- > 0;) {
            uint32_t kind = p->kinds[at] & KIND;
            if (!kind) continue;
            uint64_t address = stack[at] - (p->kinds[at] & RETURN_ADDRESS ? 1 : 0);
            xh_place place = {address, kind == PLACE_USER ? (int32_t)space[i] : -1, kind};
            if (!is_same(&last->place, &place)) {
                uint32_t number = place_number(p, &place);
                if (number == FAILED) return 0;
                *last = (known_place){place, number};
            }
            *step++ = last++->number;
        }
        length[i] = step - (steps + begin[i]);
    }
    return 1;
}

/* The tree of names: a node is identified by its parent and its frame. */
typedef struct {
    uint32_t frame, parent;
    uint32_t depth;
    uint32_t last_child; /* that was asked for, and will be again */
} xh_node; /* all of which a look-up touches at once */

typedef struct {
    xh_node *nodes;
    uint32_t count, room;
    uint32_t *slots; /* node number, 0 for empty: the root is never looked up */
    uint64_t mask;
} xh_tree;

void xh_tree_free(xh_tree *t) {
    if (!t) return;
    free(t->nodes), free(t->slots), free(t);
}

xh_tree *xh_tree_new(void) {
    xh_tree *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->room = 1u << 12;
    t->mask = mask_for(t->room);
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    t->nodes = malloc(t->room * sizeof *t->nodes);
    if (!t->slots || !t->nodes) {
        xh_tree_free(t);
        return NULL;
    }
    t->nodes[0] = (xh_node){0, 0, 0, 0};
    t->count = 1;
    return t;
}

uint32_t xh_tree_count(const xh_tree *t) { return t->count; }

/* Where they lie until one is added. */
const xh_node *xh_tree_nodes(const xh_tree *t) { return t->nodes; }

static uint64_t node_hash(uint32_t parent, uint32_t frame) {
    uint64_t h = stir((uint64_t)parent << 32 | frame, 0, 0xff51afd7ed558ccdu);
    return h ^ (h >> 32);
}

static int tree_grow(xh_tree *t) {
    if (t->room > UINT32_MAX / 4) return -1;
    xh_node *nodes = realloc(t->nodes, 2ull * t->room * sizeof *nodes);
    if (!nodes) return -1;
    t->nodes = nodes;
    t->room *= 2;
    uint64_t mask = mask_for(t->room);
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return -1;
    for (uint32_t number = 1; number < t->count; number++) {
        uint64_t at = node_hash(t->nodes[number].parent, t->nodes[number].frame) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = number;
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    return 0;
}

/* The child of a node, made if need be; 0 when out of memory. */
static uint32_t tree_child(xh_tree *t, uint32_t parent, uint32_t frame) {
    uint32_t number = t->nodes[parent].last_child;
    if (number && t->nodes[number].frame == frame) return number;
    uint64_t hash = node_hash(parent, frame), at = hash & t->mask;
    for (; (number = t->slots[at]); at = (at + 1) & t->mask)
        if (t->nodes[number].parent == parent && t->nodes[number].frame == frame)
            return t->nodes[parent].last_child = number;
    if (t->count == t->room) {
        if (tree_grow(t) != 0) return 0;
        for (at = hash & t->mask; t->slots[at];) at = (at + 1) & t->mask;
    }
    t->nodes[t->count] = (xh_node){frame, parent, t->nodes[parent].depth + 1, 0};
    t->slots[at] = t->nodes[parent].last_child = t->count;
    return t->count++;
}

/* The children of nodes, one each: children[i] is that of parent[i] with frame[i]. 0 when there is no
 * such parent, or when out of memory. */
int xh_tree_children(xh_tree *t, const uint32_t *parent, const uint32_t *frame, uint64_t n,
                     uint32_t *children) {
    for (uint64_t i = 0; i < n; i++) {
        if (parent[i] >= t->count) return 0;
        children[i] = tree_child(t, parent[i], frame[i]);
        if (!children[i]) return 0;
    }
    return 1;
}

/* What is known of each place. */
typedef struct {
    const uint32_t *frame;
    const int8_t *mode;      /* that its frame speaks for, -1: says nothing */
    const uint8_t *nameless; /* of a run of nameless addresses the first stands for all */
    const uint8_t *kind;
} xh_named;

/* Where a path has come to in the tree of names. */
typedef struct {
    uint32_t node;
    uint8_t mode; /* what the innermost telling kernel frame up to here says */
} reached;

static int adds_nothing(const xh_named *named, uint32_t here, uint32_t above) {
    return named->nameless[here] && named->nameless[above] && named->frame[here] == named->frame[above];
}

/* Paths of places → paths of names, below the node of their process: ends[i] is the node for path[i]
 * under top[process[i]], modes[i] what a core did there. Path j is steps[begin[j] .. begin[j] +
 * length[j]), root first. Whatever leads to the same names is one node. What a path has in common with
 * the one before is gone once; so rows of one process should come together. 0 when out of memory. */
int xh_tree_join(xh_tree *t, const uint32_t *steps, const int64_t *begin, const int64_t *length,
                 const xh_named *named, const uint32_t *top, const uint32_t *process,
                 const uint32_t *path, uint64_t n, uint32_t *ends, uint8_t *modes) {
    enum { USER = 0, SYSTEM = 1 };
    int64_t deepest = 0;
    for (uint64_t i = 0; i < n; i++)
        if (length[path[i]] > deepest) deepest = length[path[i]];
    reached *after = malloc((uint64_t)(deepest + 1) * sizeof *after); /* so many steps */
    if (!after) return 0;
    const uint32_t *before = NULL;
    int64_t gone = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t *way = steps + begin[path[i]];
        int64_t count = length[path[i]], at = 0;
        if (i && process[i] == process[i - 1])
            while (at < count && at < gone && way[at] == before[at]) at++;
        after[0] = (reached){top[process[i]], SYSTEM};
        for (; at < count; at++) {
            uint32_t here = way[at];
            reached next = after[at];
            if (!at || !adds_nothing(named, here, way[at - 1])) {
                next.node = tree_child(t, next.node, named->frame[here]);
                if (!next.node) goto out;
            }
            if (named->mode[here] >= 0) next.mode = (uint8_t)named->mode[here];
            after[at + 1] = next;
        }
        ends[i] = after[count].node;
        modes[i] = count && named->kind[way[count - 1]] == PLACE_USER ? USER : after[count].mode;
        before = way;
        gone = count;
    }
    free(after);
    return 1;
out:
    free(after);
    return 0;
}
