/* The current text of the program: slices of the source in which every
 * evaluated part is replaced by its value.
 *
 * The text is built from the inside out: first the expression being evaluated,
 * then frame by frame the expressions that wait for it, up to the body of the
 * function.
 *
 *   frames, innermost first    [2 * _]  [let %a = _; %a + 1]
 *   looked at                  %n - 1
 *   piece                      %n - 1
 *   around [2 * _]             2 * %n - 1          source with edits
 *   around [let ...]           let %a = 2 * %n - 1;
 *                              %a + 1
 *
 * The piece carries a mark (lo, hi), the redex, which moves along as text is
 * put around it.  So the reader sees the program that was written, with its own
 * layout, and not a printout of the machine's state; nothing of the source is
 * parsed again.
 *
 * Frames of another function end the text: the calls around it are shown on a
 * line each (add_around), with `_` in the place of this function's value.
 *
 * All of it is bounded: text beyond TEXT_MOST bytes is not built, names are
 * looked for in WALK_MOST nodes. */
#include "ir/walk.h"
#include "stepper/inside.h"

#include <stdlib.h>
#include <string.h>

enum {
  VALUE_WIDTH = 64,
  NAME_WIDTH = 40,
  NAMES_MOST = 8,
  AROUND_MOST = 2,
  AROUND_WIDTH = 66,
  WALK_MOST = 2000,
  TEXT_MOST = 100000
};

/* --- Pieces ------------------------------------------------------------- */

/* The text built so far, and the mark in it. */
typedef struct Piece {
  Stepper *s;
  StrBuf text;
  size_t lo, hi;
} Piece;

/* The source's own text; nothing where the span is of no file. */
static void add_slice(const Piece *p, StrBuf *out, Span span) {
  uint32_t len = 0;
  const char *text = sources_text(p->s->program->sources, span, &len);
  strbuf_add_len(out, text ? text : "", text ? len : 0);
}

/* Then the name is shown rather than the function's text. */
bool text_is_name(const Expr *e, const StepObj *v) {
  if (v->kind != V_CLOSURE && v->kind != V_OP && v->kind != V_CTOR)
    return false;
  return e->kind == EX_GLOBAL || e->kind == EX_VAR || e->kind == EX_OP ||
         e->kind == EX_CTOR;
}

/* Values are shown in brief; whoever wants all of one looks at it. */
static void add_value(const Piece *p, StrBuf *out, const Expr *e,
                      const StepObj *v) {
  if (e && text_is_name(e, v)) add_slice(p, out, e->span);
  else brief_value(p->s, out, v, VALUE_WIDTH);
}

/* A replacement within an expression's text. */
typedef struct Edit {
  Span span;
  const Expr *expr;     /* the span that is replaced */
  const StepObj *value; /* NULL: the piece itself */
} Edit;

typedef VEC(Edit) Edits;

static bool within(Span inner, Span outer) {
  return span_exists(inner) && span_exists(outer) && inner.lo >= outer.lo &&
         inner.hi <= outer.hi;
}

/* Parentheses are replaced with their contents, except those of `match (e)`.
 * `match (e)` needs its parentheses whatever stands in them. */
static Span place_of(const Expr *parent, const Expr *child) {
  Span span = child->span;
  bool stay = parent && parent->kind == EX_MATCH && child->parens;
  return stay ? (Span){span.lo + 1, span.hi - 1} : span;
}

/* `value` NULL: this is where the piece goes. */
static void push_edit(Edits *edits, const Expr *parent, const Expr *child,
                      const StepObj *value) {
  VEC_PUSH(edits, (Edit){place_of(parent, child), child, value});
}

