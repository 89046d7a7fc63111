/* The profile: calls, time, bytes and operations by source line and operator.
 *
 * Reading the clock takes longer than most instructions.  So it is read before
 * and after each operator, and otherwise once in RECENT instructions; the time
 * in between is shared equally among those that ran:
 *
 *   clock  i i i i i op               i i ...
 *          |<- shared ->|<- the op's ->|
 *
 * A counter stands for one unit of code.  They are found by a direct-mapped
 * cache of KNOWN entries in front of a map, since the same instructions come
 * again and again.  Lines and operators are put together only when the profile
 * is printed.
 *
 * What no memory was left for is counted in `spilled` and not shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/observer.h"

typedef struct Counter {
  const Word *pc;
  uint64_t calls;
  double ns, bytes, flops;
} Counter;

enum { RECENT = 64, KNOWN = 1024 };

struct Profile {
  Mem *mem;
  Arena arena;
  PtrMap counters; /* unit of code -> Counter */
  VEC(Counter *) list;
  struct {
    const Word *pc;
    Counter *counter;
  } known[KNOWN];
  Counter *recent[RECENT], *last; /* instructions since `clock` */
  int recent_count;
  uint64_t clock;
  Counter spilled; /* receives the counts that no memory is left for */
};

Profile *profile_new(Mem *mem) {
  Profile *p = mem_alloc_zeroed(mem, sizeof *p);
  if (!p) return NULL;
  p->mem = mem;
  arena_init(&p->arena, mem);
  ptrmap_init(&p->counters, mem);
  VEC_INIT(&p->list, mem);
  return p;
}

void profile_free(Profile *p) {
  if (!p) return;
  VEC_DONE(&p->list);
  ptrmap_done(&p->counters);
  arena_done(&p->arena);
  mem_free(p->mem, p, sizeof *p);
}

/* --- Counting ----------------------------------------------------------- */

/* From the map, or new. */
static Counter *counter_new(Profile *p, const Word *pc) {
  Counter *c = ptrmap_get(&p->counters, pc);
  if (c) return c;
  c = ARENA_NEW(&p->arena, Counter);
  if (!c) return &p->spilled;
  c->pc = pc;
  ptrmap_put(&p->counters, pc, c);
  VEC_PUSH(&p->list, c);
  return c;
}

/* Units are eight bytes, so the lowest three bits of an address say nothing. */
static Counter *counter_of(Profile *p, const Word *pc) {
  size_t i = ((uintptr_t)pc >> 3) % KNOWN;
  if (p->known[i].pc != pc) {
    p->known[i].counter = counter_new(p, pc);
    p->known[i].pc = pc;
  }
  return p->known[i].counter;
}

/* Shares the time up to `now` among the instructions.  Without a clock from
 * before (at the beginning of a run) the time is not known and counts as 0. */
static void settle(Profile *p, uint64_t now) {
  double share = p->recent_count && p->clock
                     ? (double)(now - p->clock) / p->recent_count
                     : 0;
  for (int i = 0; i < p->recent_count; i++) p->recent[i]->ns += share;
  p->recent_count = 0;
  p->clock = now;
}

/* An operator's own time is measured by profile_op(); here the clock only ends
 * the time of what ran before it. */
void profile_step(Profile *p, const Word *pc) {
  OpShape shape;
  p->last = counter_of(p, pc);
  p->last->calls++;
  bool op = op_shape(pc, &shape);
  if (!op) p->recent[p->recent_count++] = p->last;
  if (op || p->recent_count == RECENT || !p->clock) settle(p, observe_clock());
}

void profile_op(Profile *p, uint64_t start, double bytes, double flops) {
  p->clock = observe_clock();
  p->last->ns += (double)(p->clock - start);
  p->last->bytes += bytes;
  p->last->flops += flops;
}

void profile_pause(Profile *p) {
  settle(p, observe_clock());
  p->clock = 0;
}

/* --- The table ---------------------------------------------------------- */

