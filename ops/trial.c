/* Runs a rule before the values of all attributes, or the ranks of all
 * operands, are known, for the checker.
 *
 * Such a value is DIM_ANY in the call's record, and the rules want numbers.  So
 * the rule is run for one value after the other, and the results are joined:
 *
 *   concatenate((x, y), axis=%k)    x, y : (2, 3)
 *
 *   axis 0     (4, 3)
 *   axis 1     (2, 6)
 *   axis 2     an error: the run reports it if it comes to that
 *   joined     (?, ?)
 *
 * Values that the rule refuses tell nothing.  If it refuses all, its first
 * answer stands, for then the mistake most likely lies elsewhere in the call.
 *
 * The values that are tried are the small numbers, which are all axes and the
 * usual widths, and the lengths of the operands.  All their combinations are
 * tried where these are few.  Else the trials start from one combination that
 * the rule takes, most often the row's defaults, and change one number, or all
 * of one list, at a time.  The machine checks results against the joined type
 * (vm_op.c), so a shape that no trial came upon is refused by the run.
 *
 * A list that is one expression may be of unknown length.  Where the rule has
 * to know it, lengths up to the highest rank are tried.
 *
 * An operand of unknown rank, Tensor[?, t], is tried with each rank, and with
 * dimensions that are all `?`.  Where results differ in rank, whether for that
 * or for an attribute, theirs is unknown, too:
 *
 *   sum(x, keepdims=%b)     x : (2, 3)             Tensor[?, t]
 *   reshape(x, newshape=%v) %v : (?)               Tensor[?, t]
 *   x + y                   x : Tensor[?, t]       Tensor[?, t]
 *   shape_of(x)                                    Tensor[(?), int64] */
#include <string.h>

#include "ops/rules/support.h"

enum {
  SMALL = RANK_MAX + 1, /* 0 to RANK_MAX: every axis of every rank */
  OTHERS = 7,           /* (list_values) */
  LENGTHS = 12,         /* of the operands' dimensions */
  VALUES = SMALL + OTHERS + LENGTHS,
  ALL = 1 << 9,    /* combinations, if all are tried */
  PAIRS = 1 << 10, /* trials that change two attributes */
};

enum { DEFAULT = -1 }; /* the choice of no value */

/* A number that is not known, with the place in the record where it stands. */
typedef struct Unknown {
  Dim *integer; /* one of these two */
  double *real;
  int count;  /* how many values are tried: two of a bool */
  int choice; /* which of them it is now */
  int attr;
  int turn;      /* its number in its list */
  unsigned free; /* bits: axes that its list does not name */
} Unknown;

/* An attribute with unknown numbers. */
typedef struct Open {
  int index;        /* in the row */
  AttrValue value;  /* whose unknown numbers are set */
  AttrValue absent; /* what the call has without it */
  int first, end;   /* its unknowns */
} Open;

typedef struct Trial {
  RuleCall *call;
  Attrs *attrs; /* that are tried */
  VEC(Unknown) unknowns;
  Open open[ATTRS_MAX];
  int open_count;
  Dim values[VALUES];
  int count, runs;
  int changed; /* the open attribute that was changed last */
  /* What has been found: */
  bool any;      /* values that the rule takes */
  bool partial;  /* they leave out an attribute that the call has */
  RuleCall good; /* the joined answer */
  RuleCall bad;  /* the first error */
  bool refused, waits, splits;
} Trial;

/* --- What is unknown ------------------------------------------------------ */

static void add_unknown(Trial *t, Unknown u) {
  if (u.count == 0) u.count = t->count;
  u.attr = t->open_count;
  VEC_PUSH(&t->unknowns, u);
}

/* The items of a list, in a copy. */
static void add_ints(Trial *t, AttrValue *v) {
  if (v->count <= 0) return;
  Dim *ints =
      arena_copy(t->call->arena, v->ints, (size_t)v->count * sizeof *ints);
  unsigned free = (1u << (v->count < SMALL ? v->count : SMALL)) - 1;
  v->ints = ints;
  for (int i = 0; ints && i < v->count; i++)
    for (int axis = 0; axis < SMALL; axis++)
      if (dim_is(ints[i], axis)) free &= ~(1u << axis);
  for (int i = 0, turn = 0; ints && i < v->count; i++)
    if (!dim_is_number(ints[i]))
      add_unknown(t,
                  (Unknown){.integer = &ints[i], .turn = turn++, .free = free});
}

