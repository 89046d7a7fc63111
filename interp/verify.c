/* Soundness of code: one walk along all paths at once, a place where paths
 * meet after the last of them has arrived.  The rules stand in verify.h. */
#include "interp/verify.h"

#include <string.h>

/* --- What is known of a register ---------------------------------------- */

typedef enum SlotKind {
  UNSET, /* nothing that may be read */
  BITS,
  NOTHING, /* null where a counted value belongs */
  VIEW,    /* of what another register, or the caller, holds */
  OWNED,
} SlotKind;

typedef struct Slot {
  uint8_t kind;
  bool maybe;     /* it may be null all the same */
  uint16_t refs;  /* references that it holds; of a view, those kept */
  uint32_t born;  /* which value this is */
  uint32_t owner; /* VIEW: 1 + the register that it is of; 0: the caller's */
  uint32_t since; /* the owner's `born` */
} Slot;

/* What a view was of when it was set.  Its register may have another value
 * since, and what was read through it still be there. */
typedef struct Origin {
  uint32_t owner, since;
} Origin;

typedef struct State {
  uint32_t refs; /* of all registers */
  Slot slots[];
} State;

enum { START = 1, REACHED = 2 };

typedef struct Verify {
  const Listing *l;
  Mem mem;             /* its own, so that nobody's figures change */
  uint8_t *marks;      /* by unit, like the next two */
  uint32_t *edges;     /* paths that have yet to arrive */
  State **saved;       /* of those that have */
  VEC(uint32_t) ready; /* where all have arrived */
  State *now, *head;   /* head: at the loop's, once it is known */
  uint8_t *stood;      /* by register, while paths meet: in which of two */
  uint32_t *born;      /* likewise: what it was in the first */
  uint32_t head_at, at;
  VEC(Origin) origins; /* by `born` */
  Flaw *flaw;
} Verify;

static bool wrong(Verify *v, uint32_t reg, const char *rule) {
  *v->flaw = (Flaw){v->at, reg, rule};
  return false;
}

static const Word *here(const Verify *v) { return &v->l->units[v->at]; }

static const InsInfo *info_at(const Verify *v) {
  return &ins_info[here(v)->op];
}

static Slot *slot(Verify *v, uint32_t r) { return &v->now->slots[r]; }

/* Notes a new value: its number. */
static uint32_t birth(Verify *v, Origin origin) {
  VEC_PUSH(&v->origins, origin);
  return (uint32_t)v->origins.len - 1;
}

/* Is there a value, and is what it is a view of still held? */
static bool stands(const Verify *v, const Slot *slots, const Slot *s) {
  while (s->kind == VIEW && s->refs == 0 && s->owner) {
    Origin of = {s->owner, s->since};
    while (of.owner && slots[of.owner - 1].born != of.since)
      of = v->origins.data[of.since];
    if (!of.owner) return false;
    s = &slots[of.owner - 1];
  }
  return s->kind != UNSET;
}

/* --- Reading and setting ------------------------------------------------ */

static bool read_reg(Verify *v, uint32_t r) {
  if (!stands(v, v->now->slots, slot(v, r)))
    return wrong(v, r, "is read where it has no value");
  return slot(v, r)->kind != NOTHING || wrong(v, r, "is read and is null");
}

/* One reference less. */
static bool release(Verify *v, uint32_t r) {
  Slot *s = slot(v, r);
  if (s->refs == 0) return wrong(v, r, "gives a reference that it lacks");
  v->now->refs--;
  if (--s->refs == 0 && s->kind == OWNED) *s = (Slot){.kind = UNSET};
  return true;
}

static bool keep(Verify *v, uint32_t r) {
  Slot *s = slot(v, r);
  if (!stands(v, v->now->slots, s) || (s->kind != VIEW && s->kind != OWNED))
    return wrong(v, r, "is kept and holds nothing to keep");
  s->refs++;
  v->now->refs++;
  return true;
}

static bool move_out(Verify *v, uint32_t r) {
  Slot *s = slot(v, r);
  if (!stands(v, v->now->slots, s))
    return wrong(v, r, "moves where it has no value");
  if (s->kind == BITS) return true;
  if (s->kind != NOTHING) return release(v, r);
  *s = (Slot){.kind = UNSET};
  return true;
}

static bool set(Verify *v, uint32_t r, Slot to) {
  Slot *s = slot(v, r);
  if (s->refs > 0 && !s->maybe)
    return wrong(v, r, "is set and loses a reference");
  v->now->refs += to.refs - s->refs;
  to.born = birth(v, (Origin){to.owner, to.since});
  *s = to;
  return true;
}

static bool set_bits(Verify *v, uint32_t r) {
  return set(v, r, (Slot){.kind = BITS});
}