typedef struct Row {
  const char *file, *name; /* the operator's name; NULL: other code */
  uint32_t line;
  uint64_t calls;
  double ns, bytes, flops;
} Row;

/* An instruction belongs to the line of its place. */
static Row row_of(Session *s, const Counter *c) {
  OpShape shape;
  Row row = {.file = "",
             .calls = c->calls,
             .ns = c->ns,
             .bytes = c->bytes,
             .flops = c->flops};
  Place place =
      sources_place(s->code->program->sources, code_place(s->code, c->pc).span);
  if (place.file) row.file = place.file->path;
  row.line = place.line;
  if (op_shape(c->pc, &shape)) row.name = shape.name;
  return row;
}

static const char *name_of_row(const Row *r) { return r->name ? r->name : ""; }

static int by_place(const void *x, const void *y) {
  const Row *a = x, *b = y;
  int order = strcmp(a->file, b->file);
  if (order) return order;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  return strcmp(name_of_row(a), name_of_row(b));
}

static int by_name(const void *x, const void *y) {
  return strcmp(name_of_row(x), name_of_row(y));
}

static int by_time(const void *x, const void *y) {
  const Row *a = x, *b = y;
  if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
  return by_place(a, b);
}

typedef int (*RowOrder)(const void *a, const void *b);

/* Merges adjacent equal rows and returns how many are left.  Sorts first, so
 * that equal rows are adjacent. */
static size_t merge(Row *rows, size_t n, RowOrder order) {
  size_t kept = 0;
  qsort(rows, n, sizeof *rows, order);
  for (size_t i = 0; i < n; i++) {
    if (kept && !order(&rows[kept - 1], &rows[i])) {
      Row *to = &rows[kept - 1];
      to->calls += rows[i].calls;
      to->ns += rows[i].ns;
      to->bytes += rows[i].bytes;
      to->flops += rows[i].flops;
    } else {
      rows[kept++] = rows[i];
    }
  }
  return kept;
}

/* Operations per ns are billions per second; a dash if there are none. */
static void add_rate(StrBuf *out, double amount, double ns) {
  if (amount > 0 && ns > 0) strbuf_addf(out, " %8.2f", amount / ns);
  else strbuf_add(out, "        -");
}

static void add_row(StrBuf *out, const Row *r, double total, bool place) {
  strbuf_addf(out, "%12.3f %5.1f %12llu %12.0f", r->ns * 1e-6,
              total > 0 ? 100 * r->ns / total : 0, (unsigned long long)r->calls,
              r->bytes);
  add_rate(out, r->flops, r->ns);
  add_rate(out, r->bytes, r->ns);
  strbuf_addf(out, "  %s", r->name ? r->name : "(other code)");
  if (place && r->line) strbuf_addf(out, "  %s:%u", r->file, r->line);
  strbuf_add_char(out, '\n');
}

static void add_table(StrBuf *out, const char *title, Row *rows, size_t n,
                      bool place) {
  double total = 0;
  for (size_t i = 0; i < n; i++) total += rows[i].ns;
  qsort(rows, n, sizeof *rows, by_time);
  strbuf_addf(out, "%s\n%12s %5s %12s %12s %8s %8s\n", title, "ms", "%",
              "calls", "bytes", "GFLOP/s", "GB/s");
  for (size_t i = 0; i < n; i++) add_row(out, &rows[i], total, place);
}

/* The second table is made from the rows of the first. */
void profile_print(Session *s, Profile *p, StrBuf *out) {
  VEC(Row) rows;
  VEC_INIT(&rows, p->mem);
  for (size_t i = 0; i < p->list.len; i++)
    VEC_PUSH(&rows, row_of(s, p->list.data[i]));
  if (rows.len) {
    size_t n = merge(rows.data, rows.len, by_place);
    add_table(out, "by line", rows.data, n, true);
    n = merge(rows.data, n, by_name);
    add_table(out, "by operator", rows.data, n, false);
  }
  VEC_DONE(&rows);
}
