/* Soundness of code, by abstract interpretation: one walk over the units with
 * what is known of every register.  The rules stand in verify.h; what an
 * instruction does to its operands is read from its row.
 *
 *   UNSET    nothing that may be read, as after a move or a drop
 *   BITS     a number, a truth value, an address
 *   NOTHING  null where a counted value belongs: a hole, a lazy variable
 *   VIEW     of what another register, or the caller, holds; it has no
 *            reference unless it was kept
 *   OWNED    one reference or more, which has to go somewhere on every path
 *
 * Where paths meet, the walk waits until all have arrived, and goes on with
 * what holds on each of them (a join in the lattice of states):
 *
 *   the same kind         stays; views only if they are of one value
 *   BITS and counted      UNSET
 *   NOTHING and OWNED     OWNED, but maybe null
 *   VIEW and OWNED        OWNED if both hold references, else UNSET
 *   other references      a flaw: one path would leak or drop twice
 *
 * Code has no backward jump but the loop to the head, so each unit is walked
 * once, in an order in which all its paths have been before.  The loop is not
 * iterated to a fixpoint either: what comes back must be what the head had.
 *
 * A view is sound while the value that it was taken of is held.  Registers are
 * used again, so a value is known by its `born` number and not by its
 * register. */
#include "bytecode/verify.h"

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

/* The value that a view was taken of.  That value's register may hold
 * another one since, and fields read from it may still be there: a view of a
 * view counts as one of the first owner. */
typedef struct Origin {
  uint32_t owner, since;
} Origin;

typedef struct State {
  struct State *next; /* of those that are free */
  uint32_t refs;      /* of all registers */
  Slot slots[];
} State;

enum { START = 1, REACHED = 2 };

typedef struct Verify {
  const Listing *l;
  Arena arena;
  uint8_t *marks;      /* by unit, like the next two */
  uint32_t *edges;     /* paths that have yet to arrive */
  State **saved;       /* of those that have */
  VEC(uint32_t) ready; /* where all have arrived */
  State *now, *head;   /* head: at the loop's, once it is known */
  State *free;         /* to be used again */
  uint8_t *stood;      /* by register, while paths meet: in which of two */
  uint32_t *born;      /* likewise: what it was in the first */
  uint32_t head_at, at;
  VEC(Origin) origins; /* by `born` */
  Flaw *flaw;
} Verify;

/* The first flaw ends the walk, and stays. */
static bool wrong(Verify *v, uint32_t reg, const char *rule) {
  *v->flaw = (Flaw){v->at, reg, rule};
  return false;
}

/* A vector or the arena was refused memory: that is no flaw of the code. */
static bool no_memory(Verify *v) {
  *v->flaw = (Flaw){.reg = NO_FLAW_REG, .rule = NULL};
  return false;
}

static const Word *here(const Verify *v) { return &v->l->units[v->at]; }

static const InsInfo *info_at(const Verify *v) {
  return &ins_info[here(v)->op];
}

static Slot *slot(Verify *v, uint32_t r) { return &v->now->slots[r]; }

/* Notes a new value: its number.  Number 0 is that of registers that were never
 * set. */
static uint32_t birth(Verify *v, Origin origin) {
  VEC_PUSH(&v->origins, origin);
  return (uint32_t)v->origins.len - 1;
}

/* Is there a value; and if it is a view, is the value that it is of still held?
 * Views of views are followed to the value that holds them all; chains are
 * short, as set_view skips owners that are the caller's. */
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

/* A view that is kept holds a reference of its own from here on. */
static bool keep(Verify *v, uint32_t r) {
  Slot *s = slot(v, r);
  if (!stands(v, v->now->slots, s) || (s->kind != VIEW && s->kind != OWNED))
    return wrong(v, r, "is kept and holds nothing to keep");
  s->refs++;
  v->now->refs++;
  return true;
}

/* Bits stay readable where they were; a counted value does not. */
static bool move_out(Verify *v, uint32_t r) {
  Slot *s = slot(v, r);
  if (!stands(v, v->now->slots, s))
    return wrong(v, r, "moves where it has no value");
  if (s->kind == BITS) return true;
  if (s->kind != NOTHING) return release(v, r);
  *s = (Slot){.kind = UNSET};
  return true;
}