static int by_place(const void *a, const void *b) {
  const Edit *x = a, *y = b;
  return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

/* Replaces the piece by `span` with the edits applied; the mark moves along.
 * Edits that overlap an earlier one, or lie outside, are passed over.  If the
 * piece finds no place (its source is elsewhere: a graph node's), it stays as
 * it is and the text around it is left out. */
static void rewrite(Piece *p, Span span, const Edits *edits) {
  StrBuf out;
  strbuf_init(&out, p->s->mem);
  if (edits->len > 1)
    qsort(edits->data, edits->len, sizeof *edits->data, by_place);
  uint32_t at = span.lo;
  bool placed = false;
  for (size_t i = 0; i < edits->len; i++) {
    const Edit *e = &edits->data[i];
    if (e->span.lo < at || e->span.hi > span.hi) continue;
    add_slice(p, &out, (Span){at, e->span.lo});
    at = e->span.hi;
    if (e->value) {
      add_value(p, &out, e->expr, e->value);
      continue;
    }
    placed = true;
    p->lo += out.len;
    p->hi += out.len;
    strbuf_add_len(&out, strbuf_text(&p->text), p->text.len);
  }
  if (!placed) { /* it is written at another place */
    strbuf_done(&out);
    return;
  }
  add_slice(p, &out, (Span){at, span.hi});
  strbuf_done(&p->text);
  p->text = out;
}

/* The redex is all that has been built so far. */
static void mark_all(Piece *p) {
  p->lo = 0;
  p->hi = p->text.len;
}

/* --- Nodes -------------------------------------------------------------- */

/* Wraps the piece in a node: the children before `index` have values, and the
 * piece stands for child `index`.  `done` has the values of the children before
 * it, the last first. */
static void around_child(Piece *p, const Expr *e, uint32_t index,
                         const StepObj *done) {
  Edits edits;
  VEC_INIT(&edits, p->s->mem);
  const Expr *here = step_child(e, step_child_at(e, index));
  for (; step_turn(index) > 0; done = done->fields[OUTER]) {
    const StepObj *v = done->fields[BOUND];
    const Expr *child = step_child(e, step_child_at(e, --index));
    if (v->kind != V_PROMISE) push_edit(&edits, e, child, v);
  }
  push_edit(&edits, e, here, NULL);
  rewrite(p, e->span, &edits);
  VEC_DONE(&edits);
}

/* Wraps the piece in a match, whose scrutinee or a guard it stands for.  An arm
 * is shown as it was written, with the rest of the match. */
static void around_match(Piece *p, const StepObj *f, const Expr *awaited) {
  const Expr *e = f->expr;
  bool guard = f->kind == K_GUARD;
  Edits edits;
  VEC_INIT(&edits, p->s->mem);
  if (guard) push_edit(&edits, e, e->args[0], f->fields[DONE]->fields[BOUND]);
  push_edit(&edits, guard ? NULL : e, awaited, NULL);
  rewrite(p, e->span, &edits);
  VEC_DONE(&edits);
}

/* Puts text on both sides of the piece and moves the mark. */
static void put_in(Piece *p, const char *before, const char *behind) {
  StrBuf out;
  strbuf_init(&out, p->s->mem);
  strbuf_add(&out, before);
  p->lo += out.len;
  p->hi += out.len;
  strbuf_add_len(&out, strbuf_text(&p->text), p->text.len);
  strbuf_add(&out, behind);
  strbuf_done(&p->text);
  p->text = out;
}

/* A block inside another expression gets its braces back, because its span had
 * them.  Each line gets two more blanks, so the mark moves by two for each line
 * before it. */
static void put_in_braces(Piece *p) {
  const char *text = strbuf_text(&p->text);
  size_t lines_to_lo = 1, lines_to_hi = 1;
  StrBuf out;
  strbuf_init(&out, p->s->mem);
  strbuf_add(&out, "{\n  ");
  for (size_t i = 0; i < p->text.len; i++) {
    strbuf_add_char(&out, text[i]);
    if (text[i] != '\n') continue;
    strbuf_add(&out, "  ");
    lines_to_lo += i < p->lo;
    lines_to_hi += i < p->hi;
  }
  strbuf_add(&out, "\n}");
  p->lo += 2 + 2 * lines_to_lo;
  p->hi += 2 + 2 * lines_to_hi;
  strbuf_done(&p->text);
  p->text = out;
}

/* Adds the bindings from `i` on, and the block's result. */
static void add_rest(Piece *p, const Block *b, int i) {
  StrBuf *out = &p->text;
  for (; i < b->count && out->len < TEXT_MOST; i++) {
    bool joined = b->bindings[i].kind == BIND_AND;
    strbuf_add(out, joined ? "\n" : out->len ? ";\n" : "");
    add_slice(p, out, b->bindings[i].span);
  }
  if (b->count) strbuf_add(out, ";");
  if (b->result->sugar == SUGAR_UNIT) return;
  if (b->count) strbuf_add(out, "\n");
  add_slice(p, out, b->result->span);
}

/* The binding with its value's text replaced: `let %a = _`. */
static void around_binding(Piece *p, const Expr *block, int i) {
  const Binding *b = &block->block->bindings[i];
  Edits edits;
  VEC_INIT(&edits, p->s->mem);
  push_edit(&edits, NULL, b->value, NULL);
  rewrite(p, b->span, &edits);
  VEC_DONE(&edits);
}

/* Shown as `let @x = ...;`, with what has been built so far. */
static void around_definition(Piece *p, const Global *g) {
  StrBuf before;
  strbuf_init(&before, p->s->mem);
  strbuf_addf(&before, "let %s%s = ", global_sigil(g), g->name->text);
  put_in(p, strbuf_text(&before), ";");
  strbuf_done(&before);
}

/* --- Frames ------------------------------------------------------------- */

/* The expression that frame `f` waits for; NULL if it is no part of the frame's
 * text. */
const Expr *text_awaited(const StepObj *f) {
  switch ((StepObjKind)f->kind) {
    case K_CHILD: return step_child(f->expr, step_child_at(f->expr, f->index));
    case K_BINDING: return f->expr->block->bindings[f->index].value;
    case K_ARMS: return f->expr->args[0];
    case K_GUARD: return f->expr->match->arms[f->index].guard;
    case K_DEFINE: return f->global->value;
    default: return NULL;
  }
}

/* Whether the text of `inner` is part of the frame's text.  A value's is
 * (NULL), the body of a function is not.  Compared by spans: a function's body
 * lies in its definition, not in the call that waits for it. */
static bool belongs(const Expr *inner, const StepObj *f) {
  const Expr *to = text_awaited(f);
  if (f->kind == K_DEFINE && !to) return true;
  return to && (!inner || inner == to || within(inner->span, to->span));
}

/* Frames that only compare the value with a type, or record it, show nothing.
 */
static bool is_transparent(const StepObj *f) {
  return f->kind == K_CALLED || f->kind == K_RESULT || f->kind == K_CUSTOM;
}

/* A frame of a derivative stands for a call, and lies above the frames of the
 * text around it. */
static bool is_derivative(const StepObj *f) {
  return f->kind == K_RUN || f->kind == K_SWEEP;
}

/* Passes the frames from `f` on that belong to one function.  Returns the first
 * frame that does not, or NULL.  A definition has nothing around it. */
static const StepObj *pass(const Expr *inner, const StepObj *f) {
  for (; f; f = f->fields[BELOW]) {
    if (is_transparent(f)) continue;
    if (!belongs(inner, f)) return f;
    if (f->kind == K_DEFINE) return NULL;
    inner = f->expr;
  }
  return NULL;
}

const StepObj *text_boundary(const StepState *state) {
  return pass(state->expr, state->frames);
}

/* Adds the text of the frames to the piece.  With `first`, the rule applies to
 * the first of them.  Returns the outermost expression.  A block is shown as
 * its remaining lines.  When it stands inside another expression, its braces
 * were part of the span that is replaced, so they are put back. */
static const Expr *around_frames(Piece *p, const Expr *inner, const StepObj *f,
                                 bool first) {
  bool block = inner && inner->kind == EX_BLOCK;
  for (; f && p->text.len < TEXT_MOST; f = f->fields[BELOW]) {
    if (is_transparent(f)) continue;
    if (!belongs(inner, f)) break;
    if (block) put_in_braces(p);
    block = f->kind == K_BINDING;
    if (f->kind == K_DEFINE) {
      around_definition(p, f->global);
      if (first) mark_all(p);
      break;
    }
    inner = f->expr;
    if (f->kind == K_CHILD) {
      around_child(p, inner, f->index, f->fields[DONE]);
      if (first) mark_all(p);
    } else if (f->kind == K_ARMS || f->kind == K_GUARD) {
      around_match(p, f, text_awaited(f));
      if (first) mark_all(p);
    } else {
      around_binding(p, inner, (int)f->index);
      if (first) mark_all(p);
      add_rest(p, inner->block, (int)f->index + 1);
    }
    first = false;
  }
  return inner;
}

/* The call that a derivative is for, in its text. */
static const Expr *add_call_of(Piece *p, const StepObj *f) {
  add_slice(p, &p->text, f->expr->span);
  mark_all(p);
  const Expr *top = around_frames(p, f->expr, f->fields[BELOW], false);
  return top ? top : f->expr;
}

/* Of a block the redex is the next binding, with the rest of the block after
 * it; of any other expression, all of it. */
static void add_looked_at(Piece *p, const StepState *at) {
  if (at->expr->kind != EX_BLOCK) {
    add_slice(p, &p->text, at->expr->span);
    mark_all(p);
    return;
  }
  const Block *b = at->expr->block;
  add_rest(p, b, at->at);
  p->hi = p->text.len;
  if (at->at < b->count) {
    Span span = b->bindings[at->at].span;
    p->hi = span.hi - span.lo;
  }
}

/* --- Indentation -------------------------------------------------------- */

static size_t indent_of(const char *line) { return strspn(line, " "); }

/* The number of leading blanks that all lines but the first share. */
static size_t common_indent(const char *text) {
  size_t least = SIZE_MAX;
  for (const char *p = strchr(text, '\n'); p; p = strchr(p, '\n')) {
    size_t n = indent_of(++p);
    if (p[n] && p[n] != '\n' && n < least) least = n;
  }
  return least == SIZE_MAX ? 0 : least;
}

/* Removes the common indentation and moves the mark along.  The first line
 * begins where the slice began, in the middle of a line, so its indentation is
 * not counted. */
static void outdent(Piece *p, StepText *v) {
  const char *text = strbuf_text(&p->text);
  size_t n = common_indent(text);
  v->lo = p->lo;
  v->hi = p->hi;
  for (size_t i = 0; i < p->text.len; i++) {
    strbuf_add_char(&v->text, text[i]);
    if (text[i] != '\n') continue;
    size_t gone = indent_of(text + i + 1);
    if (gone > n) gone = n;
    if (i < p->lo) v->lo -= gone < p->lo - i - 1 ? gone : p->lo - i - 1;
    if (i < p->hi) v->hi -= gone < p->hi - i - 1 ? gone : p->hi - i - 1;
    i += gone;
  }
  /* If memory ran out, the text is shorter than its length says. */
  if (v->hi > v->text.len) v->hi = v->text.len;
  if (v->lo > v->hi) v->lo = v->hi;
}

/* --- Names -------------------------------------------------------------- */

typedef struct Names {
  PtrMap seen;
  int shown, left;
} Names;

/* A named dimension has no sigil. */
static void add_spelling(Stepper *s, StrBuf *out, const Expr *e) {
  uint32_t len = 0;
  const char *text = sources_text(s->program->sources, e->span, &len);
  bool bare = len && strncmp(text, e->var->name->text, len) == 0;
  strbuf_addf(out, "%s%s", bare ? "" : "%", e->var->name->text);
}

/* Each variable once, in the order of the text.  Functions are left out: their
 * names say enough.  Beyond NAMES_MOST they are only counted. */
static void show_name(Stepper *s, Names *names, const Expr *e, StepObj *env,
                      StrBuf *out) {
  StepObj *v = step_lookup(s->machine, env, e->var);
  if (!v || ptrmap_has(&names->seen, e->var)) return;
  ptrmap_put(&names->seen, e->var, v);
  if (v->kind == V_PROMISE && v->evaluated) v = v->fields[CONTENT];
  if (v->kind == V_CLOSURE) return;
  if (++names->shown > NAMES_MOST) return;
  if (out->len) strbuf_add(out, ", ");
  add_spelling(s, out, e);
  strbuf_add(out, " = ");
  if (v->kind == V_PROMISE) strbuf_add(out, "(waits)");
  else brief_value(s, out, v, NAME_WIDTH);
}

/* The variables in `e` that have values, from left to right. */
static void show_names(Stepper *s, Names *names, const Expr *e, StepObj *env,
                       StrBuf *out) {
  ExprWalk w;
  expr_walk_start(&w, s->mem, WALK_ENTER, e);
  while (expr_walk_next(&w) && names->left-- > 0)
    if (w.at->kind == EX_VAR) show_name(s, names, w.at, env, out);
  expr_walk_end(&w);
}

static void show_block(Stepper *s, Names *names, const Block *b, int i,
                       StepObj *env, StrBuf *out) {
  for (; i < b->count; i++)
    if (b->bindings[i].value)
      show_names(s, names, b->bindings[i].value, env, out);
  show_names(s, names, b->result, env, out);
}

/* Children that have not been looked at.  Those before have become values and
 * are in the text as such. */
static void show_pending(Stepper *s, Names *names, const StepObj *f,
                         StrBuf *out) {
  const Expr *e = f->expr, *child;
  StepObj *env = f->fields[ENV];
  if (f->kind == K_BINDING) {
    show_block(s, names, e->block, (int)f->index + 1, env, out);
    return;
  }
  uint32_t next = f->kind == K_CHILD ? f->index + 1 : 1;
  while ((child = step_child(e, step_child_at(e, next++))))
    show_names(s, names, child, env, out);
  for (int i = 1; e->kind == EX_IF && i < 3; i++)
    show_names(s, names, e->args[i], env, out);
  for (int i = 0; e->kind == EX_MATCH && i < e->match->arm_count; i++)
    if (!e->match->arms[i].shares)
      show_names(s, names, e->match->arms[i].body, env, out);
}

/* Over the same frames as the text, so exactly the names that can be seen in
 * it. */
static void add_names(Stepper *s, const StepState *at, StrBuf *out) {
  Names names = {.left = WALK_MOST};
  ptrmap_init(&names.seen, s->mem);
  const Expr *e = at->expr;
  if (e && e->kind == EX_BLOCK)
    show_block(s, &names, e->block, at->at, at->env, out);
  else if (e) show_names(s, &names, e, at->env, out);
  for (const StepObj *f = at->frames; f; f = f->fields[BELOW]) {
    if (is_transparent(f)) continue;
    if (f->kind == K_DEFINE || !belongs(e, f)) break;
    show_pending(s, &names, f, out);
    e = f->expr;
  }
  if (names.shown > NAMES_MOST)
    strbuf_addf(out, ", and %d more", names.shown - NAMES_MOST);
  ptrmap_done(&names.seen);
}

/* --- Functions ---------------------------------------------------------- */

/* The global whose text contains `e`, or NULL. */
const Global *text_home(const Stepper *s, const Expr *e) {
  size_t after = stepper_home_from(s, e->span.lo + 1);
  const Home *h = after ? &s->homes.data[after - 1] : NULL;
  return h && within(e->span, h->span) ? h->global : NULL;
}

void text_add_function(StrBuf *out, const Global *g) {
  const char *name = g->name->text, *mark = strchr(name, '\'');
  if (!mark) strbuf_addf(out, "@%s", name);
  else strbuf_addf(out, "the rule of %.*s", (int)(mark - name), name);
}

/* "@fact", or nothing at the top level. */
static void add_home(Stepper *s, StrBuf *out, const Expr *e) {
  const Global *g = e ? text_home(s, e) : NULL;
  if (g) text_add_function(out, g);
}

/* Puts the text on one line: each run of blanks becomes one, and text far from
 * the mark is left out. */
static void add_line(StrBuf *out, const Piece *p) {
  const char *text = strbuf_text(&p->text);
  size_t half = AROUND_WIDTH / 2;
  size_t from = p->lo > half ? p->lo - half : 0;
  size_t to =
      from + AROUND_WIDTH < p->text.len ? from + AROUND_WIDTH : p->text.len;
  from = utf8_begin(text, from);
  to = utf8_next(text, to, p->text.len);
  if (from) strbuf_add(out, "... ");
  for (size_t i = from; i < to; i++) {
    bool blank = text[i] == ' ' || text[i] == '\n';
    if (!blank) strbuf_add_char(out, text[i]);
    else if (out->len && out->data[out->len - 1] != ' ')
      strbuf_add_char(out, ' ');
  }
  if (to < p->text.len) strbuf_add(out, " ...");
}

/* The first frame after those of the function that waits at `f`.  A graph
 * node's evaluation is a frame of its own (K_FORCE), above that of whoever
 * needed the node. */
const StepObj *text_behind(const StepObj *f) {
  if (is_derivative(f)) return pass(f->expr, f->fields[BELOW]);
  if (f->kind != K_FORCE) return pass(NULL, f);
  f = f->fields[BELOW];
  return f && f->kind == K_AGAIN ? f->fields[BELOW] : f;
}

/* The text of the function that waits at frame `f`, on one line. */
static void add_waiting(Stepper *s, StepView *v, const StepObj *f) {
  Piece p = {.s = s};
  StrBuf line;
  strbuf_init(&p.text, s->mem);
  strbuf_init(&line, s->mem);
  const Expr *top = NULL;
  if (is_derivative(f)) {
    strbuf_add(&line, f->kind == K_RUN ? "the run of " : "the sweep of ");
    top = add_call_of(&p, f);
  } else {
    strbuf_add(&p.text, f->kind == K_FORCE ? "(what waited)" : "_");
    mark_all(&p);
    if (f->kind != K_FORCE) top = around_frames(&p, NULL, f, false);
  }
  add_line(&line, &p);
  if (top && text_home(s, top)) {
    strbuf_add(&line, "  in ");
    add_home(s, &line, top);
  }
  strbuf_done(&p.text);
  if (VEC_RESERVE(&v->around, 1)) VEC_PUSH(&v->around, line);
  else strbuf_done(&line);
}

/* The innermost AROUND_MOST are shown, the others are counted. */
static void add_around_from(Stepper *s, StepView *v, const StepObj *f) {
  for (int i = 0; f && i < AROUND_MOST; f = text_behind(f), i++)
    add_waiting(s, v, f);
  for (; f; f = text_behind(f)) v->outer++;
}

/* --- The whole ---------------------------------------------------------- */

static bool is_rule(const StepEntry *e) { return e->outcome == STEP_RULE; }

/* The text of a state, in which the piece begins with the expression that is
 * looked at or the value that was received.  Where the value has just been
 * received, the redex is the node that gets it, so the mark is set on the first
 * frame's text (`first`).  Returns the outermost expression. */
static const Expr *add_state(Stepper *s, const StepState *at, bool first,
                             bool whole, StepText *out) {
  Piece p = {.s = s};
  strbuf_init(&p.text, s->mem);
  if (at->expr) {
    add_looked_at(&p, at);
  } else {
    const StepObj *f = at->frames;
    const Expr *from = f && f->kind == K_CHILD ? text_awaited(f) : NULL;
    add_value(&p, &p.text, from, at->value);
  }
  if (whole || !at->expr) mark_all(&p);
  const Expr *top = around_frames(&p, at->expr, at->frames, first);
  outdent(&p, out);
  strbuf_done(&p.text);
  return top;
}

/* --- Steps of a sweep ---------------------------------------------------- */

/* The operand whose adjoint it is; of tuples, the one that has it. */
static const Expr *operand_of(const Expr *e, const StepObj *record,
                              const StepObj *of) {
  const StepObj *args = record->fields[RECORD_ARGS];
  for (uint32_t i = 0; i < args->count && (int)i < e->count; i++) {
    const StepObj *v = args->fields[i];
    bool found = v == of;
    for (uint32_t k = 0; v->kind == V_TUPLE && k < v->count; k++)
      found |= v->fields[k] == of;
    if (found) return e->args[i];
  }
  return NULL;
}

const Expr *text_swept(const StepEntry *e, const Expr **operand) {
  const StepObj *f = redex_did(e);
  const StepObj *did = f->fields[DONE]->fields[SWEEP_DID];
  const StepObj *record = did->fields[DID_AT], *of = did->fields[DID_OF];
  *operand = NULL;
  if (!record || record->kind == R_INPUT || record->kind == R_READ)
    return f->expr;
  if (record->kind == R_CUSTOM) return record->expr;
  const Expr *at = record->site->expr;
  if (of && at->kind == EX_CALL) *operand = operand_of(at, record, of);
  return at;
}

/* The operator's call in the program's text, and around it the sweep. */
static void view_swept(Stepper *s, const StepEntry *e, StepView *v) {
  Piece p = {.s = s};
  const Expr *operand, *at = text_swept(e, &operand);
  strbuf_init(&p.text, s->mem);
  add_slice(&p, &p.text, at->span);
  mark_all(&p);
  if (operand && within(operand->span, at->span)) {
    p.lo = operand->span.lo - at->span.lo;
    p.hi = operand->span.hi - at->span.lo;
  }
  outdent(&p, &v->now);
  strbuf_done(&p.text);
  add_home(s, &v->inside, at);
  const StepObj *f = redex_did(e);
  add_around_from(s, v, at == f->expr ? text_behind(f) : f);
}

/* The sweep has ended, or has failed before a step. */
static void view_call(Stepper *s, const StepEntry *e, StepView *v) {
  Piece p = {.s = s};
  const StepObj *f = e->redex.frames;
  strbuf_init(&p.text, s->mem);
  const Expr *top = add_call_of(&p, f);
  outdent(&p, &v->now);
  strbuf_done(&p.text);
  add_home(s, &v->inside, top);
  add_around_from(s, v, text_behind(f));
}

void text_view(Stepper *s, const StepEntry *e, StepView *v) {
  const StepState *at = &e->redex;
  if (is_rule(e) && select_sweeps(e)) {
    view_swept(s, e, v);
    return;
  }
  if (!at->expr && at->frames && is_derivative(at->frames)) {
    view_call(s, e, v);
    return;
  }
  bool first = !at->expr && e->outcome != STEP_VALUE;
  const Expr *top = add_state(s, at, first, false, &v->now);
  add_names(s, at, &v->names);
  add_home(s, &v->inside, top);
  if (is_rule(e) || e->outcome == STEP_ERROR)
    add_around_from(s, v, text_boundary(at));
}

/* The contractum is all that the state after the rule looks at.  A rule that
 * binds a name or drops a value leaves nothing in its place, and what is marked
 * is empty: the rest of the block follows. */
void text_becomes(Stepper *s, const StepEntry *e, StepText *out,
                  StrBuf *inside) {
  if (!is_rule(e) || e->rule == REDUCE_DEFINE) return;
  add_home(s, inside, add_state(s, &e->after, false, true, out));
  if (select_takes(s, e, FOLD_LETS)) out->hi = out->lo;
}
