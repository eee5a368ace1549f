/* Stacks of addresses → nodes of the tree of names.
 *
 * A place is an offset in some code: the kernel's, or a mapped file's. However often a program is started,
 * and wherever it lies then, there are some ten thousand of them where there are millions of words, so
 * each is named once. All tables that are looked at for a word are then small enough for the processor's
 * cache, and so is the tree, which grows by names alone.
 */
#include "joins.h"

#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)
#define FIRST_MARKER ((uint64_t)-4095)

enum { NO_KIND = 0, USER_CODE = 1, KERNEL_CODE = 2, KIND = 3, RETURN_ADDRESS = 4 };
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

/* What each word of a stack is (leaf first): NO_KIND for a marker, else one, with a bit for return addresses.
 *
 * The first address after a marker is where the code was. The others are return addresses: they may
 * lie behind the end of the function that called, so they are looked up one byte earlier.
 */
static void word_kinds(const uint64_t *words, uint64_t n, uint8_t *kinds) {
    uint8_t kind = NO_KIND, is_return = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        if (word >= FIRST_MARKER) {
            kind = word == CONTEXT_USER || word == CONTEXT_GUEST_USER ? USER_CODE : KERNEL_CODE;
            is_return = kinds[i] = 0;
            continue;
        }
        /* No marker yet (some imported chains): the upper half of addresses is the kernel's. */
        uint8_t own = kind ? kind : word >> 63 ? KERNEL_CODE : USER_CODE;
        kinds[i] = own | is_return;
        is_return = RETURN_ADDRESS;
    }
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
    xh_rows *places;       /* code and offset */
    const uint32_t *frame; /* of the first `named` of them; the others were met since */
    uint32_t named;
    int64_t kernel;        /* the kernel as code: its offsets are addresses */
    const int8_t *mode;    /* by frame: what it speaks for, -1: nothing */
    uint32_t unknown, unknown_kernel; /* nameless frames: of a run of one the first stands for all */
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

#define NOT_NAMED (UINT32_MAX - 1) /* instead of a frame; FAILED is out of memory */

/* The frame of a word that was met not long ago: a place takes three look-ups, and the same thousands of
 * words come again and again. */
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
    uint64_t room;     /* words of a stack */
    uint8_t *kinds;
    known_word *words;
    uint32_t *frames;  /* of this stack, root first */
    reached *way;      /* of the stack before: after so many frames */
    uint64_t gone;     /* how many those are */
    uint32_t process;  /* whose stack it was */
} namer;

static void namer_free(namer *w) {
    xh_groups_free(&w->by_space);
    free(w->kinds), free(w->words), free(w->frames), free(w->way);
}

static int have_depth(namer *w, uint64_t words) {
    if (words < w->room) return 1;
    words += words / 2 + 64;
    uint8_t *kinds = realloc(w->kinds, words);
    if (kinds) w->kinds = kinds;
    uint32_t *frames = realloc(w->frames, words * sizeof *frames);
    if (frames) w->frames = frames;
    reached *way = realloc(w->way, (words + 1) * sizeof *way);
    if (way) w->way = way;
    if (!kinds || !frames || !way) return 0;
    w->room = words;
    return 1;
}

/* The frame at an address, unless nobody has named it yet. */
static uint32_t frame_at(namer *w, uint32_t kind, int64_t space, uint64_t address) {
    int64_t cells[2] = {w->names->kernel, (int64_t)address};
    if (kind == USER_CODE) {
        if (space != w->space) {
            w->space = space;
            w->group = xh_group_of(&w->by_space, space);
        }
        if (w->group == FAILED) return w->names->unknown;
        int64_t map = xh_last_of(&w->by_space, w->group, (int64_t)address);
        if (map < 0 || (int64_t)address >= w->maps->end[map] || w->maps->code[map] < 0)
            return w->names->unknown;
        cells[0] = w->maps->code[map];
        cells[1] = (int64_t)(address - (uint64_t)w->maps->start[map] + (uint64_t)w->maps->offset[map]);
    }
    uint32_t number = xh_row_number(w->names->places, cells);
    if (number == FAILED) return FAILED;
    return number < w->names->named ? w->names->frame[number] : NOT_NAMED;
}

/* The frames of a stack, root first, to w->frames: how many, FAILED when out of memory. *is_named tells
 * whether they are all known; those that are not are among the places from then on. */
