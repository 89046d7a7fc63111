/* What stands beside a step on the page: the calls under way, the names of the
 * innermost one, the cells and who holds them, the larger operands.
 *
 * A row is a name, its value in brief and, where larger tensors are in it, what
 * is opened to see them.  What the step has bound or changed is marked.  The
 * number of rows is bounded, and what is left out is counted. */
#include <stdio.h>

#include "stepper/page.h"

enum {
  LEVELS_MOST = 8,
  NAMES_MOST = 24,
  CELLS_MOST = 12,
  CELL_WIDTH = 64,
  DEPTH_MOST = 4,
  PARTS_MOST = 16,
  ROW_MOST = 600, /* bytes of a value with its type */
};

static void begin(StrBuf *out, const char *class, const char *title) {
  strbuf_addf(out, "<section class=\"%s\"><h3>%s</h3>\n", class, title);
}

static void end(StrBuf *out) { strbuf_add(out, "</section>\n"); }

/* `name` and `value` are texts of the program. */
static void add_row(StepPage *p, bool marked, const StrBuf *name,
                    const StrBuf *value, const StepObj *v) {
  StrBuf *out = &p->text, figures;
  strbuf_init(&figures, p->mem);
  int count = heats_add_figures(&p->heats, &figures, v);
  strbuf_addf(out, "<div class=\"row%s\"><code>", marked ? " new" : "");
  html_add_cut(out, name, ROW_MOST);
  strbuf_add(out, "</code> <span>");
  html_add_cut(out, value, ROW_MOST);
  strbuf_add(out, "</span>");
  if (count) {
    strbuf_add(out, "<details><summary>look</summary>\n");
    strbuf_add_len(out, strbuf_text(&figures), figures.len);
    strbuf_add(out, "</details>");
  }
  strbuf_add(out, "</div>\n");
  strbuf_done(&figures);
}

static void add_left(StrBuf *out, uint64_t count) {
  if (count)
    strbuf_addf(out, "<p class=\"left\">and %llu more</p>\n",
                (unsigned long long)count);
}

/* --- Calls ---------------------------------------------------------------- */

static void add_calls(StepPage *p) {
  size_t count = stepper_level_count(p->stepper);
  StrBuf text;
  if (!count) return;
  begin(&p->text, "calls", "calls");
  strbuf_add(&p->text, "<ol>\n");
  strbuf_init(&text, p->mem);
  for (size_t i = 0; i < count && i < LEVELS_MOST; i++) {
    VEC_CLEAR(&text);
    stepper_level_print(p->stepper, i, false, &text);
    strbuf_add(&p->text, "<li>");
    html_add_cut(&p->text, &text, 2 * ROW_MOST);
    strbuf_add(&p->text, "</li>\n");
  }
  strbuf_done(&text);
  strbuf_add(&p->text, "</ol>\n");
  if (count > LEVELS_MOST) add_left(&p->text, count - LEVELS_MOST);
  end(&p->text);
}

/* --- Names ---------------------------------------------------------------- */

/* The facts of a tensor that is drawn stand in its caption. */
static void add_typed(StepPage *p, StrBuf *out, const StepObj *v,
                      const Type *type) {
  if (v->kind != V_TENSOR || v->tensor->rank == 0) {
    brief_typed(p->stepper, out, v, type);
    return;
  }
  tensor_print_type(out, v->tensor);
  size_t len = out->len;
  strbuf_add_char(out, ' ');
  if (!tensor_print_line(out, v->tensor, CELL_WIDTH)) brief_cut(out, len);
}

typedef struct NameRows {
  StepPage *page;
  PtrMap bound; /* the variables that the step bound */
  uint64_t count;
} NameRows;

static void find_bound(NameRows *n, const StepEntry *e, const StepObj *env) {
  const StepObj *old = select_env_before(e);
  bool binds = e->outcome == STEP_RULE && e->after.expr && env == e->after.env;
  for (; binds && env && env != old; env = env->fields[OUTER]) {
    if (env->kind == E_BIND) ptrmap_put(&n->bound, env->key, n);
    for (uint32_t i = 0; env->kind == E_GROUP && i < env->size; i++)
      ptrmap_put(&n->bound, env->bindings[i].var, n);
  }
}

static bool add_name(void *rows, const Var *var, const StepObj *v) {
  NameRows *n = rows;
  if (n->count++ >= NAMES_MOST) return true;
  StrBuf name, value;
  strbuf_init(&name, n->page->mem);
  strbuf_init(&value, n->page->mem);
  strbuf_addf(&name, "%%%s", var->name->text);
  add_typed(n->page, &value, v, var->type);
  add_row(n->page, ptrmap_has(&n->bound, var), &name, &value, v);
  strbuf_done(&name);
  strbuf_done(&value);
  return true;
}

static void add_names(StepPage *p, const StepEntry *e) {
  StepLevel level;
  NameRows n = {.page = p};
  if (!frames_level(p->stepper, 0, &level) || !level.env) return;
  ptrmap_init(&n.bound, p->mem);
  find_bound(&n, e, level.env);
  begin(&p->text, "names", "names");
  frames_each_var(p->stepper, level.env, add_name, &n);
  if (n.count > NAMES_MOST) add_left(&p->text, n.count - NAMES_MOST);
  end(&p->text);
  ptrmap_done(&n.bound);
}

/* --- Cells ---------------------------------------------------------------- */

/* Who holds a cell: a name, or what a name stands for holds it. */
typedef struct Holder {
  const StepObj *cell;
  char sigil;
  const char *name;
  bool inside; /* in a tuple, a constructor or another cell */
  size_t level;
} Holder;