static void add_lists(Trial *t, AttrValue *v) {
  if (v->count <= 0) return;
  AttrValue *lists =
      arena_copy(t->call->arena, v->lists, (size_t)v->count * sizeof *lists);
  v->lists = lists;
  for (int i = 0; lists && i < v->count; i++) add_ints(t, &lists[i]);
}

static void add_reals(Trial *t, AttrValue *v) {
  if (v->count <= 0) return;
  double *reals = ARENA_ARRAY(t->call->arena, double, (size_t)v->count);
  v->reals = reals;
  for (int i = 0; reals && i < v->count; i++)
    add_unknown(t, (Unknown){.real = &reals[i]});
}

static void add_attr(Trial *t, int i, const AttrValue *absent) {
  const AttrSpec *spec = &t->call->op->attrs[i];
  Open *open = &t->open[t->open_count];
  *open = (Open){.index = i,
                 .value = t->attrs->values[i],
                 .absent = *absent,
                 .first = (int)t->unknowns.len};
  AttrValue *v = &open->value;
  if (v->operand < 0 || spec->symbolic) return;
  open->absent.operand = v->operand;
  if (v->count == COUNT_UNKNOWN) {
    t->splits = true;
    rule_error(&t->good, E0111, v->operand,
               "the length of `%s` is not known before the program runs",
               attr_name_text(spec->name));
  } else if (v->count != COUNT_SCALAR) {
    if (spec->type == AT_LISTS) add_lists(t, v);
    else if (spec->type == AT_FLOATS) add_reals(t, v);
    else add_ints(t, v);
  } else if (spec->type == AT_FLOAT) {
    add_unknown(t, (Unknown){.real = &v->real});
  } else if (!dim_is_number(v->integer)) {
    int count = spec->type == AT_BOOL ? 2 : 0;
    add_unknown(t, (Unknown){.integer = &v->integer, .count = count});
  }
  open->end = (int)t->unknowns.len;
  if (open->end > open->first) t->open_count++;
}

/* --- One trial ------------------------------------------------------------ */

/* Writes the choices into the record.  An attribute none of whose numbers has
 * been chosen is absent; a number without a choice beside others is as in the
 * default, or 1.  1 for a real number stands before 0, which divides nothing.
 */
static void set(Trial *t) {
  for (int i = 0; i < t->open_count; i++) {
    Open *open = &t->open[i];
    bool chosen = t->call->op->attrs[open->index].required;
    const AttrValue *absent = &open->absent;
    for (int k = open->first; k < open->end; k++) {
      const Unknown *u = &t->unknowns.data[k];
      int v = u->choice;
      chosen |= v != DEFAULT;
      if (u->integer)
        *u->integer = v != DEFAULT                        ? t->values[v]
                      : absent->count > 0 && absent->ints ? absent->ints[0]
                                                          : dim_of(1);
      else *u->real = v == DEFAULT ? 1 : (double)((v + 1) % t->count);
    }
    t->attrs->values[open->index] = chosen ? open->value : *absent;
  }
}

/* None is no value of an attribute that the call has: an answer for it serves
 * to find values of the others, and stands only if there is no better one. */
static bool leaves_out(const Trial *t) {
  for (int i = 0; i < t->open_count; i++)
    if (t->attrs->values[t->open[i].index].state == AV_NONE) return true;
  return false;
}

/* False where the types differ in more than shapes. */
static bool join(RuleType *all, const RuleType *one) {
  if (all->kind != one->kind || all->dtype != one->dtype ||
      all->count != one->count)
    return false;
  if (all->kind == RT_TENSOR && all->rank != one->rank) all->rank = RANK_ANY;
  for (int i = 0; i < all->rank; i++) {
    bool clash = false;
    Dim d = dim_join(all->dims[i], one->dims[i], &clash);
    all->dims[i] = clash ? DIM_ANY : d;
  }
  for (int i = 0; all->kind == RT_TUPLE && i < all->count; i++)
    if (!join(&all->fields[i], &one->fields[i])) return false;
  all->value = NULL;
  return true;
}

/* What cannot be told before the program runs, since the attribute decides. */
static const char *what_differs(const RuleType *a, const RuleType *b) {
  if (a->kind != b->kind || a->count != b->count)
    return "how many results there are";
  return "the type of the result";
}