static bool set_owned(Verify *v, uint32_t r) {
  return set(v, r, (Slot){.kind = OWNED, .refs = 1});
}

static bool set_value(Verify *v, uint32_t r, bool counted) {
  return counted ? set_owned(v, r) : set_bits(v, r);
}

/* Memory of a dead cell, or null. */
static bool set_memory(Verify *v, uint32_t r) {
  return set(v, r, (Slot){.kind = OWNED, .refs = 1, .maybe = true});
}

static bool set_view(Verify *v, uint32_t r, uint32_t of) {
  const Slot *owner = slot(v, of);
  Slot view = {.kind = VIEW};
  if (owner->kind != VIEW || owner->owner) {
    view.owner = of + 1;
    view.since = owner->born;
  }
  return set(v, r, view);
}

/* --- Instructions that are whole ---------------------------------------- */

/* How the k-th register of an instruction's list is used. */
static char list_mode(const Word *at, uint32_t k) {
  switch (at->op) {
    case INS_op:
    case INS_special: {
      const OpSite *site = at[1].data;
      return k < (uint32_t)site->source_count ? 'u' : 'd';
    }
    case INS_chain: {
      const ChainSite *site = at[1].data;
      return k < (uint32_t)site->source_count ? 'u' : 'd';
    }
    case INS_open:
    case INS_spare: return 'v';
    case INS_spare2:
    case INS_call_parts: return 'd';
    case INS_scalar3:
    case INS_check: return 'u';
    default: return 'm';
  }
}

/* The operand's letter, and what it is in unit `at`. */
static uint16_t operand(const Word *at, int k) { return at->regs[k + 1]; }

static bool is_register(char letter) {
  return letter && strchr("dwuvm", letter);
}

static bool registers_exist(Verify *v) {
  const Word *at = here(v);
  for (int k = 0; k < 3; k++)
    if (is_register(info_at(v)->operands[k]) && operand(at, k) >= v->l->nregs)
      return wrong(v, operand(at, k), "is not in the window");
  if (at->op == INS_move2 && at->a + 1u >= v->l->nregs)
    return wrong(v, at->a + 1u, "is not in the window");
  uint32_t n = ins_list_count(at);
  for (uint32_t k = 0; k < n; k++)
    if (ins_list(at)[k] >= v->l->nregs)
      return wrong(v, ins_list(at)[k], "is not in the window");
  return true;
}

/* Finds where instructions start. */
static bool decode(Verify *v) {
  const Listing *l = v->l;
  for (v->at = 0; v->at < l->count; v->at += ins_length(here(v))) {
    if (here(v)->op >= INS_COUNT)
      return wrong(v, NO_FLAW_REG, "there is no such instruction");
    uint32_t room = l->count - v->at;
    if (1u + info_at(v)->words > room || ins_length(here(v)) > room)
      return wrong(v, NO_FLAW_REG, "the instruction is cut off");
    if (!registers_exist(v)) return false;
    v->marks[v->at] = START;
  }
  return true;
}

/* --- Paths -------------------------------------------------------------- */

/* Jumps of the instruction, not counting a loop's: how many; the k-th. */
static uint32_t jump_count(const Verify *v) {
  if (here(v)->op == INS_switch_tag) return here(v)->b;
  return here(v)->op == INS_jump || info_at(v)->operands[2] == 'j';
}

static int64_t jump_target(const Verify *v, uint32_t k) {
  const Word *at = here(v);
  int64_t distance = at->op == INS_switch_tag ? (int64_t)at[1 + k].word
                     : at->op == INS_jump     ? at->jump
                                              : at->c;
  return v->at + distance;
}

static bool is_start(const Verify *v, int64_t at) {
  return at >= 0 && at < v->l->count && v->marks[at] & START;
}

static void reach(Verify *v, uint32_t at) {
  v->edges[at]++;
  if (v->marks[at] & REACHED) return;
  v->marks[at] |= REACHED;
  VEC_PUSH(&v->ready, at);
}

static bool reach_loop(Verify *v) {
  int64_t to = (int64_t)v->at + here(v)->jump;
  if (to > v->at || !is_start(v, to))
    return wrong(v, NO_FLAW_REG, "a loop starts nowhere");
  if (v->head_at != UINT32_MAX && v->head_at != to)
    return wrong(v, NO_FLAW_REG, "there are two loops");
  v->head_at = (uint32_t)to;
  return true;
}

static bool is_back(const Verify *v) {
  return info_at(v)->operands[2] == 'k' && here(v)->op != INS_call_self;
}

