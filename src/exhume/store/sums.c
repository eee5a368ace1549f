/* Roll-ups of samples in one pass: numpy takes one for each step, five times as long altogether.
 *
 * Samples come in (core, time) order, a piece at a time. The caller owns every buffer. A number of a thread
 * or of a node may come from a damaged file: one that is too large ends the call.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { ABI = 1, SECOND_NS = 1000000000 };
#define MINUTE_NS (60 * (int64_t)SECOND_NS)
#define FAILED UINT64_MAX

int xr_abi(void) { return ABI; }

typedef struct {
    uint64_t n;
    const int64_t *time;
    const uint16_t *core;
    const int32_t *thread, *stack;
} xr_samples;

/* What a sample stands for, in nanoseconds: one by one, or `one` for all where `each` is NULL. */
typedef struct {
    const int64_t *each;
    int64_t one;
} xr_weights;

typedef struct {
    int32_t *second;
    uint16_t *core;
    int32_t *process;
    uint16_t *user, *system;
    uint32_t *weight_us;
} xr_rows;

typedef struct {
    uint64_t user, system;
    int64_t weight;
} sums;

/* The processes of the (core, second) that samples come from now. */
typedef struct {
    sums *of; /* by process */
    int32_t *seen;
    uint64_t n_seen, n_processes;
    int64_t second;
    uint16_t core;
} xr_seconds;

void xr_seconds_free(xr_seconds *s) {
    if (s) {
        free(s->of);
        free(s->seen);
    }
    free(s);
}

xr_seconds *xr_seconds_new(uint64_t processes) {
    xr_seconds *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->n_processes = processes;
    s->of = calloc(processes ? processes : 1, sizeof *s->of);
    s->seen = calloc(processes ? processes : 1, sizeof *s->seen);
    if (s->of && s->seen) return s;
    xr_seconds_free(s);
    return NULL;
}

/* How many rows it takes to close what is open. */
uint64_t xr_seconds_open(const xr_seconds *s) { return s->n_seen; }

static int by_number(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static uint16_t at_most_16_bits(uint64_t count) { return count < UINT16_MAX ? (uint16_t)count : UINT16_MAX; }

/* A row for each process of the open second, behind `at` others; returns how many there are then. */
uint64_t xr_seconds_close(xr_seconds *s, const xr_rows *out, uint64_t at) {
    qsort(s->seen, s->n_seen, sizeof *s->seen, by_number);
    for (uint64_t i = 0; i < s->n_seen; i++, at++) {
        sums *of = s->of + s->seen[i];
        out->second[at] = (int32_t)s->second;
        out->core[at] = s->core;
        out->process[at] = s->seen[i];
        out->user[at] = at_most_16_bits(of->user);
        out->system[at] = at_most_16_bits(of->system);
        out->weight_us[at] = (uint32_t)(int64_t)rint((double)of->weight / 1000);
        *of = (sums){0};
    }
    s->n_seen = 0;
    return at;
}

/* Returns how many rows were closed, for which there is room: one a sample, and those that were open. */
uint64_t xr_seconds_add(xr_seconds *s, const xr_samples *samples, int64_t start_ns, const int32_t *process_of,
                        uint64_t n_threads, const uint8_t *mode, uint64_t n_nodes, const xr_weights *weights,
                        const xr_rows *out) {
    uint64_t rows = 0;
    int64_t begin = 0, end = 0; /* of the second: dividing each time would take longer than all else */
    for (uint64_t i = 0; i < samples->n; i++) {
        uint32_t thread = (uint32_t)samples->thread[i], stack = (uint32_t)samples->stack[i];
        if (thread >= n_threads || stack >= n_nodes) return FAILED;
        uint32_t process = (uint32_t)process_of[thread];
        if (process >= s->n_processes) return FAILED;
        int64_t time = samples->time[i];
        if (time < begin || time >= end || samples->core[i] != s->core || !s->n_seen) {
            int64_t second = time > start_ns ? (time - start_ns) / SECOND_NS : 0;
            if (second != s->second || samples->core[i] != s->core) rows = xr_seconds_close(s, out, rows);
            s->second = second;
            s->core = samples->core[i];
            begin = start_ns + second * SECOND_NS;
            end = begin + SECOND_NS;
        }
        sums *of = s->of + process;
        if (!of->user && !of->system) s->seen[s->n_seen++] = (int32_t)process;
        if (mode[stack]) of->system++;
        else of->user++;
        of->weight += weights->each ? weights->each[i] : weights->one;
    }
    return rows;
}

/* Counts by minute and node, all minutes one after the other; only of samples with that weight. */
uint64_t xr_minutes_add(const xr_samples *samples, int64_t start_ns, uint64_t minutes, uint64_t n_nodes,
                        const xr_weights *weights, uint32_t *counts) {
    int64_t last = (int64_t)minutes - 1, begin = 0, end = 0;
    uint32_t *here = counts;
    for (uint64_t i = 0; i < samples->n; i++) {
        int64_t time = samples->time[i];
        uint32_t stack = (uint32_t)samples->stack[i];
        if (stack >= n_nodes) return FAILED;
        if (weights->each && weights->each[i] != weights->one) continue;
        if (time < begin || time >= end) {
            int64_t minute = time > start_ns ? (time - start_ns) / MINUTE_NS : 0;
            begin = start_ns + minute * MINUTE_NS;
            end = begin + MINUTE_NS;
            here = counts + (uint64_t)(minute < last ? minute : last) * n_nodes;
        }
        here[stack]++;
    }
    return 0;
}

/* Counts by place and mode of the samples from `from` up to `to`, all of one core. There is a place before
 * each of `edges`, and one behind the last; `cell`: where in the counts it begins. */
uint64_t xr_places_add(const xr_samples *samples, uint64_t from, uint64_t to, const int64_t *edges,
                       uint64_t n_edges, const int64_t *cell, const uint8_t *mode, uint64_t n_nodes,
                       uint32_t *counts) {
    uint64_t place = 0;
    for (uint64_t i = from; i < to; i++) {
        uint32_t stack = (uint32_t)samples->stack[i];
        if (stack >= n_nodes) return FAILED;
        while (place < n_edges && samples->time[i] >= edges[place]) place++;
        counts[cell[place] + (mode[stack] & 3)]++; /* there are four */
    }
    return 0;
}