/* The operands that a rule fills in are joined, too: a weight's shape may
 * depend on the value.  Sets `*keeps` where what the rule allocated is needed
 * after the trial. */
static bool learn(Trial *t, bool *keeps) {
  RuleCall one = *t->call;
  set(t);
  t->runs++;
  size_t size = (size_t)one.count * sizeof *one.args;
  one.attrs = t->attrs;
  one.args = arena_copy(one.arena, t->call->args, size);
  if (!one.args) return false;
  RuleStatus status = rule_run(&one);
  t->waits |= status == RULE_WAIT;
  if (status == RULE_ERROR && !t->refused) {
    *keeps = t->refused = true;
    t->bad = one;
  }
  if (status != RULE_OK) return false;
  bool partial = leaves_out(t);
  if (t->any && partial && !t->partial) return true;
  if (!t->any || partial != t->partial) {
    *keeps = t->any = true;
    t->partial = partial;
    t->good = one;
    return true;
  }
  if (!one.warning) t->good.warning = NULL;
  RuleType before = t->good.result;
  if (!join(&t->good.result, &one.result)) {
    const Open *open = &t->open[t->changed];
    *keeps = t->splits = true;
    rule_error(&t->good, E0111, open->value.operand,
               "`%s` decides %s, and is not known before the program runs",
               attr_name_text(t->call->op->attrs[open->index].name),
               what_differs(&before, &one.result));
    return false;
  }
  for (int i = 0; i < one.count; i++)
    if (!join(&t->good.args[i], &one.args[i]))
      t->good.args[i] = t->call->args[i];
  return true;
}

/* One trial, which releases what it allocated unless that is needed.  False
 * where the rule refuses the choices. */
static bool try_once(Trial *t) {
  Arena *arena = t->call->arena;
  ArenaMark before = arena_mark(arena);
  bool keeps = false, takes = learn(t, &keeps);
  if (!keeps) arena_release(arena, before);
  return takes;
}

/* Must the check end?  It is told so by one flag, when memory or its time has
 * run out (lib/program.c).  The trials of some calls take seconds. */
static bool check_ends(const RuleCall *c) {
  return mem_exhausted(c->arena->mem);
}

/* Nothing more is to be learnt. */
static bool is_settled(const Trial *t) {
  return t->waits || t->splits || check_ends(t->call);
}

/* --- Which values are tried ----------------------------------------------- */

static void add_lengths(Trial *t, const RuleType *type) {
  for (int i = 0; i < type->rank && t->count < VALUES; i++) {
    bool found = !dim_is_number(type->dims[i]);
    for (int k = 0; k < t->count; k++)
      found |= dim_same(t->values[k], type->dims[i]);
    if (!found) t->values[t->count++] = type->dims[i];
  }
}

/* -1 is the last axis, and a length that follows from the others; -2 to -4 are
 * what `reshape` knows besides, and diagonals; 16, 32 and 64 are usual numbers
 * of channels and groups. */
static void list_values(Trial *t) {
  static const int others[OTHERS] = {-1, -2, -3, -4, 16, 32, 64};
  for (int i = 0; i < SMALL; i++) t->values[t->count++] = dim_of(i);
  for (int i = 0; i < OTHERS; i++) t->values[t->count++] = dim_of(others[i]);
  for (int i = 0; i < t->call->count; i++) {
    const RuleType *type = &t->call->args[i];
    if (type->kind == RT_TENSOR) add_lengths(t, type);
    for (int k = 0; type->kind == RT_TUPLE && k < type->count; k++)
      if (type->fields[k].kind == RT_TENSOR) add_lengths(t, &type->fields[k]);
  }
}

/* Counts in digits: digit i is the value of unknown i. */
static void try_all(Trial *t, int combinations) {
  for (int n = 0; n < combinations && !is_settled(t); n++) {
    int rest = n;
    for (size_t i = 0; i < t->unknowns.len; i++) {
      Unknown *u = &t->unknowns.data[i];
      u->choice = rest % u->count;
      if (u->choice) t->changed = u->attr;
      rest /= u->count;
    }
    try_once(t);
  }
}

/* The k-th of the axes in `free`, counted in a circle. */
static int free_axis(unsigned free, int k) {
  for (k %= __builtin_popcount(free); k > 0; k--) free &= free - 1;
  return __builtin_ctz(free);
}