/* It goes where the head of the loop behind it would go. */
static bool check_back(Verify *v) {
  const Word *at = here(v), *loop = at + 1;
  int64_t head_at = (int64_t)v->at + 1 + loop->jump;
  bool ends = v->at + 1 < v->l->count && loop->op == INS_loop;
  if (!ends || head_at > v->at || !is_start(v, head_at))
    return wrong(v, NO_FLAW_REG, "a way back is no loop's");
  const Word *head = &v->l->units[head_at];
  const InsBack *back = ins_back(head->op);
  bool taken = back && back->to_target == at->op;
  bool swapped = !taken && back && back->swapped;
  int64_t to = head_at + (taken ? head->c : 1);
  if (!back || (!taken && back->behind != at->op) || v->at - at->c != to ||
      at->a != (swapped ? head->b : head->a) ||
      at->b != (swapped ? head->a : head->b))
    return wrong(v, NO_FLAW_REG, "a way back is not the head's");
  return true;
}

static bool reach_next(Verify *v) {
  if (here(v)->op == INS_loop && !reach_loop(v)) return false;
  if (is_back(v) && !check_back(v)) return false;
  if (here(v)->op == INS_call_self && here(v)->c != v->at)
    return wrong(v, NO_FLAW_REG, "a call of itself starts elsewhere");
  uint32_t n = jump_count(v);
  for (uint32_t k = 0; k < n; k++) {
    int64_t to = jump_target(v, k);
    if (!is_start(v, to))
      return wrong(v, NO_FLAW_REG, "a jump lands on no instruction");
    reach(v, (uint32_t)to);
  }
  if (info_at(v)->flags & END) return true;
  uint32_t next = v->at + ins_length(here(v));
  if (next >= v->l->count) return wrong(v, NO_FLAW_REG, "the code has no end");
  reach(v, next);
  return true;
}

/* Counts the paths to every instruction. */
static bool find_paths(Verify *v) {
  if (v->l->count == 0) return wrong(v, NO_FLAW_REG, "the code has no end");
  reach(v, 0);
  while (v->ready.len) {
    v->at = VEC_POP(&v->ready);
    if (!reach_next(v)) return false;
  }
  return true;
}

/* --- Where paths meet --------------------------------------------------- */

static size_t state_size(const Verify *v) {
  return sizeof(State) + v->l->nregs * sizeof(Slot);
}

static State *state_copy(Verify *v, const State *from) {
  State *s = mem_alloc(&v->mem, state_size(v));
  if (s) memcpy(s, from, state_size(v));
  return s;
}

static bool is_null(const Slot *s) { return s->kind == NOTHING; }

enum { IN_A = 1, IN_B = 2, IN_BOTH = 3, TO_FIND = UINT32_MAX };

/* Views of one owner's value stay so. */
static void merge_views(Verify *v, Slot *a, const State *b, const Slot *from) {
  bool same = a->owner == from->owner;
  if (same && a->owner) {
    uint32_t owner = a->owner - 1;
    same = a->since == v->born[owner] && from->since == b->slots[owner].born;
    a->since = TO_FIND;
  }
  if (!same) *a = (Slot){.kind = a->refs ? OWNED : UNSET, .refs = a->refs};
}

/* What is known of register `r` when it is as in `a` or as in `b`.  False: one
 * of them holds a reference, and nobody knows which. */
static bool merge_slot(Verify *v, State *in_a, const State *in_b, uint32_t r) {
  Slot *a = &in_a->slots[r];
  const Slot *b = &in_b->slots[r];
  bool null = (is_null(a) && b->refs == 1) || (is_null(b) && a->refs == 1);
  if (a->refs != b->refs && !null) return false;
  bool differ = a->born != b->born, maybe = a->maybe || b->maybe;
  if (v->stood[r] != IN_BOTH || (a->kind == BITS) != (b->kind == BITS)) {
    *a = (Slot){.kind = UNSET};
  } else if (null) {
    *a = (Slot){.kind = OWNED, .refs = 1};
    maybe = true;
  } else if (a->kind != b->kind) {
    *a = (Slot){.kind = a->refs ? OWNED : UNSET, .refs = a->refs};
  } else if (a->kind == VIEW) {
    merge_views(v, a, in_b, b);
  }
  a->maybe = maybe;
  a->born = differ ? birth(v, (Origin){0}) : v->born[r];
  return true;
}

/* `a` becomes what is known when paths with `a` and `b` have met. */
static bool merge(Verify *v, State *a, const State *b) {
  uint32_t n = v->l->nregs;
  for (uint32_t r = 0; r < n; r++) {
    v->stood[r] = (uint8_t)(stands(v, a->slots, &a->slots[r]) * IN_A +
                            stands(v, b->slots, &b->slots[r]) * IN_B);
    v->born[r] = a->slots[r].born;
  }
  a->refs = 0;
  for (uint32_t r = 0; r < n; r++) {
    if (!merge_slot(v, a, b, r)) return wrong(v, r, "is held on one way only");
    a->refs += a->slots[r].refs;
  }
  for (uint32_t r = 0; r < n; r++) {
    Slot *s = &a->slots[r];
    if (s->kind == VIEW && s->since == TO_FIND) {
      s->since = a->slots[s->owner - 1].born;
      v->origins.data[s->born] = (Origin){s->owner, s->since};
    }
  }
  return true;
}

