/* The parts of an item as a tree, for :dbg: each call, let, branch and variable
 * with its value, below the part that needed it.
 *
 *   @f(2) * 3            => 15
 *   `- @f(2)             => 5
 *      |- %n             => 2
 *      `- %n + 3         => 5
 *
 * The machine says where it is at every move (StepMachine.watch), and the depth
 * of its frames says what belongs together: an expression that is looked at
 * with d frames below it has its value when a value is handed on with d frames
 * below that.  `open` holds the parts that still wait, the innermost last.  A
 * tail call pushes no frame, so several parts may wait at one depth and get
 * the same value.
 *
 * Which expressions are parts: all but literals, functions, blocks, the text of
 * library functions, and variables that were shown before in the same call.
 * A value is turned into text when it arrives, since cells change later.
 *
 * The tree is bounded in every direction.  Of a recursion REPEAT calls are
 * shown, of the calls that a library function makes to one function, too; what
 * lies deeper than LEVELS, and parts beyond PARTS_MOST, are counted. */
#include <string.h>

#include "base/clock.h"
#include "stepper/inside.h"
#include "tensor/facts.h"

enum {
  LEVELS = 12,
  PARTS_MOST = 1000,
  REPEAT = 3,
  ROOM_LEAST = 24, /* columns of a line, however deep */
  LITERAL_DEEP = 8
};

static const struct Effect {
  StepTraits trait;
  const char *name;
} effects[] = {{STEP_READS, "reads"},
               {STEP_WRITES, "writes"},
               {STEP_ALLOCATES, "allocates"},
               {STEP_PRINTS, "prints"}};

typedef struct Part {
  const Expr *expr;
  const Expr *fn; /* of a call, the function that was entered */
  int parent;     /* its index; -1: none */
  int level;
  size_t label, value; /* in the texts; value 0: none */
  unsigned traits;     /* of the rules that were applied, StepTraits */
  unsigned inside;     /* of those in the parts inside */
  unsigned nth;        /* of the calls of `fn` from `parent` */
  uint64_t left_out;   /* calls of the same function inside, or more like it */
  double begun, seconds;
  bool closed;  /* its parts are not shown */
  bool more;    /* there are such parts */
  bool counter; /* it is a line that counts calls like those above it */
  bool failed;
} Part;

typedef struct Open {
  int part;
  uint32_t depth;
} Open;

struct StepTree {
  Stepper *s;
  int width;
  VEC(Part) parts;
  VEC(Open) open;
  StrBuf texts;    /* each with a NUL */
  PtrMap shown;    /* Var or Global -> 1 + the call in which it was shown */
  PtrMap last;     /* a function -> 1 + the part of its last call from a library
                      function */
  uint64_t beyond; /* parts beyond PARTS_MOST */
};

static Part *top(StepTree *t) {
  if (!t->open.len) return NULL;
  return &t->parts.data[t->open.data[t->open.len - 1].part];
}

static bool is_closed(StepTree *t) {
  const Part *p = top(t);
  return p && p->closed;
}

/* --- Texts --------------------------------------------------------------- */

/* The program's text with each run of blanks as one. */
static void add_text(StepTree *t, Span span) {
  uint32_t len = 0;
  const char *text = sources_text(t->s->program->sources, span, &len);
  for (uint32_t i = 0; text && i < len; i++) {
    bool blank = strchr(" \t\r\n", text[i]);
    if (!blank) strbuf_add_char(&t->texts, text[i]);
    else if (i + 1 < len && !strchr(" \t\r\n", text[i + 1]))
      strbuf_add_char(&t->texts, ' ');
  }
}

/* `if (c)` and `match (e)`, without what follows in braces. */
static void add_head(StepTree *t, const Expr *e) {
  uint32_t len = 0, from = e->args[0]->span.hi, n = 0;
  Span rest = {from, e->span.hi};
  const char *text = sources_text(t->s->program->sources, rest, &len);
  while (text && n < len && text[n] != '{') n++;
  while (n && strchr(" \t\r\n", text[n - 1])) n--;
  add_text(t, (Span){e->span.lo + e->parens, from + n});
}

static void add_expr(StepTree *t, const Expr *e) {
  bool branches =
      (e->kind == EX_IF && e->sugar != SUGAR_AND && e->sugar != SUGAR_OR) ||
      e->kind == EX_MATCH;
  Span span = e->span;
  if (e->parens) span = (Span){span.lo + 1, span.hi - 1};
  if (branches) add_head(t, e);
  else add_text(t, span);
}