/* The ways to change all numbers of one attribute: to a value that is the same
 * for all, or to different axes, turned. */
static int ways(const Trial *t) { return t->count + SMALL; }

static void change(Trial *t, int attr, int way) {
  t->changed = attr;
  for (int i = t->open[attr].first; i < t->open[attr].end; i++) {
    Unknown *u = &t->unknowns.data[i];
    int turn = way - t->count;
    if (turn < 0) u->choice = way % u->count;
    else if (u->free) u->choice = free_axis(u->free, u->turn + turn);
    else u->choice = (u->turn + turn) % u->count;
  }
}

static void restore(Trial *t, int attr) {
  for (int i = t->open[attr].first; i < t->open[attr].end; i++)
    t->unknowns.data[i].choice = DEFAULT;
}

/* Finds choices that the rule takes and leaves them: the defaults, or one
 * attribute or two changed. */
static bool find_start(Trial *t) {
  for (size_t i = 0; i < t->unknowns.len; i++)
    t->unknowns.data[i].choice = DEFAULT;
  if (try_once(t)) return true;
  for (int a = 0; a < t->open_count; a++, restore(t, a - 1))
    for (int way = 0; way < ways(t) && !is_settled(t); way++) {
      change(t, a, way);
      if (try_once(t)) return true;
    }
  int most = t->runs + PAIRS;
  for (int a = 0; a < t->open_count; a++, restore(t, a - 1))
    for (int b = 0; b < a; b++, restore(t, b - 1))
      for (int n = 0; n < ways(t) * t->count && t->runs < most; n++) {
        if (is_settled(t)) return false;
        change(t, a, n / t->count);
        change(t, b, n % t->count);
        if (try_once(t)) return true;
      }
  return false;
}

/* Gives values to the attributes that the start leaves out, where the rule
 * takes some. */
static void complete_start(Trial *t) {
  for (int a = 0; a < t->open_count; a++) {
    set(t);
    if (t->attrs->values[t->open[a].index].state != AV_NONE) continue;
    bool taken = false;
    for (int way = 0; way < ways(t) && !taken && !is_settled(t); way++) {
      change(t, a, way);
      taken = try_once(t);
    }
    if (!taken) restore(t, a);
  }
}

/* From the start, each attribute and each number is changed on its own. */
static void try_some(Trial *t) {
  if (!find_start(t)) return;
  complete_start(t);
  size_t n = t->unknowns.len;
  int *start = ARENA_ARRAY(t->call->arena, int, n);
  if (!start) return;
  for (size_t i = 0; i < n; i++) start[i] = t->unknowns.data[i].choice;
  for (int a = 0; a < t->open_count; a++) {
    for (int way = 0; way < ways(t) && !is_settled(t); way++) {
      change(t, a, way);
      try_once(t);
    }
    for (int i = t->open[a].first; i < t->open[a].end; i++)
      t->unknowns.data[i].choice = start[i];
  }
  for (size_t i = 0; i < n && i < ALL / SMALL; i++) {
    Unknown *u = &t->unknowns.data[i];
    t->changed = u->attr;
    for (int v = 0; v < u->count && !is_settled(t); v++) {
      u->choice = v;
      try_once(t);
    }
    u->choice = start[i];
  }
}

/* The number of combinations; beyond ALL any larger one. */
static int combinations(const Trial *t) {
  int n = 1;
  for (size_t i = 0; i < t->unknowns.len && n <= ALL; i++)
    n *= t->unknowns.data[i].count;
  return n;
}

/* With operands whose ranks are known. */
static RuleStatus try_values(RuleCall *c) {
  if (!attrs_have_operands(c->attrs)) return rule_run(c);
  Trial t = {.call = c, .good = *c};
  t.attrs = attrs_shared(c->arena, c->op, c->attrs);
  VEC_INIT(&t.unknowns, c->arena->mem);
  list_values(&t);
  const Attrs *absent = attrs_new(c->arena, c->op);
  for (int i = 0; i < c->op->attr_count; i++)
    add_attr(&t, i, &absent->values[i]);
  int all = combinations(&t);
  RuleStatus status;
  if (t.open_count == 0 && !t.splits) {
    status = rule_run(c);
  } else {
    if (all <= ALL) try_all(&t, all);
    else try_some(&t);
    const Attrs *written = c->attrs;
    status = t.splits              ? RULE_ERROR
             : t.waits             ? RULE_WAIT
             : t.any || !t.refused ? RULE_OK
                                   : RULE_ERROR;
    *c = status == RULE_ERROR && !t.splits ? t.bad : t.good;
    c->attrs = written;
  }
  VEC_DONE(&t.unknowns);
  return status;
}