static const char comes_back[] = "paths come back to where they were";

/* The running path arrives at unit `to`. */
static bool arrive(Verify *v, uint32_t to) {
  if (!(v->marks[to] & REACHED)) return wrong(v, NO_FLAW_REG, comes_back);
  if (v->saved[to]) {
    if (!merge(v, v->saved[to], v->now)) return false;
  } else {
    v->saved[to] = state_copy(v, v->now);
    if (!v->saved[to]) return wrong(v, NO_FLAW_REG, "no memory to look");
  }
  if (--v->edges[to] == 0) VEC_PUSH(&v->ready, to);
  return true;
}

/* Back at the head: whatever stood there does again. */
static bool arrive_at_head(Verify *v) {
  if (!v->head) return wrong(v, NO_FLAW_REG, "a loop comes from nowhere");
  for (uint32_t r = 0; r < v->l->nregs; r++) {
    const Slot *then = &v->head->slots[r], *now = slot(v, r);
    if (then->refs != now->refs) return wrong(v, r, "is held on one way only");
    if (!stands(v, v->head->slots, then)) continue;
    if (!stands(v, v->now->slots, now) ||
        (then->kind == BITS) != (now->kind == BITS))
      return wrong(v, r, "has no value when the loop comes back");
  }
  return true;
}

/* --- What failing drops ------------------------------------------------- */

/* Is it listed as often as it holds references?  `live` is read twice: what
 * the first time takes off the second gives back. */
static bool check_live(Verify *v) {
  const Listing *l = v->l;
  uint32_t low = 0, high = l->live_at_count, sum = 0;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (l->live_at[middle].at < v->at) low = middle + 1;
    else high = middle;
  }
  bool any = low < l->live_at_count && l->live_at[low].at == v->at;
  uint32_t n = any ? l->live_at[low].count : 0, bad = NO_FLAW_REG;
  const uint16_t *live = any ? l->live + l->live_at[low].first : NULL;
  uint32_t taken = 0;
  for (; taken < n && bad == NO_FLAW_REG; taken++) {
    Slot *s = live[taken] < l->nregs ? slot(v, live[taken]) : NULL;
    if (!s || (s->refs == 0 && !is_null(s))) {
      bad = live[taken];
      break;
    }
    if (is_null(s)) continue;
    s->refs--;
    sum++;
  }
  while (taken-- > 0)
    if (!is_null(slot(v, live[taken]))) slot(v, live[taken])->refs++;
  if (bad != NO_FLAW_REG)
    return wrong(v, bad, "would be dropped and is not held");
  return sum == v->now->refs ||
         wrong(v, NO_FLAW_REG, "failing would lose a reference");
}

/* --- Cells -------------------------------------------------------------- */

static bool field_fits(Verify *v, uint32_t r, bool counted) {
  return (slot(v, r)->kind != BITS) == counted ||
         wrong(v, r, "is counted in the cell's header or here, not both");
}

static bool header_fits(Verify *v, uint64_t word, unsigned size) {
  Obj header;
  memcpy(&header, &word, sizeof header);
  return (header.count == 1 && header.size == size &&
          header.mask >> (size < SIZE_BIG ? size : 0) == 0) ||
         wrong(v, NO_FLAW_REG, "the header is of another cell");
}

static bool is_counted(uint64_t word, unsigned field) {
  Obj header;
  memcpy(&header, &word, sizeof header);
  return header.mask >> field & 1;
}

static bool check_big(Verify *v, const Word *at) {
  const uint64_t *words = at[1].data;
  if (!header_fits(v, words[0], SIZE_BIG)) return false;
  if (words[1] != at->b) return wrong(v, NO_FLAW_REG, "the size is another");
  for (unsigned k = 0; k < at->b; k++) {
    bool counted = words[2 + k / 64] >> (k % 64) & 1;
    if (!field_fits(v, ins_list(at)[k], counted)) return false;
  }
  return true;
}

/* `first`: words before the listed fields. */
static bool check_listed(Verify *v, const Word *at, uint64_t header,
                         unsigned first) {
  if (!header_fits(v, header, first + at->b)) return false;
  for (unsigned k = 0; k < at->b; k++) {
    bool counted = is_counted(header, first + k);
    if (!field_fits(v, ins_list(at)[k], counted)) return false;
  }
  return true;
}

