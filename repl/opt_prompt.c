/* :opt: an expression and what it uses, after passes, as text.
 *
 * The definitions and `let`s that the expression reaches are printed as a
 * program, with the expression after them; passes run over that.  The session
 * and its program are left alone. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "repl/opt.h"
#include "repl/repl.h"

/* --- What is asked -------------------------------------------------------- */

/* The word that `text` begins with, up to a blank outside of parentheses. */
static size_t word_length(const char *text) {
  size_t n = 0;
  for (int depth = 0;
       text[n] && (depth > 0 || !isspace((unsigned char)text[n])); n++)
    depth += (text[n] == '(') - (text[n] == ')');
  return n;
}

/* Does it begin with the name of a pass?  A constructor has such a name, too,
 * but none that is a pass's. */
static bool names_pass(const char *text) {
  char name[64];
  size_t n = strcspn(text, ",( \t");
  if (n >= sizeof name) return false;
  memcpy(name, text, n);
  name[n] = '\0';
  const PassInfo *pass = pass_find(name);
  return pass && pass->bound;
}

/* `-O2 EXPR`, `A,B(n=4) EXPR` or `EXPR`.  NULL after reporting. */
static const char *read_words(Repl *r, const char *rest, Pipeline *out) {
  Program *p = r->host->program->ir;
  const char *text = pipeline_level(1);
  size_t n = word_length(rest);
  bool dashed = !strncmp(rest, "-O", 2);
  bool level = dashed && n == 3 && rest[2] >= '0' && rest[2] <= '2';
  if (dashed && !level) {
    repl_refuse("opt", "there are -O0, -O1 and -O2, and no %.*s",
                n < 20 ? (int)n : 20, rest);
    return NULL;
  }
  char *named = NULL;
  if (level) text = pipeline_level(rest[2] - '0');
  else if (names_pass(rest)) text = named = strndup(rest, n);
  else n = 0;
  out->count = 0;
  bool ok = text && pipeline_read(p, ":opt", text, out);
  free(named);
  rest += n + strspn(rest + n, " \t");
  if (ok && !*rest) repl_refuse("opt", "takes an expression after the passes");
  return ok && *rest ? rest : NULL;
}

/* --- The program ---------------------------------------------------------- */

/* What the expression needs, as a unit of its own, is printed. */
typedef struct Wanted {
  Program *p;
  PtrMap met; /* globals */
  VEC(Item) items;
  VEC(Step) steps;
  StrBuf text;
} Wanted;

/* Globals that the value of one mentions are met as well.  Of an instance, the
 * function that its text defines is what is printed. */
static void meet(Wanted *w, const Expr *root) {
  ExprWalk walk;
  expr_walk_start(&walk, w->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&walk)) {
    Global *g = walk.at->kind == EX_GLOBAL ? walk.at->g.global : NULL;
    if (!g || ptrmap_has(&w->met, g)) continue;
    ptrmap_put(&w->met, g, g);
    const Global *written = global_of_text(g);
    ptrmap_put(&w->met, written, (void *)written);
    if (g->value) expr_walk_add(&walk, g->value);
  }
  expr_walk_end(&walk);
}

/* A `let` is evaluated by a step, which may mention what stands before it. */
static void meet_steps(Wanted *w) {
  size_t met;
  do {
    met = w->met.len;
    for (const Unit *u = w->p->units; u; u = u->next)
      for (int i = 0; i < u->step_count; i++)
        if (u->steps[i].global && ptrmap_has(&w->met, u->steps[i].global))
          meet(w, u->steps[i].expr);
  } while (w->met.len > met && !mem_exhausted(w->p->mem));
}

static void add_items(Wanted *w, const Unit *u) {
  for (int i = 0, step = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    const Step *s = item_is_step(item) ? &u->steps[step++] : NULL;
    bool let = s && item->kind != ITEM_EXPR;
    const Global *g = let ? s->global : s ? NULL : item_global(w->p, item);
    if (g && !let && g->span.lo != item->name_span.lo)
      g = NULL; /* defined anew */
    const Adt *adt = item->kind == ITEM_TYPE
                         ? scope_adt(&w->p->user, item->adt->name)
                         : NULL;
    bool newest = adt && adt->span.lo == item->adt->span.lo;
    bool alias = item->kind == ITEM_TYPE && item->adt->meaning;
    if (!newest && !alias && !(g && ptrmap_has(&w->met, g))) continue;
    VEC_PUSH(&w->items, *item);
    if (s) VEC_PUSH(&w->steps, *s);
  }
}

static void print_wanted(void *wanted, const Expr *e) {
  Wanted *w = wanted;
  Item last = {.kind = ITEM_EXPR, .span = e->span, .expr = e};
  Step step = {.kind = STEP_EXPR, .expr = e, .span = e->span};
  meet(w, e);
  meet_steps(w);
  for (const Unit *u = w->p->units; u; u = u->next)
    if (!u->source->library) add_items(w, u);
  VEC_PUSH(&w->items, last);
  VEC_PUSH(&w->steps, step);
  if (mem_exhausted(w->p->mem)) return;
  Unit unit = {.items = w->items.data,
               .item_count = (int)w->items.len,
               .steps = w->steps.data,
               .step_count = (int)w->steps.len};
  unit_print_checked(w->p, &unit, &w->text);
}

/* --- The command ---------------------------------------------------------- */

static void put_optimised(Repl *r, Version *v, Pipeline *pipeline) {
  bool ok = true;
  for (int i = 0; ok && i < pipeline->count; i++)
    ok = opt_run_pass(r->host, v, &(OptPass){.call = pipeline->calls[i]});
  StrBuf out;
  strbuf_init(&out, r->host->program->mem);
  if (ok) version_print(v, &out);
  if (ok && !mem_exhausted(out.mem))
    host_write(r->host, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

void opt_run_prompt(Repl *r, const char *rest) {
  Host *h = r->host;
  Pipeline pipeline;
  Wanted w = {.p = h->program->ir};
  const char *expr = read_words(r, rest, &pipeline);
  ptrmap_init(&w.met, w.p->mem);
  VEC_INIT(&w.items, w.p->mem);
  VEC_INIT(&w.steps, w.p->mem);
  strbuf_init(&w.text, w.p->mem);
  if (expr && program_look_at(h->program, expr, strlen(expr), print_wanted,
                              &w) == RLY_OK) {
    Version v;
    if (version_of_text(h, "what it uses", strbuf_text(&w.text), w.text.len,
                        &v)) {
      put_optimised(r, &v, &pipeline);
      version_done(h, &v);
    }
  }
  strbuf_done(&w.text);
  VEC_DONE(&w.steps);
  VEC_DONE(&w.items);
  ptrmap_done(&w.met);
  host_report(h);
}