/* The references that the register held must have gone before. */
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

/* Memory of a dead cell, or null.  A token may be null, and is dropped by an
 * instruction that looks. */
static bool set_token(Verify *v, uint32_t r) {
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

/* Operand D sets the register after it, too. */
static bool registers_exist(Verify *v) {
  for (OperandWalk o = word_operands(here(v)); operand_next(&o);) {
    uint32_t last = o.now.reg + (o.now.mode == 'D');
    if (o.role & REGISTER && last >= v->l->nregs)
      return wrong(v, last, "is not in the window");
  }
  return true;
}

/* Finds where instructions start.  The walks rely on whole instructions. */
static bool decode(Verify *v) {
  const Listing *l = v->l;
  for (v->at = 0; v->at < l->count; v->at += ins_length(here(v))) {
    if (here(v)->op >= INS_COUNT)
      return wrong(v, NO_FLAW_REG, "there is no such instruction");
    uint32_t room = l->count - v->at;
    if (1u + info_at(v)->word_count > room || ins_length(here(v)) > room)
      return wrong(v, NO_FLAW_REG, "the instruction is cut off");
    if (!registers_exist(v)) return false;
    v->marks[v->at] = START;
  }
  return true;
}

/* --- Paths -------------------------------------------------------------- */

static bool is_start(const Verify *v, int64_t at) {
  return at >= 0 && at < v->l->count && v->marks[at] & START;
}

/* Counts an arrival for each path, as the walk will wait for that many. */
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

/* An instruction that ends a loop has to go where the loop's head would go.
 * emit.c puts the negated condition of the head before the loop; here is the
 * same rule, from the other side. */
static bool check_back(Verify *v) {
  const Word *at = here(v), *loop = at + 1;
  int64_t head_at = (int64_t)v->at + 1 + loop->jump;
  bool ends = v->at + 1 < v->l->count && loop->op == INS_loop;
  if (!ends || head_at > v->at || !is_start(v, head_at))
    return wrong(v, NO_FLAW_REG, "a way back is no loop's");
  const Word *head = &v->l->units[head_at];
  const InsInfo *row = &ins_info[head->op];
  bool taken = row->opposite && ins_back(head->op) == at->op;
  bool swapped = !taken && row->swapped;
  int64_t to = head_at + (taken ? head->c : 1);
  if (!row->opposite || (!taken && row->opposite != at->op) ||
      v->at - at->c != to || at->a != (swapped ? head->b : head->a) ||
      at->b != (swapped ? head->a : head->b))
    return wrong(v, NO_FLAW_REG, "a way back is not the head's");
  return true;
}

/* Where the operand of an instruction jumps, `at` being the instruction's. */
static int64_t target(const Verify *v, const OperandWalk *o) {
  return (int64_t)v->at + (int32_t)o->now.reg;
}

static bool reach_jump(Verify *v, const OperandWalk *o) {
  if (o->now.mode == 'L') return reach_loop(v);
  if (o->now.mode == 'k') return check_back(v);
  if (o->now.mode == 's' && o->now.reg != v->at)
    return wrong(v, NO_FLAW_REG, "a call of itself starts elsewhere");
  if (!(o->role & JUMPS)) return true;
  if (!is_start(v, target(v, o)))
    return wrong(v, NO_FLAW_REG, "a jump lands on no instruction");
  reach(v, (uint32_t)target(v, o));
  return true;
}

static bool reach_next(Verify *v) {
  for (OperandWalk o = word_operands(here(v)); operand_next(&o);)
    if (!reach_jump(v, &o)) return false;
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
  State *s = v->free;
  if (s) v->free = s->next;
  else s = arena_alloc(&v->arena, state_size(v));
  if (s) memcpy(s, from, state_size(v));
  return s;
}

static void state_free(Verify *v, State *s) {
  s->next = v->free;
  v->free = s;
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

/* What is known of register `r` on both paths, in `in_a`.  False when only one
 * of them holds a reference: it could be neither dropped nor kept there.
 * `stood` and `born` hold what was true of `a` before it is overwritten, since
 * views look at their owners in it. */
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

/* `a` becomes what is known where paths with `a` and with `b` meet.  Views are
 * given the owner's new number at the end, when all owners have theirs. */
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
    if (!v->saved[to]) return no_memory(v);
  }
  if (--v->edges[to] == 0) VEC_PUSH(&v->ready, to);
  return true;
}