static bool check_cell(Verify *v, const Word *at) {
  switch (at->op) {
    case INS_cell1:
    case INS_cell1_in:
      return header_fits(v, at[1].word, 1) &&
             field_fits(v, at->b, is_counted(at[1].word, 0));
    case INS_cell2:
    case INS_cell2_in:
      return header_fits(v, at[1].word, 2) &&
             field_fits(v, at->b, is_counted(at[1].word, 0)) &&
             field_fits(v, at->c, is_counted(at[1].word, 1));
    case INS_cell:
    case INS_cell_in: return check_listed(v, at, at[1].word, 0);
    case INS_closure: return check_listed(v, at, at[2].word, 1);
    case INS_big_cell: return check_big(v, at);
    case INS_ref: return field_fits(v, at->b, at->c & REF_COUNTED);
    default: return true;
  }
}

/* A field that has been read becomes owned as its cell ends. */
static bool open_field(Verify *v, uint32_t cell, uint32_t r) {
  const Slot *s = slot(v, r);
  if (s->kind != VIEW || s->owner != cell + 1 ||
      s->since != slot(v, cell)->born)
    return wrong(v, r, "is no field of the cell that ends");
  return keep(v, r);
}

static bool open_cell(Verify *v, const Word *at) {
  static const struct {
    uint8_t op, fields, memory; /* operands: how many; which, 1 + its place */
  } kinds[] = {
      {INS_open1, 1, 0},  {INS_open2, 2, 0},  {INS_spare0, 0, 1},
      {INS_spare1, 1, 2}, {INS_spare2, 2, 0}, {INS_spare, 0, 2},
  };
  unsigned fields = 0, memory = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i].op != at->op) continue;
    fields = kinds[i].fields;
    memory = kinds[i].memory;
  }
  for (unsigned k = 1; k <= fields; k++)
    if (!open_field(v, at->a, operand(at, (int)k))) return false;
  bool lists = at->op == INS_open || at->op == INS_spare;
  for (unsigned k = 0; lists && k < at->b; k++)
    if (!open_field(v, at->a, ins_list(at)[k])) return false;
  if (!release(v, at->a)) return false;
  if (memory) return set_memory(v, operand(at, (int)memory));
  return at->op != INS_spare2 || set_memory(v, ins_list(at)[0]);
}

/* --- Calls -------------------------------------------------------------- */

/* What the callee takes over goes; then what it borrows must still stand. */
static bool pass_known(Verify *v, const Function *f, uint32_t window) {
  if (window + f->nparams > v->l->nregs)
    return wrong(v, window, "is not in the window");
  for (uint32_t i = 0; i < f->nparams; i++) {
    uint32_t r = window + i;
    if (f->params[i] == PARAM_OWNED && !release(v, r)) return false;
    if (f->params[i] == PARAM_BITS && slot(v, r)->kind != BITS)
      return wrong(v, r, "is not the number that the callee expects");
  }
  for (uint32_t i = 0; i < f->nparams; i++) {
    if (f->params[i] != PARAM_BORROWED) continue;
    if (slot(v, window + i)->kind != VIEW || !read_reg(v, window + i))
      return wrong(v, window + i, "is not held while the callee borrows it");
  }
  return true;
}

/* A closure, the last of `n` values, and what it is called with. */
static bool pass_all(Verify *v, uint32_t window, uint32_t n) {
  if (n == 0 || window + n > v->l->nregs)
    return wrong(v, window, "is not in the window");
  if (slot(v, window + n - 1)->kind == BITS)
    return wrong(v, window + n - 1, "is called and no closure");
  for (uint32_t i = 0; i < n; i++)
    if (!move_out(v, window + i)) return false;
  return true;
}

/* Are these the results that the function gives back? */
static bool gives(Verify *v, const Function *f, uint32_t n,
                  const bool *counted) {
  bool same = f->part_count == n;
  for (uint32_t i = 0; same && counted && i < n; i++)
    same = f->part_counted[i] == counted[i];
  return same || wrong(v, NO_FLAW_REG, "the callee gives other results");
}

static bool pass(Verify *v, const Word *at) {
  const Listing *l = v->l;
  switch (at->op) {
    case INS_call:
    case INS_call_self:
    case INS_call_parts: {
      const Function *f = at[1].function;
      uint32_t n = at->op == INS_call_parts ? at->c : 0;
      return gives(v, f, n, NULL) && pass_known(v, f, at->b);
    }
    case INS_tail:
      if (at->c != at[1].function->nparams)
        return wrong(v, NO_FLAW_REG, "the callee takes another number");
      return gives(v, at[1].function, l->part_count, l->part_counted) &&
             pass_known(v, at[1].function, at->b);
    case INS_tail_apply:
      if (l->part_count)
        return wrong(v, NO_FLAW_REG, "a closure gives one result");
      return pass_all(v, at->b, at->c);
    case INS_apply: return pass_all(v, at->b, at->c + 1u);
    default: return pass_all(v, at->b, at->c);
  }
}