/* `let %x = `, of the frame that binds the value. */
static void add_binder(StepTree *t, const StepObj *frame) {
  if (frame->kind == K_DEFINE) {
    const Global *g = frame->global;
    strbuf_addf(&t->texts, "let %s%s = ", global_sigil(g), g->name->text);
    return;
  }
  const Binding *b = &frame->expr->block->bindings[frame->index];
  const char *let = b->sugar == SUGAR_GRAPH ? "" : "let ";
  strbuf_addf(&t->texts, "%s%%%s = ", let, b->var->name->text);
}

/* Does the frame bind the value of `e` to a name? */
static bool is_bound(StepTree *t, const Expr *e, const StepObj *frame) {
  if (!frame) return false;
  if (frame->kind == K_DEFINE) return !t->open.len;
  if (frame->kind != K_BINDING) return false;
  const Binding *b = &frame->expr->block->bindings[frame->index];
  return b->value == e && b->var;
}

/* Cuts the text from `from` on to that many columns, dots included. */
static void cut(StrBuf *out, size_t from, int columns) {
  const char *text = strbuf_text(out) + from;
  size_t len = out->len - from;
  if ((int)utf8_width(text, len) <= columns) return;
  size_t n = utf8_fit(text, len, (size_t)(columns > 3 ? columns - 3 : 0));
  brief_cut(out, from + n);
  strbuf_add(out, "...");
}

/* Without the number of elements, which the shape says. */
static void add_facts(StepTree *t, const Tensor *v) {
  StrBuf facts;
  strbuf_init(&facts, t->s->mem);
  tensor_print_facts(&facts, v);
  const char *text = strbuf_text(&facts), *rest = strstr(text, ", ");
  bool counted = v->dtype != DT_BOOL && rest;
  strbuf_addf(&t->texts, "(%s)", counted ? rest + 2 : text);
  strbuf_done(&facts);
}

/* A tensor with its elements, or its facts, or its type alone. */
static void add_tensor(StepTree *t, const StepObj *v, int room) {
  StrBuf *out = &t->texts;
  size_t from = out->len;
  brief_typed(t->s, out, v, NULL);
  if ((int)(out->len - from) <= room) return;
  brief_cut(out, from);
  tensor_print_type(out, v->tensor);
  size_t type = out->len;
  strbuf_add_char(out, ' ');
  add_facts(t, v->tensor);
  if ((int)(out->len - from) > room) brief_cut(out, type);
}

static void add_value(StepTree *t, const StepObj *v, int room) {
  StrBuf *out = &t->texts;
  size_t from = out->len;
  if (v->kind == V_TENSOR && v->tensor->rank > 0) {
    add_tensor(t, v, room);
  } else if (v->kind == V_CELL) {
    strbuf_add(out, "ref(");
    brief_value(t->s, out, v->fields[CONTENT], room - 5);
    strbuf_add_char(out, ')');
  } else {
    brief_value(t->s, out, v, room);
  }
  cut(out, from, room);
}

/* --- Parts --------------------------------------------------------------- */

/* The innermost call that is shown; -1: none. */
static int call_around(const StepTree *t) {
  for (size_t i = t->open.len; i-- > 0;)
    if (t->parts.data[t->open.data[i].part].fn) return t->open.data[i].part;
  return -1;
}

/* Has the name been shown in this call?  From now on it has. */
static bool was_shown(StepTree *t, const void *name) {
  void *call = (void *)(uintptr_t)(call_around(t) + 2);
  bool was = ptrmap_get(&t->shown, name) == call;
  ptrmap_put(&t->shown, name, call);
  return was;
}

static bool is_literal(const Expr *e, int deep) {
  if (e->kind == EX_CONST || e->kind == EX_CTOR) return true;
  bool data = e->kind == EX_TUPLE || e->kind == EX_LIST ||
              (e->kind == EX_CALL && e->call.callee->kind == EX_CTOR);
  if (!data || !deep) return false;
  for (int i = 0; i < e->count; i++)
    if (!is_literal(e->args[i], deep - 1)) return false;
  return true;
}

static bool in_library(const StepTree *t, Span span) {
  const SourceFile *f = sources_file(t->s->program->sources, span);
  return !f || f->library;
}