/* The loop comes back: every register that had a value at the head has one
 * again, and as many references are held.  Values may be others, as each turn
 * makes new ones. */
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

/* Does the list of what to drop when this instruction fails have every
 * reference that is held, once for each?  The list is gone through twice:
 * the first time takes references off, the second gives them back. */
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

/* Does the header fit the cell that the instruction makes?  The operands that
 * move become its fields; the function of a closure comes before them.  A field
 * whose register and header disagree would be dropped as a pointer, or
 * never. */
static bool check_cell(Verify *v, const Word *at) {
  const Word *small = ins_word(at, 'h'), *big = ins_word(at, 'H');
  if (!small && !big) return true;
  const uint64_t *words = small ? &small->word : big->data;
  unsigned n = ins_word(at, 'f') != NULL, field = n;
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    n += o.now.mode == 'm';
  if (!header_fits(v, words[0], small ? n : SIZE_BIG)) return false;
  if (big && words[1] != n) return wrong(v, NO_FLAW_REG, "the size is another");
  for (OperandWalk o = word_operands(at); operand_next(&o);) {
    if (o.now.mode != 'm') continue;
    bool counted = small ? is_counted(words[0], field)
                         : words[2 + field / 64] >> (field % 64) & 1;
    if (!field_fits(v, o.now.reg, counted)) return false;
    field++;
  }
  return true;
}

/* A field that has been read becomes owned as its cell ends. */
static bool open_field(Verify *v, uint32_t cell, uint32_t r) {
  const Slot *s = slot(v, r);
  if (s->kind != VIEW || s->owner != cell + 1 ||
      s->since != slot(v, cell)->born)
    return wrong(v, r, "is no field of the cell that ends");
  return keep(v, r);
}

/* A view that was kept and then dropped is as gone as what was owned, even
 * where what it is a view of still stands. */
static bool drop_reference(Verify *v, uint32_t r) {
  if (!release(v, r)) return false;
  Slot *s = slot(v, r);
  if (s->refs == 0) *s = (Slot){.kind = UNSET};
  return true;
}

/* Takes one reference off the cell that ends here, after its fields that
 * stay have been kept. */
static bool end_cell(Verify *v, const Word *at) {
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    if (o.now.mode == 'f' && !open_field(v, at->a, o.now.reg)) return false;
  return info_at(v)->operands[0] != 'e' || drop_reference(v, at->a);
}

/* --- Calls -------------------------------------------------------------- */

/* The callee takes over what it owns; then what it borrows must still be
 * held. */
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

/* Hands all values over to a closure, which is the last of them.  A closure's
 * function owns all its parameters. */
static bool pass_all(Verify *v, uint32_t window, uint32_t n) {
  if (n == 0 || window + n > v->l->nregs)
    return wrong(v, window, "is not in the window");
  if (slot(v, window + n - 1)->kind == BITS)
    return wrong(v, window + n - 1, "is called and no closure");
  for (uint32_t i = 0; i < n; i++)
    if (!move_out(v, window + i)) return false;
  return true;
}

/* Does the function return these results? */
static bool gives(Verify *v, const Function *f, uint32_t n,
                  const bool *counted) {
  bool same = f->result_count == n;
  for (uint32_t i = 0; same && counted && i < n; i++)
    same = f->result_counted[i] == counted[i];
  return same || wrong(v, NO_FLAW_REG, "the callee gives other results");
}