/* The callee's window lies over ours: what stands there is gone. */
static bool leave_window(Verify *v, uint32_t window) {
  for (uint32_t r = window; r < v->l->nregs; r++) {
    if (slot(v, r)->refs > 0) return wrong(v, r, "is lost under the callee");
    *slot(v, r) = (Slot){.kind = UNSET};
  }
  return true;
}

static bool nothing_held(Verify *v) {
  return v->now->refs == 0 ||
         wrong(v, NO_FLAW_REG, "a reference is lost at the end");
}

static bool set_parts(Verify *v, const Word *at) {
  for (uint32_t i = 0; i < at->c; i++)
    if (!set_value(v, ins_list(at)[i], at[1].function->part_counted[i]))
      return false;
  return true;
}

/* Of a function that gives back as many, counted or not as its callers
 * expect? */
static bool check_results(Verify *v, const Word *at) {
  const Listing *l = v->l;
  uint32_t n = at->op == INS_ret2 ? 2 : at->op == INS_ret_parts ? at->b : 0;
  if (n != l->part_count)
    return wrong(v, NO_FLAW_REG, "callers expect another number of results");
  for (uint32_t i = 0; i < n; i++) {
    uint32_t r = at->op == INS_ret2 ? operand(at, (int)i) : ins_list(at)[i];
    if ((slot(v, r)->kind != BITS) != l->part_counted[i])
      return wrong(v, r, "is a result of another kind than callers expect");
  }
  return true;
}

static bool step_call(Verify *v, const Word *at) {
  if (!pass(v, at) || !leave_window(v, at->b) || !check_live(v)) return false;
  if (info_at(v)->flags & END) return nothing_held(v);
  if (at->op == INS_call_parts) return set_parts(v, at);
  return set_value(v, at->a, v->l->counts[v->at]);
}

/* --- Operators ---------------------------------------------------------- */

static bool inputs_fit(Verify *v, const ChainSite *site) {
  for (int i = 0; i < site->fuse->inputs; i++) {
    const ChainInput *input = &site->inputs[i];
    if (input->source >= site->source_count ||
        (input->view && !input->parts && input->index >= site->source_count))
      return wrong(v, NO_FLAW_REG, "the chain reads what it is not given");
  }
  return true;
}

static bool site_fits(Verify *v, const Word *at) {
  if (at->op == INS_chain) return inputs_fit(v, at[1].data);
  if (at->op == INS_check) {
    const CheckSite *site = at[1].data;
    return site->name_count == at->b ||
           wrong(v, NO_FLAW_REG, "the check compares other names");
  }
  return true;
}

static const Type *const *out_types(const Word *at) {
  if (at->op != INS_chain) return ((const OpSite *)at[1].data)->out_types;
  return ((const ChainSite *)at[1].data)->out_types;
}

/* Results are there before the operands have been read to the end. */
static bool step_op(Verify *v, const Word *at) {
  uint32_t n = ins_list_count(at), sources = 0;
  const uint16_t *list = ins_list(at);
  while (sources < n && list_mode(at, sources) == 'u') sources++;
  unsigned taken = info_at(v)->flags & TAKES ? at->a : 0;
  if (taken >> (sources < TAKES_MAX ? sources : TAKES_MAX))
    return wrong(v, NO_FLAW_REG, "an operand is taken that there is not");
  for (uint32_t k = 0; k < n - sources; k++) {
    uint16_t r = list[sources + k];
    for (uint32_t i = 0; i < sources; i++)
      if (list[i] == r) return wrong(v, r, "is set while it is read");
    if (!set_value(v, r, !type_is_scalar(out_types(at)[k]))) return false;
  }
  for (; taken; taken &= taken - 1)
    if (!release(v, list[__builtin_ctz(taken)])) return false;
  return true;
}

/* --- The others --------------------------------------------------------- */

/* Like a read, it trusts the flag that was asked before: what may be null, as
 * long as nobody has wanted it, is there. */
static bool move(Verify *v, uint32_t a, uint32_t b) {
  Slot from = *slot(v, b);
  if (from.kind == VIEW && from.refs == 0) {
    if (!read_reg(v, b)) return false;
    return from.owner ? set_view(v, a, b) : set(v, a, (Slot){.kind = VIEW});
  }
  if (!move_out(v, b)) return false;
  Slot to = {.kind = from.kind == VIEW ? OWNED : from.kind,
             .refs = from.refs > 0};
  return set(v, a, to);
}

static bool step_move(Verify *v, const Word *at) {
  if (at->op == INS_move) return move(v, at->a, at->b);
  return move(v, at->a, at->b) && move(v, at->a + 1u, at->c);
}