/* Whether the expression is a part of its own. */
static bool is_part(StepTree *t, const Expr *e, bool bound) {
  const Part *around = top(t);
  if (in_library(t, e->span)) return false;
  if (bound) return true;
  if (!around || e->kind == EX_BLOCK) return e->kind != EX_BLOCK;
  switch ((ExprKind)e->kind) {
    case EX_VAR: return e->type->kind != TY_FN && !was_shown(t, e->var);
    case EX_GLOBAL: return e->type->kind != TY_FN && !was_shown(t, e->g.global);
    case EX_CONST:
    case EX_FN:
    case EX_OP:
    case EX_CTOR: return false;
    case EX_TUPLE: /* that of [a, b], which is a stack of it */
      return around->expr->span.lo != e->span.lo &&
             !is_literal(e, LITERAL_DEEP);
    default: return !is_literal(e, LITERAL_DEEP);
  }
}

/* Begins a part whose label is at `label`.  NULL: there is no room.  Pointers
 * to other parts do not survive it. */
static Part *begin(StepTree *t, const Expr *e, size_t label, uint32_t depth) {
  if (t->parts.len == PARTS_MOST) {
    t->beyond++;
    brief_cut(&t->texts, label);
    return NULL;
  }
  int parent = t->open.len ? t->open.data[t->open.len - 1].part : -1;
  int level = parent < 0 ? 0 : t->parts.data[parent].level + 1;
  strbuf_add_char(&t->texts, '\0');
  VEC_PUSH(&t->parts, (Part){.expr = e,
                             .parent = parent,
                             .level = level,
                             .label = label,
                             .begun = clock_seconds(),
                             .closed = level == LEVELS});
  if (mem_exhausted(t->s->mem)) return NULL;
  VEC_PUSH(&t->open, (Open){(int)t->parts.len - 1, depth});
  return &t->parts.data[t->parts.len - 1];
}

/* `match (e)` goes on with the pattern that took the value. */
static void note_arm(StepTree *t, const Expr *e, uint32_t depth) {
  Part *p = top(t);
  if (!p || !p->expr || p->expr->kind != EX_MATCH || p->closed) return;
  if (t->open.data[t->open.len - 1].depth != depth) return;
  const Match *m = p->expr->match;
  for (int i = 0; i < m->arm_count; i++) {
    if (m->arms[i].body != e) continue;
    p->label = t->texts.len;
    add_head(t, p->expr);
    strbuf_add(&t->texts, " { ");
    add_text(t, m->arms[i].pattern->span);
    strbuf_add(&t->texts, " }");
    strbuf_add_char(&t->texts, '\0');
    return;
  }
}

/* --- What the machine does ------------------------------------------------ */

static void enter(StepTree *t, const StepMachine *m, uint32_t depth) {
  const Expr *e = m->now.expr;
  bool again = m->now.at > 0; /* a block's further bindings */
  if (again) return;
  if (is_closed(t)) {
    top(t)->more |= !is_literal(e, 0) && !in_library(t, e->span);
    return;
  }
  note_arm(t, e, depth);
  bool bound = is_bound(t, e, m->now.frames);
  if (!is_part(t, e, bound)) return;
  if (bound && m->now.frames->kind == K_BINDING) {
    const StepObj *f = m->now.frames;
    was_shown(t, f->expr->block->bindings[f->index].var);
  }
  size_t label = t->texts.len;
  if (bound) add_binder(t, m->now.frames);
  add_expr(t, e);
  begin(t, e, label, depth);
}

/* The part gets its value.  Where both do not fit into a line, the value may
 * take three fifths of it, and more if the label leaves it. */
static void give(StepTree *t, Part *p, const StepObj *v) {
  int room = t->width - 3 * p->level - 4;
  if (room < ROOM_LEAST) room = ROOM_LEAST;
  const char *label = t->texts.data + p->label;
  int wide = (int)utf8_width(label, strlen(label));
  int share = room * 3 / 5, left = room - wide > share ? room - wide : share;
  p->seconds = clock_seconds() - p->begun;
  p->value = t->texts.len;
  add_value(t, v, left);
  strbuf_add_char(&t->texts, '\0');
}

static void leave(StepTree *t, const StepObj *v, uint32_t depth) {
  while (t->open.len && t->open.data[t->open.len - 1].depth >= depth) {
    Open o = VEC_POP(&t->open);
    Part *p = &t->parts.data[o.part];
    if (!p->counter) give(t, p, v);
    if (p->parent >= 0)
      t->parts.data[p->parent].inside |= p->inside | p->traits;
  }
}