static uint32_t frames_of(namer *w, const uint64_t *words, uint64_t n, int64_t space, int *is_named) {
    uint32_t count = 0;
    *is_named = 1;
    word_kinds(words, n, w->kinds);
    for (uint64_t at = n; at-- > 0;) {
        uint32_t kind = w->kinds[at] & KIND;
        if (!kind) continue;
        uint64_t address = words[at] - (w->kinds[at] & RETURN_ADDRESS ? 1 : 0);
        uint64_t whose = kind == USER_CODE ? (uint64_t)space << 2 | kind : kind; /* one kernel for all */
        uint64_t h = stir(whose, address, 0xff51afd7ed558ccdu);
        known_word *word = w->words + ((h ^ (h >> 32)) & (KNOWN_WORDS - 1));
        if (word->address != address || word->whose != whose || word->frame >= NOT_NAMED)
            *word = (known_word){address, whose, frame_at(w, kind, space, address)};
        if (word->frame == FAILED) return FAILED;
        if (word->frame == NOT_NAMED) *is_named = 0;
        w->frames[count++] = word->frame;
    }
    return count;
}

/* The node where w->frames lead to below `top`, FAILED when out of memory. */
static uint32_t node_of(namer *w, xh_tree *t, uint32_t process, uint32_t top, uint32_t count, int is_user) {
    const xh_names *names = w->names;
    uint64_t at = 0;
    if (process == w->process)
        while (at < count && at < w->gone && w->frames[at] == w->way[at + 1].frame) at++;
    w->process = process;
    w->gone = 0; /* until it is there */
    w->way[0] = (reached){top, FAILED, SYSTEM};
    for (; at < count; at++) {
        reached next = w->way[at];
        uint32_t frame = w->frames[at];
        int is_nameless = frame == names->unknown || frame == names->unknown_kernel;
        if (!is_nameless || frame != next.frame) {
            next.node = tree_child(t, next.node, frame);
            if (!next.node) return FAILED;
        }
        next.frame = frame;
        if (names->mode[frame] >= 0) next.mode = (uint8_t)names->mode[frame];
        w->way[at + 1] = next;
    }
    w->gone = count;
    t->modes[w->way[count].node] = is_user ? USER : w->way[count].mode;
    return w->way[count].node;
}

/* Of the stack whose frames were found last. */
static uint32_t leaf_kind(const namer *w, uint64_t words) {
    uint64_t at = 0;
    while (at < words && !(w->kinds[at] & KIND)) at++;
    return at < words ? w->kinds[at] & KIND : NO_KIND;
}

static int is_same(const xh_seen *rows, uint64_t a, uint64_t b) {
    return rows->stack[a] == rows->stack[b] && rows->space[a] == rows->space[b] &&
           rows->process[a] == rows->process[b];
}

/* nodes[i]: where the stack of row i ends below the node top[process] of its process; 0, which is the
 * root, where a place of it has no frame yet. Whatever leads to the same names is one node. Equal rows are
 * looked at once. 0 when out of memory. */
int xh_tree_name(xh_tree *t, const xh_names *names, const xh_maps *maps, const xh_chains *chains,
                 const uint32_t *top, const xh_seen *rows, uint32_t *nodes) {
    enum { BLOCK = 32 };
    namer w = {.names = names, .maps = maps, .space = -1, .process = FAILED};
    uint64_t mask = mask_for(rows->count), slot[BLOCK];
    uint32_t *slots = calloc(mask + 1, sizeof *slots); /* row + 1 */
    w.words = calloc(KNOWN_WORDS, sizeof *w.words); /* of no kind: like no word */
    int is_done = xh_groups_make(&w.by_space, maps->space, maps->start, maps->count) && slots && w.words;
    if (is_done) w.group = xh_group_of(&w.by_space, w.space);
    for (uint64_t begin = 0; is_done && begin < rows->count; begin += BLOCK) {
        uint64_t end = rows->count - begin < BLOCK ? rows->count : begin + BLOCK;
        /* Slots lie anywhere: all of a block are fetched from memory before the first is looked at. */
        for (uint64_t i = begin; i < end; i++) {
            uint64_t h = stir((uint64_t)rows->process[i] << 32 ^ (uint64_t)rows->space[i], 0, 0xff51afd7ed558ccdu);
            h = stir(h, (uint64_t)rows->stack[i], 0xc4ceb9fe1a85ec53u);
            slot[i - begin] = (h ^ (h >> 32)) & mask;
            __builtin_prefetch(slots + slot[i - begin], 1);
        }
        for (uint64_t i = begin; is_done && i < end; i++) {
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
            int is_named;
            uint32_t count = have_depth(&w, depth) ? frames_of(&w, words, depth, rows->space[i], &is_named) : FAILED;
            is_done = count != FAILED;
            if (!is_done || !is_named) continue;
            nodes[i] = node_of(&w, t, rows->process[i], top[rows->process[i]], count, leaf_kind(&w, depth) == USER_CODE);
            is_done = nodes[i] != FAILED;
        }
    }
    namer_free(&w);
    free(slots);
    return is_done;
}