/* A counted immediate is the null of a place to be filled. */
static bool set_immediate(Verify *v, const Word *at) {
  bool counted = v->l->counts[v->at];
  if (counted && at->b == 0) return set(v, at->a, (Slot){.kind = NOTHING});
  return set_value(v, at->a, counted);
}

/* A null one is a `param` that has yet to be given, before which nothing runs:
 * code is shown all the same. */
static bool set_constant(Verify *v, const Word *at) {
  return set_value(v, at->a, v->l->counts[v->at]);
}

static bool step_drop(Verify *v, const Word *at) {
  Slot *s = slot(v, at->a);
  bool may_be_null = at->op == INS_drop_maybe;
  if (is_null(s) && may_be_null) {
    *s = (Slot){.kind = UNSET};
    return true;
  }
  if (s->maybe && !may_be_null) return wrong(v, at->a, "is dropped when null");
  return release(v, at->a);
}

static bool set_field(Verify *v, uint32_t r, uint32_t of, bool counted) {
  return counted ? set_view(v, r, of) : set_bits(v, r);
}

static bool step_field(Verify *v, const Word *at) {
  unsigned counts = v->l->counts[v->at];
  if (at->op == INS_field) return set_field(v, at->a, at->b, counts & 1);
  if (at->a == at->b) return wrong(v, at->a, "is read where it has no value");
  return set_field(v, at->a, at->b, counts & 1) &&
         set_field(v, at->c, at->b, counts & 2);
}

/* What `a`, the only operand that is set, becomes. */
static bool set_result(Verify *v, const Word *at) {
  switch (at->op) {
    case INS_cell1:
    case INS_cell2:
    case INS_cell:
    case INS_big_cell:
    case INS_cell1_in:
    case INS_cell2_in:
    case INS_cell_in:
    case INS_closure:
    case INS_sibling:
    case INS_ref:
    case INS_compact: return set_owned(v, at->a);
    case INS_global: return set_value(v, at->a, at->b);
    case INS_ref_read: return set_value(v, at->a, v->l->counts[v->at]);
    default: return info_at(v)->operands[0] != 'd' || set_bits(v, at->a);
  }
}

static bool each_read(Verify *v, const Word *at) {
  uint32_t n = ins_list_count(at);
  for (int k = 0; k < 3; k++) {
    char mode = info_at(v)->operands[k];
    bool reads = mode == 'u' || mode == 'v';
    if (reads && !read_reg(v, operand(at, k))) return false;
  }
  for (uint32_t k = 0; k < n; k++) {
    char mode = list_mode(at, k);
    if ((mode == 'u' || mode == 'v') && !read_reg(v, ins_list(at)[k]))
      return false;
  }
  return true;
}

static bool each_move(Verify *v, const Word *at) {
  uint32_t n = ins_list_count(at);
  for (int k = 0; k < 3; k++)
    if (info_at(v)->operands[k] == 'm' && !move_out(v, operand(at, k)))
      return false;
  for (uint32_t k = 0; k < n; k++)
    if (list_mode(at, k) == 'm' && !move_out(v, ins_list(at)[k])) return false;
  return true;
}

static bool is_return(const Word *at) {
  return at->op == INS_ret || at->op == INS_ret_imm || at->op == INS_ret2 ||
         at->op == INS_ret_in || at->op == INS_ret_parts;
}

/* Reads, what failing would drop, moves, then results. */
static bool step_plain(Verify *v, const Word *at) {
  if (!each_read(v, at) || !site_fits(v, at) || !check_cell(v, at))
    return false;
  if (info_at(v)->flags & FAIL && !check_live(v)) return false;
  if (is_return(at) && !check_results(v, at)) return false;
  if (!each_move(v, at)) return false;
  switch (at->op) {
    case INS_op:
    case INS_chain:
    case INS_special: return step_op(v, at);
    case INS_free_cell:
    case INS_open:
    case INS_open1:
    case INS_open2:
    case INS_spare0:
    case INS_spare1:
    case INS_spare2:
    case INS_spare: return open_cell(v, at);
    case INS_field:
    case INS_fields: return step_field(v, at);
    case INS_borrow: return set_view(v, at->a, at->b);
    case INS_keep: return keep(v, at->a);
    case INS_ret:
    case INS_ret_imm:
    case INS_ret2:
    case INS_ret_in:
    case INS_ret_parts: return nothing_held(v);
    default: return set_result(v, at);
  }
}

static bool step(Verify *v) {
  const Word *at = here(v);
  switch (at->op) {
    case INS_call:
    case INS_call_self:
    case INS_call_parts:
    case INS_apply:
    case INS_tail:
    case INS_tail_apply: return step_call(v, at);
    case INS_move:
    case INS_move2: return step_move(v, at);
    case INS_imm: return set_immediate(v, at);
    case INS_constant: return set_constant(v, at);
    case INS_drop:
    case INS_drop_maybe: return step_drop(v, at);
    case INS_loop: return check_live(v) && arrive_at_head(v);
    case INS_lower:
    case INS_leave:
    case INS_halt:
      return wrong(v, NO_FLAW_REG, "this instruction belongs to no function");
    default: return step_plain(v, at);
  }
}