static bool pass(Verify *v, const Word *at) {
  const Listing *l = v->l;
  const Word *word = ins_word(at, 'f');
  bool tail = info_at(v)->flags & END;
  if (!word) {
    if (tail && l->result_count)
      return wrong(v, NO_FLAW_REG, "a closure gives one result");
    return pass_all(v, at->b, at->c);
  }
  const Function *f = word->function;
  if (tail && at->c != f->nparams)
    return wrong(v, NO_FLAW_REG, "the callee takes another number");
  uint32_t results = tail ? l->result_count : ins_list_count(at);
  return gives(v, f, results, tail ? l->result_counted : NULL) &&
         pass_known(v, f, at->b);
}

/* The callee's window lies over the outgoing area: what was there is gone. */
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

/* Does the instruction return as many results as callers expect, and of the
 * same kinds? */
static bool check_results(Verify *v, const Word *at) {
  const Listing *l = v->l;
  uint32_t n = 0;
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    n += o.now.mode == 'p';
  if (n != l->result_count)
    return wrong(v, NO_FLAW_REG, "callers expect another number of results");
  n = 0;
  for (OperandWalk o = word_operands(at); operand_next(&o);) {
    if (o.now.mode != 'p') continue;
    if ((slot(v, o.now.reg)->kind != BITS) != l->result_counted[n++])
      return wrong(v, o.now.reg,
                   "is a result of another kind than callers expect");
  }
  return true;
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

/* Is each output of the fused program a result, or an operand of the
 * concatenation, which has one of its own? */
static bool results_fit(Verify *v, const ChainSite *site) {
  int parts = 0;
  for (int o = 0; site->join && o < site->fuse->outputs; o++)
    parts += site->parts[o] > 0;
  int joined = site->join ? 1 : 0;
  if (site->join && parts != site->join->source_count)
    return wrong(v, NO_FLAW_REG, "the chain joins what it does not give");
  return site->out_count == site->fuse->outputs - parts + joined ||
         wrong(v, NO_FLAW_REG, "the chain gives another number of results");
}

/* Does what the word points to fit the instruction? */
static bool site_fits(Verify *v, const Word *at) {
  const Word *chain = ins_word(at, 'Q'), *check = ins_word(at, 'K');
  if (chain) return inputs_fit(v, chain->data) && results_fit(v, chain->data);
  if (check && ((const CheckSite *)check->data)->name_count != at->b)
    return wrong(v, NO_FLAW_REG, "the check compares other names");
  return true;
}

/* The operands that it drops itself. */
static bool drop_taken(Verify *v, const Word *at) {
  unsigned taken = info_at(v)->operands[0] == 't' ? at->a : 0;
  for (OperandWalk o = word_operands(at); operand_next(&o);) {
    unsigned bit = o.at < 3 || o.at >= 3 + TAKES_MAX ? 0 : 1u << (o.at - 3);
    if (!(taken & bit) || !(o.role & READS)) continue;
    taken &= ~bit;
    if (!release(v, o.now.reg)) return false;
  }
  return !taken ||
         wrong(v, NO_FLAW_REG, "an operand is taken that there is not");
}

/* --- Results ------------------------------------------------------------ */

/* Inputs of a stretch come as in other code, and its results as in code that is
 * differentiated. */
static bool stretch_counts(const Word *at, const StretchSite *site,
                           uint32_t k) {
  const Stretch *s = site->stretch;
  bool in = at->op == INS_stretch_in;
  const Type *t = s->types[in ? (int)k : s->outs[k]];
  return !type_is_scalar(t) || (!in && dtype_is_float((DType)t->dtype));
}

/* Is the k-th listed result of an operator or a call counted? */
static bool result_is_counted(const Word *at, uint32_t k) {
  const Word *op = ins_word(at, 'q'), *chain = ins_word(at, 'Q');
  const Word *stretch = ins_word(at, 'G');
  if (stretch) return stretch_counts(at, stretch->data, k);
  if (!op && !chain) return ins_word(at, 'f')->function->result_counted[k];
  const Type *const *types = op ? ((const OpSite *)op->data)->out_types
                                : ((const ChainSite *)chain->data)->out_types;
  return !type_is_scalar(types[k]) ||
         (at->op == INS_dual_op && dtype_is_float((DType)types[k]->dtype));
}

static bool is_read(const Word *at, uint32_t r) {
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    if (o.role & READS && o.now.reg == r) return true;
  return false;
}

/* Notes what each register becomes that the instruction sets.  Where neither
 * the row nor a type says whether it is counted, the table beside the code
 * does. */
static bool set_results(Verify *v, const Word *at) {
  unsigned counts = v->l->counts[v->at], listed = 0;
  for (OperandWalk o = word_operands(at); operand_next(&o);) {
    uint32_t r = o.now.reg;
    bool ok = true, counted = counts & (o.at == 0 ? 1 : 2);
    if (!(o.role & SETS)) continue;
    if (info_at(v)->flags & EARLY && is_read(at, r))
      return wrong(v, r, "is set while it is read");
    switch (o.now.mode) {
      case 'c': ok = set_owned(v, r); break;
      case 'b': ok = set_bits(v, r); break;
      case 'y': ok = set_token(v, r); break;
      case 'l': ok = set_view(v, r, at->b); break;
      case 'w': ok = counted ? set_view(v, r, at->b) : set_bits(v, r); break;
      default:
        if (o.at >= 3) counted = result_is_counted(at, listed++);
        ok = set_value(v, r, counted);
        break;
    }
    if (!ok) return false;
  }
  return true;
}

/* The order is that of the machine: arguments go over, the window is the
 * callee's, and only then may the call fail. */
static bool step_call(Verify *v, const Word *at) {
  if (!pass(v, at) || !leave_window(v, at->b) || !check_live(v)) return false;
  return info_at(v)->flags & END ? nothing_held(v) : set_results(v, at);
}

/* --- The others --------------------------------------------------------- */

/* A value that may be null moves only after a test of a flag, which this
 * walk does not follow: the value counts as there. */
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

/* A counted immediate 0 is the null of a hole, or of a lazy variable. */
static bool set_immediate(Verify *v, const Word *at) {
  bool counted = v->l->counts[v->at];
  if (counted && at->b == 0) return set(v, at->a, (Slot){.kind = NOTHING});
  return set_value(v, at->a, counted);
}

static bool step_drop(Verify *v, const Word *at) {
  Slot *s = slot(v, at->a);
  bool may_be_null = at->op == INS_drop_maybe;
  if (is_null(s) && may_be_null) {
    *s = (Slot){.kind = UNSET};
    return true;
  }
  if (s->maybe && !may_be_null) return wrong(v, at->a, "is dropped when null");
  return drop_reference(v, at->a);
}

static bool each_read(Verify *v, const Word *at) {
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    if (o.role & (READS | LOOKS) && !read_reg(v, o.now.reg)) return false;
  return true;
}

static bool each_move(Verify *v, const Word *at) {
  for (OperandWalk o = word_operands(at); operand_next(&o);)
    if (o.role & MOVES && !move_out(v, o.now.reg)) return false;
  return true;
}

/* What a row cannot say. */
static bool check_more(Verify *v, const Word *at) {
  switch (at->op) {
    case INS_ref: return field_fits(v, at->b, at->c & REF_COUNTED);
    case INS_fields:
      return at->a != at->b || wrong(v, at->a, "is read where it has no value");
    case INS_global:
      return at->b == (v->l->counts[v->at] & 1) ||
             wrong(v, at->a, "is counted in the instruction or here, not both");
    default: return true;
  }
}

/* Follows the row, in this order: operands are read; if the instruction
 * fails then, what is live is dropped; operands move, a cell ends, results
 * are set. */
static bool step_row(Verify *v, const Word *at) {
  unsigned flags = info_at(v)->flags;
  if (!each_read(v, at) || !site_fits(v, at) || !check_cell(v, at) ||
      !check_more(v, at))
    return false;
  if (flags & (FAIL | ALLOC) && !check_live(v)) return false;
  if (flags & RET && !check_results(v, at)) return false;
  return each_move(v, at) && end_cell(v, at) && set_results(v, at) &&
         drop_taken(v, at) && (!(flags & RET) || nothing_held(v));
}

static bool step(Verify *v) {
  const Word *at = here(v);
  if (info_at(v)->flags & CALL) return step_call(v, at);
  switch (at->op) {
    case INS_move:
    case INS_move2: return step_move(v, at);
    case INS_imm: return set_immediate(v, at);
    case INS_keep: return read_reg(v, at->a) && keep(v, at->a);
    case INS_drop:
    case INS_drop_maybe: return step_drop(v, at);
    case INS_loop: return check_live(v) && arrive_at_head(v);
    case INS_lower:
    case INS_leave:
    case INS_halt:
    case INS_next_step:
      return wrong(v, NO_FLAW_REG, "this instruction belongs to no function");
    default: return step_row(v, at);
  }
}

/* --- The walk ----------------------------------------------------------- */

static bool leave_by_jumps(Verify *v) {
  for (OperandWalk o = word_operands(here(v)); operand_next(&o);)
    if (o.role & JUMPS && !arrive(v, (uint32_t)target(v, &o))) return false;
  return true;
}

/* Walks from a place where all paths have arrived to where others have yet to.
 * The state of the running path is used in place and copied where paths
 * part. */
static bool walk_from(Verify *v, uint32_t at) {
  if (v->saved[at]) {
    state_free(v, v->now);
    v->now = v->saved[at];
    v->saved[at] = NULL;
  }
  for (v->at = at;; v->at += ins_length(here(v))) {
    v->marks[v->at] &= (uint8_t)~REACHED;
    if (v->at == v->head_at) {
      v->head = state_copy(v, v->now);
      if (!v->head) return no_memory(v);
    }
    if (!step(v) || !leave_by_jumps(v)) return false;
    if (mem_exhausted(v->arena.mem)) return no_memory(v);
    if (info_at(v)->flags & END) return true;
    uint32_t next = v->at + ins_length(here(v));
    if (v->edges[next] > 1 || v->saved[next]) return arrive(v, next);
    v->edges[next] = 0;
  }
}

/* A borrowed parameter is a view of the caller's value: it stands as long as
 * the call. */
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

/* What is still marked as reached was waited for in vain: a backward jump that
 * is no loop. */
static bool walk(Verify *v) {
  enter(v);
  VEC_PUSH(&v->ready, 0);
  while (v->ready.len)
    if (!walk_from(v, VEC_POP(&v->ready))) return false;
  for (v->at = 0; v->at < v->l->count; v->at++)
    if (v->marks[v->at] & REACHED) return wrong(v, NO_FLAW_REG, comes_back);
  return true;
}

/* --- The whole ---------------------------------------------------------- */

static bool verify_init(Verify *v, const Listing *l, Mem *mem, Flaw *flaw) {
  *v = (Verify){.l = l, .flaw = flaw, .head_at = UINT32_MAX};
  Arena *arena = &v->arena;
  arena_init(arena, mem);
  VEC_INIT(&v->ready, mem);
  VEC_INIT(&v->origins, mem);
  birth(v, (Origin){0}); /* of what was never set */
  v->marks = ARENA_ARRAY(arena, uint8_t, l->count);
  v->edges = ARENA_ARRAY(arena, uint32_t, l->count);
  v->saved = ARENA_ARRAY(arena, State *, l->count);
  v->now = arena_alloc(arena, state_size(v));
  v->stood = ARENA_ARRAY(arena, uint8_t, l->nregs);
  v->born = ARENA_ARRAY(arena, uint32_t, l->nregs);
  return v->origins.len && v->marks && v->edges && v->saved && v->now &&
         v->stood && v->born;
}

bool code_verify(const Listing *l, Mem *mem, Flaw *flaw) {
  Verify v;
  bool ok = verify_init(&v, l, mem, flaw) || no_memory(&v);
  if (ok && l->nparams > l->nregs)
    ok = wrong(&v, l->nregs, "a parameter is not in the window");
  ok = ok && decode(&v) && find_paths(&v) && walk(&v);
  if (mem_exhausted(mem)) ok = no_memory(&v);
  VEC_DONE(&v.ready);
  VEC_DONE(&v.origins);
  arena_done(&v.arena);
  return ok;
}
