/* Stacks of addresses → nodes of the tree of names.
 *
 * A place is an offset in some code: the kernel's, or a mapped file's. However often a program is started,
 * and wherever it lies then, there are some ten thousand of them where there are millions of words, so
 * each is named once. All tables that are looked at for a word are then small enough for the processor's
 * cache, and so is the tree, which grows by names alone.
 */
#include "joins.h"

#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)
#define FIRST_MARKER ((uint64_t)-4095)

enum { NO_KIND = 0, USER_CODE = 1, KERNEL_CODE = 2 };
enum { USER = 0, SYSTEM = 1 }; /* modes */

/* The tree of names: a node is identified by its parent and its frame. */
typedef struct {
    uint32_t frame, parent;
    uint32_t depth;
    uint32_t last_child; /* that was asked for, and will be again */
} xh_node; /* all of which a look-up touches at once */

typedef struct {
    xh_node *nodes;
    uint8_t *modes; /* what a core did whose stack ends at the node */
    uint32_t count, room;
    uint32_t *slots; /* node number, 0 for empty: the root is never looked up */
    uint64_t mask;
} xh_tree;

void xh_tree_free(xh_tree *t) {
    if (!t) return;
    free(t->nodes), free(t->modes), free(t->slots), free(t);
}

xh_tree *xh_tree_new(void) {
    xh_tree *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->room = 1u << 12;
    t->mask = mask_for(t->room);
    t->slots = calloc(t->mask + 1, sizeof *t->slots);
    t->nodes = malloc(t->room * sizeof *t->nodes);
    t->modes = malloc(t->room);
    if (!t->slots || !t->nodes || !t->modes) {
        xh_tree_free(t);
        return NULL;
    }
    t->nodes[0] = (xh_node){0, 0, 0, 0};
    t->modes[0] = 0;
    t->count = 1;
    return t;
}

uint32_t xh_tree_count(const xh_tree *t) { return t->count; }

/* Where they lie until one is added. */
const xh_node *xh_tree_nodes(const xh_tree *t) { return t->nodes; }

uint8_t *xh_tree_modes(const xh_tree *t) { return t->modes; }

static uint64_t node_hash(uint32_t parent, uint32_t frame) {
    uint64_t h = stir((uint64_t)parent << 32 | frame, 0, 0xff51afd7ed558ccdu);
    return h ^ (h >> 32);
}

static int tree_grow(xh_tree *t) {
    if (t->room > UINT32_MAX / 4) return -1;
    xh_node *nodes = realloc(t->nodes, 2ull * t->room * sizeof *nodes);
    if (!nodes) return -1;
    t->nodes = nodes;
    uint8_t *modes = realloc(t->modes, 2ull * t->room);
    if (!modes) return -1;
    t->modes = modes;
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
    t->modes[t->count] = 0;
    t->slots[at] = t->nodes[parent].last_child = t->count;
    return t->count++;
}