static void watch(void *tree, const StepMachine *m) {
  StepTree *t = tree;
  uint32_t depth = m->now.frames ? m->now.frames->depth : 0;
  if (mem_exhausted(t->s->mem)) return;
  if (m->now.expr) enter(t, m, depth);
  else leave(t, m->now.value, depth);
}

/* --- Calls ---------------------------------------------------------------- */

/* How often the function is under way. */
static int under_way(const StepTree *t, const Expr *fn) {
  int n = 0;
  for (size_t i = 0; i < t->open.len; i++)
    n += t->parts.data[t->open.data[i].part].fn == fn;
  return n;
}

/* "@f(1, [2f, 3f])", "fn(1)": a call that stands in the library. */
static void add_call(StepTree *t, const Redex *r, const Expr *fn) {
  const Global *g = brief_global(t->s, fn);
  strbuf_addf(&t->texts, g ? "@%s(" : "fn(", g ? g->name->text : "");
  for (int i = 0; i < r->expr->count; i++) {
    if (i) strbuf_add(&t->texts, ", ");
    brief_value(t->s, &t->texts, redex_child(r, i), 24);
  }
  strbuf_add_char(&t->texts, ')');
}

/* A library function calls one of the user's.  Of many such calls the first
 * ones have a part; the others share one that counts them. */
static void called_by_library(StepTree *t, const Redex *r, const Expr *fn) {
  const StepState *to = &t->s->machine->now;
  uint32_t depth = to->frames ? to->frames->depth : 0;
  int parent = t->open.len ? t->open.data[t->open.len - 1].part : -1;
  size_t before = (size_t)(uintptr_t)ptrmap_get(&t->last, fn);
  Part *last = before ? &t->parts.data[before - 1] : NULL;
  if (last && last->parent != parent) last = NULL;
  if (last && last->counter) {
    last->left_out++;
    VEC_PUSH(&t->open, (Open){(int)before - 1, depth});
    return;
  }
  unsigned nth = last ? last->nth + 1 : 1;
  bool counter = nth > REPEAT;
  size_t label = t->texts.len;
  if (!counter) add_call(t, r, fn);
  Part *p = begin(t, r->expr, label, depth);
  if (!p) return;
  p->fn = fn;
  p->nth = nth;
  p->counter = counter;
  p->closed |= counter;
  p->left_out = counter;
  ptrmap_put(&t->last, fn, (void *)(uintptr_t)t->parts.len);
}

static void called(StepTree *t, const StepEntry *e) {
  Redex r = redex_of(e);
  const StepObj *callee = redex_callee(&r);
  Part *p = top(t);
  if (!callee || callee->kind != V_CLOSURE) return;
  const Expr *fn = callee->expr;
  if (p && p->closed) {
    if (!p->counter) p->left_out += p->fn == fn;
    return;
  }
  if (p && p->expr == r.expr && !p->fn) {
    p->closed |= under_way(t, fn) >= REPEAT;
    p->fn = fn;
  } else if (in_library(t, r.expr->span) && !in_library(t, fn->span)) {
    called_by_library(t, &r, fn);
  }
}

StepStop stepper_tree_step(StepTree *t) {
  StepStop stop = stepper_move(t->s, MOVE_STEP);
  const StepEntry *e = stepper_entry(t->s);
  Part *p = top(t);
  if (stop == STOP_ERROR || stop == STOP_LIMIT) {
    if (p) p->failed = true;
  } else if (e && e->outcome == STEP_RULE) {
    if (p) p->traits |= step_rule_info[e->rule].traits;
    if (step_rule_has(e->rule, STEP_ENTERS)) called(t, e);
  }
  return stop;
}

/* --- Lines ---------------------------------------------------------------- */

/* Where a part itself, or a call of a function in it, has effects. */
static void print_effects(const Part *p, StrBuf *out) {
  unsigned set = p->traits | (p->fn || p->closed ? p->inside : 0);
  for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
    if (set & effects[i].trait)
      strbuf_addf(out, "%s%s", out->len ? ", " : "", effects[i].name);
}

static void print_note(const Part *p, StrBuf *out) {
  unsigned long long n = p->left_out;
  if (p->counter) return;
  if (n)
    strbuf_addf(out, "%llu more call%s of it inside", n, n == 1 ? "" : "s");
  else if (p->closed && p->more) strbuf_add(out, "more inside");
}