/* --- The walk ----------------------------------------------------------- */

static bool leave_by_jumps(Verify *v) {
  uint32_t n = jump_count(v);
  for (uint32_t k = 0; k < n; k++)
    if (!arrive(v, (uint32_t)jump_target(v, k))) return false;
  return true;
}

/* From where all paths have arrived on, up to where others do. */
static bool walk_from(Verify *v, uint32_t at) {
  if (v->saved[at]) {
    mem_free(&v->mem, v->now, state_size(v));
    v->now = v->saved[at];
    v->saved[at] = NULL;
  }
  for (v->at = at;; v->at += ins_length(here(v))) {
    v->marks[v->at] &= (uint8_t)~REACHED;
    if (v->at == v->head_at) {
      v->head = state_copy(v, v->now);
      if (!v->head) return wrong(v, NO_FLAW_REG, "no memory to look");
    }
    if (!step(v) || !leave_by_jumps(v)) return false;
    if (info_at(v)->flags & END) return true;
    uint32_t next = v->at + ins_length(here(v));
    if (v->edges[next] > 1 || v->saved[next]) return arrive(v, next);
    v->edges[next] = 0;
  }
}

static void enter(Verify *v) {
  const Listing *l = v->l;
  for (uint32_t i = 0; i < l->nparams; i++) {
    ParamMode mode = l->params[i];
    v->now->slots[i] = (Slot){.kind = mode == PARAM_BITS    ? BITS
                                      : mode == PARAM_OWNED ? OWNED
                                                            : VIEW,
                              .refs = mode == PARAM_OWNED,
                              .born = birth(v, (Origin){0})};
    v->now->refs += mode == PARAM_OWNED;
  }
}

static bool walk(Verify *v) {
  enter(v);
  VEC_PUSH(&v->ready, 0);
  while (v->ready.len)
    if (!walk_from(v, VEC_POP(&v->ready))) return false;
  for (v->at = 0; v->at < v->l->count; v->at++)
    if (v->marks[v->at] & REACHED) return wrong(v, NO_FLAW_REG, comes_back);
  return true;
}

/* --- Life --------------------------------------------------------------- */

static bool verify_init(Verify *v, const Listing *l, Flaw *flaw) {
  *v = (Verify){
      .l = l, .flaw = flaw, .head_at = UINT32_MAX, .mem = {.limit = SIZE_MAX}};
  VEC_INIT(&v->ready, &v->mem);
  VEC_INIT(&v->origins, &v->mem);
  birth(v, (Origin){0}); /* of what was never set */
  v->marks = mem_alloc_zeroed(&v->mem, l->count);
  v->edges = mem_alloc_zeroed(&v->mem, l->count * sizeof *v->edges);
  v->saved = mem_alloc_zeroed(&v->mem, l->count * sizeof *v->saved);
  v->now = mem_alloc_zeroed(&v->mem, state_size(v));
  v->stood = mem_alloc_zeroed(&v->mem, l->nregs);
  v->born = mem_alloc_zeroed(&v->mem, l->nregs * sizeof *v->born);
  return v->origins.len && v->marks && v->edges && v->saved && v->now &&
         v->stood && v->born;
}

static void verify_done(Verify *v) {
  for (uint32_t i = 0; v->saved && i < v->l->count; i++)
    mem_free(&v->mem, v->saved[i], state_size(v));
  mem_free(&v->mem, v->now, state_size(v));
  mem_free(&v->mem, v->head, state_size(v));
  mem_free(&v->mem, v->marks, v->l->count);
  mem_free(&v->mem, v->edges, v->l->count * sizeof *v->edges);
  mem_free(&v->mem, v->saved, v->l->count * sizeof *v->saved);
  mem_free(&v->mem, v->stood, v->l->nregs);
  mem_free(&v->mem, v->born, v->l->nregs * sizeof *v->born);
  VEC_DONE(&v->ready);
  VEC_DONE(&v->origins);
}

bool code_verify(const Listing *l, Flaw *flaw) {
  Verify v;
  *flaw = (Flaw){.reg = NO_FLAW_REG, .rule = "no memory to look"};
  bool ok = verify_init(&v, l, flaw);
  if (ok && l->nparams > l->nregs)
    ok = wrong(&v, l->nregs, "a parameter is not in the window");
  ok = ok && decode(&v) && find_paths(&v) && walk(&v);
  verify_done(&v);
  return ok;
}