/* The child of a node if there is one, else 0. */
static uint32_t tree_found(const xh_tree *t, uint32_t parent, uint32_t frame) {
    uint32_t number;
    for (uint64_t at = node_hash(parent, frame) & t->mask; (number = t->slots[at]); at = (at + 1) & t->mask)
        if (t->nodes[number].parent == parent && t->nodes[number].frame == frame) return number;
    return 0;
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

/* A place of code, where its hash says. */
typedef struct {
    int64_t code, offset;
    uint32_t number; /* + 1; 0: there is none */
    uint32_t frame;
} place_slot;

/* Places that were met, numbered as they came, and the frames of those that are named: all that a look-up
 * needs lies together. */
typedef struct {
    int64_t *cells; /* code and offset of each */
    uint32_t count, room;
    place_slot *slots;
    uint64_t mask;
} xh_places;

#define NOT_NAMED (UINT32_MAX - 1) /* instead of a frame; FAILED is out of memory */

void xh_places_free(xh_places *p) {
    if (!p) return;
    free(p->cells), free(p->slots), free(p);
}

xh_places *xh_places_new(void) {
    xh_places *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->room = 1u << 10;
    p->mask = mask_for(p->room);
    p->cells = malloc(2ull * p->room * sizeof *p->cells);
    p->slots = calloc(p->mask + 1, sizeof *p->slots);
    if (!p->cells || !p->slots) {
        xh_places_free(p);
        return NULL;
    }
    return p;
}

uint32_t xh_places_count(const xh_places *p) { return p->count; }

/* As if none had been met: who named them can name them again. */
void xh_places_forget(xh_places *p) {
    memset(p->slots, 0, (p->mask + 1) * sizeof *p->slots);
    p->count = 0;
}

/* Code and offset of the places from `begin` on. */
void xh_places_cells(const xh_places *p, uint32_t begin, int64_t *code, int64_t *offset) {
    for (uint32_t i = begin; i < p->count; i++) *code++ = p->cells[2ull * i], *offset++ = p->cells[2ull * i + 1];
}

static place_slot *place_at(const xh_places *p, int64_t code, int64_t offset) {
    uint64_t h = stir((uint64_t)code, (uint64_t)offset, 0xff51afd7ed558ccdu), at = (h ^ (h >> 32)) & p->mask;
    while (p->slots[at].number && (p->slots[at].offset != offset || p->slots[at].code != code))
        at = (at + 1) & p->mask;
    return p->slots + at;
}

/* Frames of the places from `begin` on, as many as there are. */
void xh_places_name(xh_places *p, uint32_t begin, const uint32_t *frame) {
    for (uint32_t i = begin; i < p->count; i++)
        place_at(p, p->cells[2ull * i], p->cells[2ull * i + 1])->frame = *frame++;
}

static int places_grow(xh_places *p) {
    if (p->room > UINT32_MAX / 4) return -1;
    int64_t *cells = realloc(p->cells, 4ull * p->room * sizeof *cells);
    if (!cells) return -1;
    p->cells = cells;
    xh_places larger = {.mask = mask_for(2ull * p->room)};
    larger.slots = calloc(larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (uint64_t i = 0; i <= p->mask; i++)
        if (p->slots[i].number) *place_at(&larger, p->slots[i].code, p->slots[i].offset) = p->slots[i];
    free(p->slots);
    p->slots = larger.slots;
    p->mask = larger.mask;
    p->room *= 2;
    return 0;
}

/* The frame of a place. One that was never met is met now. */
static uint32_t place_frame(xh_places *p, int64_t code, int64_t offset) {
    place_slot *slot = place_at(p, code, offset);
    if (slot->number) return slot->frame;
    if (p->count == p->room) {
        if (places_grow(p) != 0) return FAILED;
        slot = place_at(p, code, offset);
    }
    p->cells[2ull * p->count] = code;
    p->cells[2ull * p->count + 1] = offset;
    *slot = (place_slot){code, offset, ++p->count, NOT_NAMED};
    return NOT_NAMED;
}

/* What is mapped where: rows of all address spaces, in any order. User addresses fit 63 bits. */
typedef struct {
    const int64_t *space, *start, *end;
    const int64_t *offset; /* of its start, in the code that it is of */
    const int64_t *code;   /* -1: of none that has names */
    uint32_t count;
} xh_maps;

/* What is known of code. */
typedef struct {
    xh_places *places;
    int64_t kernel;     /* the kernel as code: its offsets are addresses */
    const int8_t *mode; /* by frame: what it speaks for, -1: nothing */
    /* Nameless frames: of a run of one the first stands for all. */
    uint32_t unknown, unknown_kernel, no_file;
    /* A tree of so many nodes gets no new branches but these, by mode: below them are innermost functions,
     * until it is twice as large. */
    uint32_t most_nodes, others[4];
    uint32_t most_places; /* new ones that come then have to wait until they are forgotten */
} xh_names;

/* Stack i has count[i] words, leaf first, with perf's context markers. */
typedef struct {
    const uint64_t *const *words;
    const int64_t *count;
} xh_chains;

/* Who was where: rows of a process, its address space, and a stack. */
typedef struct {
    const uint32_t *process;
    const int64_t *space, *stack;
    uint64_t count;
} xh_seen;

/* The frame of a word that was met not long ago: the same thousands of words come again and again. */
typedef struct {
    uint64_t address, whose; /* an address space and a kind of code */
    uint32_t frame;
} known_word;

enum { KNOWN_WORDS = 1 << 12 }; /* by their hash, the last one that had it: they fit the second cache */

/* Where a stack has come to in the tree of names. */
typedef struct {
    uint32_t node, frame;
    uint8_t mode; /* what the innermost telling kernel frame up to here says */
} reached;

/* What goes on from stack to stack. */
typedef struct {
    const xh_names *names;
    const xh_maps *maps;
    xh_groups by_space;
    int64_t space; /* of this group: */
    uint32_t group;
    known_word *words;
    uint64_t room;     /* frames of a stack */
    uint32_t *frames;  /* of this one, root first, up to the end of the room */
    reached *way;      /* of the stack before: after so many frames */
    uint64_t gone;     /* how many those are */
    uint32_t process;  /* whose stack it was */
} namer;

static void namer_free(namer *w) {
    xh_groups_free(&w->by_space);
    free(w->words), free(w->frames), free(w->way);
}

static int have_depth(namer *w, uint64_t words) {
    if (words < w->room) return 1;
    words += words / 2 + 64;
    uint32_t *frames = realloc(w->frames, words * sizeof *frames);
    if (frames) w->frames = frames;
    reached *way = realloc(w->way, (words + 1) * sizeof *way);
    if (way) w->way = way;
    if (!frames || !way) return 0;
    w->room = words;
    return 1;
}

/* The frame at an address, unless nobody has named it yet. */
static uint32_t frame_at(namer *w, uint32_t kind, int64_t space, uint64_t address) {
    const xh_maps *maps = w->maps;
    if (kind == KERNEL_CODE) return place_frame(w->names->places, w->names->kernel, (int64_t)address);
    if (space != w->space) {
        w->space = space;
        w->group = xh_group_of(&w->by_space, space);
    }
    if (w->group == FAILED) return w->names->unknown;
    int64_t map = xh_last_of(&w->by_space, w->group, (int64_t)address);
    if (map < 0 || (int64_t)address >= maps->end[map] || maps->code[map] < 0) return w->names->unknown;
    uint64_t offset = address - (uint64_t)maps->start[map] + (uint64_t)maps->offset[map];
    return place_frame(w->names->places, maps->code[map], (int64_t)offset);
}

/* The frames of one stack. */
typedef struct {
    const uint32_t *root; /* the first of them, which others follow */
    uint32_t count;
    uint8_t is_named; /* if not, the places that lack a frame are among the places from now on */
    uint8_t leaf;     /* the kind of its innermost code */
} framed;

/* 0 when out of memory. `words` are leaf first. The first address after a marker is where the code was. The
 * others are return addresses: they may lie behind the end of the function that called, so they are looked
 * up one byte earlier. */
static int frames_of(namer *w, const uint64_t *words, uint64_t n, int64_t space, framed *out) {
    uint32_t *to = w->frames + w->room, kind = NO_KIND;
    uint64_t back = 0;
    *out = (framed){NULL, 0, 1, NO_KIND};
    for (uint64_t i = 0; i < n; i++) {
        if (words[i] >= FIRST_MARKER) {
            kind = words[i] == CONTEXT_USER || words[i] == CONTEXT_GUEST_USER ? USER_CODE : KERNEL_CODE;
            back = 0;
            continue;
        }
        /* No marker yet (some imported chains): the upper half of addresses is the kernel's. */
        uint32_t own = kind ? kind : words[i] >> 63 ? KERNEL_CODE : USER_CODE;
        uint64_t address = words[i] - back;
        back = 1;
        uint64_t whose = own == USER_CODE ? (uint64_t)space << 2 | own : own; /* one kernel for all */
        uint64_t h = stir(whose, address, 0xff51afd7ed558ccdu);
        known_word *word = w->words + ((h ^ (h >> 32)) & (KNOWN_WORDS - 1));
        if (word->address != address || word->whose != whose || word->frame >= NOT_NAMED)
            *word = (known_word){address, whose, frame_at(w, own, space, address)};
        if (word->frame == FAILED) return 0;
        if (word->frame == NOT_NAMED) out->is_named = 0;
        if (out->leaf == NO_KIND) out->leaf = (uint8_t)own;
        *--to = word->frame;
    }
    out->root = to;
    out->count = (uint32_t)(w->frames + w->room - to);
    return 1;
}

/* A node for frames that the tree has no room for, FAILED when out of memory. */
static uint32_t cut_short(const xh_names *names, xh_tree *t, uint32_t top, const framed *stack) {
    uint8_t mode = SYSTEM;
    for (uint32_t i = 0; i < stack->count; i++)
        if (names->mode[stack->root[i]] >= 0) mode = (uint8_t)names->mode[stack->root[i]];
    if (stack->leaf == USER_CODE) mode = USER;
    uint32_t node = tree_child(t, top, names->others[mode]), leaf = stack->root[stack->count - 1];
    if (!node) return FAILED;
    uint32_t below = tree_found(t, node, leaf);
    if (!below && t->count < 2ull * names->most_nodes && !(below = tree_child(t, node, leaf))) return FAILED;
    node = below ? below : node;
    t->modes[node] = mode;
    return node;
}

/* The node where frames lead to below `top`, FAILED when out of memory. */
static uint32_t node_of(namer *w, xh_tree *t, uint32_t process, uint32_t top, const framed *stack) {
    const xh_names *names = w->names;
    uint64_t at = 0, count = stack->count;
    int is_full = t->count >= names->most_nodes;
    if (process == w->process)
        while (at < count && at < w->gone && stack->root[at] == w->way[at + 1].frame) at++;
    w->process = process;
    w->gone = 0; /* until it is there */
    w->way[0] = (reached){top, FAILED, SYSTEM};
    for (; at < count; at++) {
        reached next = w->way[at];
        uint32_t frame = stack->root[at];
        int is_nameless = frame == names->unknown || frame == names->unknown_kernel || frame == names->no_file;
        if (!is_nameless || frame != next.frame) {
            next.node = is_full ? tree_found(t, next.node, frame) : tree_child(t, next.node, frame);
            if (!next.node) return is_full ? cut_short(names, t, top, stack) : FAILED;
        }
        next.frame = frame;
        if (names->mode[frame] >= 0) next.mode = (uint8_t)names->mode[frame];
        w->way[at + 1] = next;
    }
    w->gone = count;
    t->modes[w->way[count].node] = stack->leaf == USER_CODE ? USER : w->way[count].mode;
    return w->way[count].node;
}

static int is_same(const xh_seen *rows, uint64_t a, uint64_t b) {
    return rows->stack[a] == rows->stack[b] && rows->space[a] == rows->space[b] &&
           rows->process[a] == rows->process[b];
}

/* nodes[i]: where the stack of row i ends below the node top[process] of its process; 0, which is the
 * root, where a place of it has no frame yet. Whatever leads to the same names is one node. Equal rows are
 * looked at once. Returns how many rows were: less than all where there are as many places as may be, -1 when
 * out of memory. */
int64_t xh_tree_name(xh_tree *t, const xh_names *names, const xh_maps *maps, const xh_chains *chains,
                 const uint32_t *top, const xh_seen *rows, uint32_t *nodes) {
    enum { BLOCK = 32 };
    namer w = {.names = names, .maps = maps, .space = -1, .process = FAILED};
    uint64_t mask = mask_for(rows->count), slot[BLOCK];
    uint32_t *slots = calloc(mask + 1, sizeof *slots); /* row + 1 */
    w.words = calloc(KNOWN_WORDS, sizeof *w.words); /* of no kind: like no word */
    int is_done = xh_groups_make(&w.by_space, maps->space, maps->start, maps->count) && slots && w.words;
    if (is_done) w.group = xh_group_of(&w.by_space, w.space);
    int is_full = 0;
    uint64_t done = 0;
    for (uint64_t begin = 0; is_done && !is_full && begin < rows->count; begin += BLOCK) {
        uint64_t end = rows->count - begin < BLOCK ? rows->count : begin + BLOCK;
        /* Slots lie anywhere: all of a block are fetched from memory before the first is looked at. */
        for (uint64_t i = begin; i < end; i++) {
            uint64_t h = stir((uint64_t)rows->process[i] << 32 ^ (uint64_t)rows->space[i], 0, 0xff51afd7ed558ccdu);
            h = stir(h, (uint64_t)rows->stack[i], 0xc4ceb9fe1a85ec53u);
            slot[i - begin] = (h ^ (h >> 32)) & mask;
            __builtin_prefetch(slots + slot[i - begin], 1);
        }
        for (uint64_t i = begin; is_done && i < end; i++) {
            is_full = names->places->count >= names->most_places;
            if (is_full) break;
            done = i + 1;
            uint64_t at = slot[i - begin];
            while (slots[at] && !is_same(rows, slots[at] - 1, i)) at = (at + 1) & mask;
            if (slots[at]) {
                nodes[i] = nodes[slots[at] - 1];
                continue;
            }
            slots[at] = (uint32_t)i + 1;
            nodes[i] = 0;
            const uint64_t *words = chains->words[rows->stack[i]];
            uint64_t depth = (uint64_t)chains->count[rows->stack[i]];
            framed stack;
            is_done = have_depth(&w, depth) && frames_of(&w, words, depth, rows->space[i], &stack);
            if (!is_done || !stack.is_named) continue;
            nodes[i] = node_of(&w, t, rows->process[i], top[rows->process[i]], &stack);
            is_done = nodes[i] != FAILED;
        }
    }
    namer_free(&w);
    free(slots);
    return is_done ? (int64_t)done : -1;
}

/* Of stacks, by number, the program's address where the kernel was entered from it and nothing is known of
 * its callers; else 0. */
void xh_lone_user_words(const uint64_t *const *words, const int64_t *count, const int64_t *stacks, uint64_t n,
                        uint64_t *found) {
    enum { AHEAD = 16 }; /* they lie anywhere */
    for (uint64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(words[stacks[i + AHEAD]]);
        const uint64_t *stack = words[stacks[i]];
        int64_t depth = count[stacks[i]];
        int is_lone = depth > 2 && stack[0] == CONTEXT_KERNEL && stack[depth - 2] == CONTEXT_USER;
        found[i] = is_lone ? stack[depth - 1] : 0;
    }
}