static void tell(StepTree *t, int at, bool last, StrBuf *label, StrBuf *effects,
                 StrBuf *note, StepPart *out) {
  const Part *p = &t->parts.data[at];
  brief_cut(label, 0);
  brief_cut(effects, 0);
  brief_cut(note, 0);
  print_effects(p, effects);
  print_note(p, note);
  const char *value = p->value && !p->counter ? t->texts.data + p->value : NULL;
  if (p->counter)
    strbuf_addf(label, "... %llu more like this",
                (unsigned long long)p->left_out);
  else strbuf_add(label, t->texts.data + p->label);
  int room = t->width - 3 * p->level - 4;
  if (room < ROOM_LEAST) room = ROOM_LEAST;
  if (value) room -= (int)utf8_width(value, strlen(value));
  if (effects->len) room -= (int)effects->len + 4;
  if (note->len) room -= (int)note->len + 6;
  cut(label, 0, room > 8 ? room : 8);
  *out = (StepPart){.level = p->level,
                    .last = last,
                    .label = strbuf_text(label),
                    .value = value,
                    .effects = strbuf_text(effects),
                    .note = strbuf_text(note),
                    .seconds = p->seconds,
                    .failed = p->failed};
}

/* The last part of each whole is found first: its line closes the branch. */
void stepper_tree_each(StepTree *t,
                       void (*visit)(void *data, const StepPart *p),
                       void *data) {
  VEC(int) last;
  StrBuf label, effects, note;
  StepPart part;
  if (mem_exhausted(t->s->mem)) return;
  VEC_INIT(&last, t->s->mem);
  strbuf_init(&label, t->s->mem);
  strbuf_init(&effects, t->s->mem);
  strbuf_init(&note, t->s->mem);
  for (size_t i = 0; i < t->parts.len; i++) VEC_PUSH(&last, -1);
  for (size_t i = 0; i < t->parts.len && last.len == t->parts.len; i++)
    if (t->parts.data[i].parent >= 0)
      last.data[t->parts.data[i].parent] = (int)i;
  for (size_t i = 0; i < t->parts.len && last.len == t->parts.len; i++) {
    int parent = t->parts.data[i].parent;
    bool ends = parent < 0 || last.data[parent] == (int)i;
    tell(t, (int)i, ends, &label, &effects, &note, &part);
    visit(data, &part);
  }
  if (t->beyond) {
    brief_cut(&label, 0);
    strbuf_addf(&label, "... %llu more parts", (unsigned long long)t->beyond);
    visit(data, &(StepPart){.last = true,
                            .label = strbuf_text(&label),
                            .effects = "",
                            .note = ""});
  }
  strbuf_done(&note);
  strbuf_done(&effects);
  strbuf_done(&label);
  VEC_DONE(&last);
}

/* --- Life ----------------------------------------------------------------- */

/* Offset 0 of the texts is taken, so that 0 can stand for none. */
void stepper_tree_clear(StepTree *t) {
  VEC_CLEAR(&t->parts);
  VEC_CLEAR(&t->open);
  VEC_CLEAR(&t->texts);
  strbuf_add_char(&t->texts, '\0');
  ptrmap_done(&t->shown);
  ptrmap_done(&t->last);
  ptrmap_init(&t->shown, t->s->mem);
  ptrmap_init(&t->last, t->s->mem);
  t->beyond = 0;
}

StepTree *stepper_tree_new(Stepper *s, int width) {
  StepTree *t = mem_alloc_zeroed(s->mem, sizeof *t);
  if (!t) return NULL;
  t->s = s;
  t->width = width;
  VEC_INIT(&t->parts, s->mem);
  VEC_INIT(&t->open, s->mem);
  strbuf_init(&t->texts, s->mem);
  ptrmap_init(&t->shown, s->mem);
  ptrmap_init(&t->last, s->mem);
  stepper_tree_clear(t);
  s->machine->watch = watch;
  s->machine->watch_data = t;
  return t;
}

void stepper_tree_free(StepTree *t) {
  if (!t) return;
  t->s->machine->watch = NULL;
  ptrmap_done(&t->last);
  ptrmap_done(&t->shown);
  strbuf_done(&t->texts);
  VEC_DONE(&t->open);
  VEC_DONE(&t->parts);
  mem_free(t->s->mem, t, sizeof *t);
}