/* --- Lengths -------------------------------------------------------------- */

enum { LENGTHS_TRIED = RANK_MAX + 1, LENGTH_PAIRS = 2 };

static bool lacks_length(const AttrValue *v) {
  return v->operand >= 0 && v->count == COUNT_UNKNOWN;
}

/* Each row of a list of lists is a pair, as that of a border is. */
static void set_length(RuleCall *c, const AttrSpec *spec, int n, AttrValue *v) {
  Dim *ints = ARENA_ARRAY(c->arena, Dim, (size_t)n + 2);
  AttrValue *lists = ARENA_ARRAY(c->arena, AttrValue, (size_t)n + 1);
  double *reals = ARENA_ARRAY(c->arena, double, (size_t)n + 1);
  if (!ints || !lists || !reals) return;
  for (int i = 0; i < n + 2; i++) ints[i] = DIM_ANY;
  for (int i = 0; i < n; i++) {
    lists[i] =
        (AttrValue){.state = AV_SET, .operand = -1, .count = 2, .ints = ints};
    reals[i] = 0;
  }
  v->count = n;
  if (spec->type == AT_LISTS) v->lists = lists;
  else if (spec->type == AT_FLOATS) v->reals = reals;
  else v->ints = ints;
}

/* Of two lists every pair of lengths is tried, of more the same for all.  1
 * goes first, so that a mistake of another kind is told of a plain call. */
static void set_lengths(RuleCall *c, Attrs *attrs, int n) {
  for (int i = 0, open = 0; i < c->op->attr_count; i++) {
    AttrValue *v = &attrs->values[i];
    if (!lacks_length(v)) continue;
    int turn = open++ == 0 ? n % LENGTHS_TRIED : n / LENGTHS_TRIED;
    set_length(c, &c->op->attrs[i], (turn + 1) % LENGTHS_TRIED, v);
  }
}

/* The joined answer stands in `c`. */
static RuleStatus each_length(RuleCall *c, int open) {
  RuleCall good = *c, bad = *c;
  bool any = false, refused = false;
  int trials =
      open == LENGTH_PAIRS ? LENGTHS_TRIED * LENGTHS_TRIED : LENGTHS_TRIED;
  for (int n = 0; n < trials; n++) {
    RuleCall one = *c;
    Attrs *attrs = attrs_shared(c->arena, c->op, c->attrs);
    if (!attrs || check_ends(c)) return RULE_WAIT;
    set_lengths(c, attrs, open > LENGTH_PAIRS ? n * (LENGTHS_TRIED + 1) : n);
    one.attrs = attrs;
    one.args =
        arena_copy(c->arena, c->args, (size_t)c->count * sizeof *c->args);
    if (!one.args) return RULE_WAIT;
    RuleStatus status = try_values(&one);
    if (status == RULE_WAIT) return RULE_WAIT;
    if (status == RULE_ERROR && !refused) bad = one;
    refused |= status == RULE_ERROR;
    if (status == RULE_ERROR) continue;
    if (any && !join(&good.result, &one.result))
      return rule_error(c, E0111, -1,
                        "the length of a list decides how many results there "
                        "are, and is not known before the program runs");
    if (!any) good = one;
    any = true;
  }
  const Attrs *written = c->attrs;
  *c = any ? good : bad;
  c->attrs = written;
  return any ? RULE_OK : RULE_ERROR;
}

/* Rules such as that of slices answer without the length. */
static RuleStatus try_lengths(RuleCall *c) {
  int open = 0;
  bool holes = false;
  for (int i = 0; i < c->op->attr_count; i++) {
    const AttrValue *v = &c->attrs->values[i];
    if (!lacks_length(v)) continue;
    const RuleType *t = &c->args[v->operand];
    open++;
    for (int k = 0; k < t->rank; k++) holes |= dim_is_hole(t->dims[k]);
  }
  if (!open) return try_values(c);
  RuleCall plain = *c;
  RuleStatus status = try_values(&plain);
  if (status != RULE_ERROR) {
    *c = plain;
    return status;
  }
  return holes ? RULE_WAIT : each_length(c, open);
}