typedef struct CellRows {
  StepPage *page;
  const StepObj *changed, *was; /* as say_changed() gives them */
  VEC(Holder) holders;
  Holder at;
} CellRows;

static void find_cells(CellRows *c, const StepObj *v, int depth) {
  bool has_parts = v->kind == V_TUPLE || v->kind == V_DATA;
  if (v->kind == V_CELL) {
    c->at.cell = v;
    c->at.inside = depth > 0;
    VEC_PUSH(&c->holders, c->at);
    return;
  }
  for (uint32_t i = 0;
       has_parts && depth < DEPTH_MOST && i < v->count && i < PARTS_MOST; i++)
    find_cells(c, v->fields[i], depth + 1);
}

static bool hold(void *rows, const Var *var, const StepObj *v) {
  CellRows *c = rows;
  c->at.sigil = '%';
  c->at.name = var->name->text;
  find_cells(c, v, 0);
  return true;
}

/* Names of the calls under way, the innermost first, then global ones. */
static void find_holders(CellRows *c) {
  Stepper *s = c->page->stepper;
  StepLevel level;
  for (size_t i = 0; i < LEVELS_MOST && frames_level(s, i, &level); i++) {
    c->at.level = i;
    if (level.env) frames_each_var(s, level.env, hold, c);
  }
  c->at.level = 0;
  const StepMachine *m = s->machine;
  for (size_t i = 0; i < m->globals.len && i < s->program->values.len; i++) {
    const Global *g = s->program->values.data[i];
    c->at.sigil = *global_sigil(g);
    c->at.name = g->name->text;
    if (m->globals.data[i]) find_cells(c, m->globals.data[i], 0);
  }
}

static void add_holders(const CellRows *c, const StepObj *cell, StrBuf *out) {
  int count = 0;
  for (size_t i = 0; i < c->holders.len; i++) {
    const Holder *h = &c->holders.data[i];
    if (h->cell != cell) continue;
    if (count++ == PARTS_MOST) break;
    strbuf_addf(out, "%s%c%s%s", count > 1 ? ", " : "  held by ", h->sigil,
                h->name, h->inside ? " (inside)" : "");
    if (h->level) strbuf_addf(out, " of call %zu", h->level + 1);
  }
  if (count > 1) strbuf_add(out, ": one cell");
}

/* "cell#1" "1 -> 5  held by %c, @g: one cell" */
static void add_cell(void *rows, const StepObj *cell, uint64_t before) {
  const CellRows *c = rows;
  StepPage *p = c->page;
  bool changed = cell == c->changed;
  StrBuf name, value;
  if (!before) begin(&p->text, "cells", "cells");
  strbuf_init(&name, p->mem);
  strbuf_init(&value, p->mem);
  strbuf_addf(&name, "cell#%u", cell->serial);
  if (changed && c->was) {
    brief_value(p->stepper, &value, c->was, CELL_WIDTH);
    strbuf_add(&value, " -> ");
  }
  brief_value(p->stepper, &value, cell->fields[CONTENT], CELL_WIDTH);
  add_holders(c, cell, &value);
  add_row(p, changed, &name, &value, cell->fields[CONTENT]);
  strbuf_done(&name);
  strbuf_done(&value);
}

/* The search for cells goes over all that is alive, so programs without any are
 * not searched. */
static void add_cells(StepPage *p, const StepEntry *e) {
  StepMachine *m = p->stepper->machine;
  if (!m->cells) return;
  CellRows c = {.page = p};
  c.changed = say_changed(p->stepper, e, &c.was);
  VEC_INIT(&c.holders, p->mem);
  find_holders(&c);
  size_t len = p->text.len;
  add_left(&p->text,
           say_each_cell(p->stepper, c.changed, CELLS_MOST, add_cell, &c));
  if (p->text.len > len) end(&p->text);
  VEC_DONE(&c.holders);
}

/* --- Operands ------------------------------------------------------------- */

static void add_operand(StepPage *p, const char *name, const StepObj *v,
                        const Type *type) {
  StrBuf title, value, figures;
  strbuf_init(&title, p->mem);
  strbuf_init(&value, p->mem);
  strbuf_init(&figures, p->mem);
  strbuf_add(&title, name);
  if (heats_add_figures(&p->heats, &figures, v)) {
    add_typed(p, &value, v, type);
    add_row(p, false, &title, &value, v);
  }
  strbuf_done(&title);
  strbuf_done(&value);
  strbuf_done(&figures);
}

/* Those with larger tensors; of the others the sentence tells all. */
static void add_operands(StepPage *p, const StepEntry *e) {
  Redex r = redex_of(e);
  if (e->outcome != STEP_RULE || e->rule == REDUCE_VAR) return;
  begin(&p->text, "operands", "operands and result");
  bool operands = r.expr && r.frame && r.frame->kind == K_CHILD;
  for (int i = 0; operands && i < r.expr->count && i < r.count; i++) {
    char name[32];
    snprintf(name, sizeof name, "operand %d", i + 1);
    add_operand(p, name, redex_child(&r, i), r.expr->args[i]->type);
  }
  if (!e->after.expr && e->after.value)
    add_operand(p, "gives", e->after.value, r.expr ? r.expr->type : NULL);
  end(&p->text);
}

void panel_add(StepPage *p, const StepEntry *e) {
  strbuf_add(&p->text, "<div class=\"side\">\n");
  add_calls(p);
  add_names(p, e);
  add_cells(p, e);
  add_operands(p, e);
  strbuf_add(&p->text, "</div>\n");
}