/* --- Ranks ---------------------------------------------------------------- */

enum { RANKS = RANK_MAX + 1, APART_MOST = 8 };

typedef VEC(RuleType *) Unranked;

/* Fields are copied, since their ranks are set. */
static void find_unranked(Arena *a, RuleType *t, Unranked *out) {
  if (t->kind == RT_TENSOR && t->rank == RANK_ANY) VEC_PUSH(out, t);
  if (t->kind != RT_TUPLE) return;
  t->fields = arena_copy(a, t->fields, (size_t)t->count * sizeof *t->fields);
  for (int i = 0; t->fields && i < t->count; i++)
    find_unranked(a, &t->fields[i], out);
}

static bool is_unranked(const RuleType *t) {
  for (int i = 0; t->kind == RT_TUPLE && i < t->count; i++)
    if (is_unranked(&t->fields[i])) return true;
  return t->kind == RT_TENSOR && t->rank == RANK_ANY;
}

static void set_rank(RuleType *t, int rank) {
  t->rank = rank;
  for (int i = 0; i < rank; i++) t->dims[i] = DIM_ANY;
}

/* How many operands take turns to have another rank than the rest: of two that
 * is every pair of ranks, of three such as data, scale and bias what rules ask
 * for.  Many operands, such as those of concatenate, have one rank. */
static int turns(const RuleCall *c, const Unranked *u) {
  size_t most = attrs_have_operands(c->attrs) ? 2 : APART_MOST;
  if (u->len == 1 || u->len > most) return 0;
  return u->len == 2 ? 1 : (int)u->len;
}

static void set_ranks(const Unranked *u, int n, bool apart) {
  for (size_t i = 0; i < u->len; i++) set_rank(u->data[i], n % RANKS);
  if (apart) set_rank(u->data[n / (RANKS * RANKS)], n / RANKS % RANKS);
}

/* The joined answer stands in `c`; the ranks that the rule refuses tell
 * nothing, unless it refuses all: then the answer for the highest stands. */
static RuleStatus try_ranks(RuleCall *c, const Unranked *u, RuleType *args) {
  RuleCall good = *c, bad = *c;
  const RuleType *written = c->args;
  size_t size = (size_t)c->count * sizeof *c->args;
  bool any = false;
  int apart = turns(c, u);
  int trials = apart ? RANKS * RANKS * apart : RANKS;
  for (int n = 0; n < trials; n++) {
    RuleCall one = *c;
    set_ranks(u, n, apart);
    one.args = arena_copy(c->arena, args, size);
    if (!one.args || check_ends(c)) return RULE_WAIT;
    RuleStatus status = try_lengths(&one);
    if (status == RULE_WAIT) return RULE_WAIT;
    if (status == RULE_ERROR) {
      bad = one;
    } else if (!any) {
      any = true;
      good = one;
    } else if (!join(&good.result, &one.result)) {
      return rule_error(c, E0111, -1,
                        "the ranks of its operands decide how many results "
                        "there are, and are not known before the program runs");
    } else {
      if (!one.warning) good.warning = NULL;
      for (int i = 0; i < c->count; i++)
        if (!join(&good.args[i], &one.args[i])) good.args[i] = written[i];
    }
  }
  *c = any ? good : bad;
  return any ? RULE_OK : RULE_ERROR;
}

RuleStatus rule_try(RuleCall *c) {
  bool unranked = false;
  for (int i = 0; i < c->count && !unranked; i++) {
    const RuleType *t = &c->args[i];
    unranked = t->rank == RANK_ANY || (t->kind == RT_TUPLE && is_unranked(t));
  }
  if (!unranked) return try_lengths(c);
  RuleType *args =
      arena_copy(c->arena, c->args, (size_t)c->count * sizeof *c->args);
  if (!args) return RULE_WAIT;
  Unranked u;
  VEC_INIT(&u, c->arena->mem);
  for (int i = 0; i < c->count; i++) find_unranked(c->arena, &args[i], &u);
  RuleStatus status = try_ranks(c, &u, args);
  VEC_DONE(&u);
  return status;
}
