/* Holes: `_` where an expression should stand.  The message says what type is
 * wanted there and what in scope has it.
 *
 * A hole has an inference variable for its type.  When its component is solved,
 * the variable is bound to what the surroundings want, or it waits as an
 * operand of an operator, whose rule then judges what would fit. */
#include "types/infer.h"

enum { SHOWN_MOST = 8 };

Ty *hole_type(Infer *in, const Expr *e) {
  size_t i = (size_t)e->index;
  if (i == 0 || i > in->c->holes.len) return in->error;
  Hole *hole = in->c->holes.data[i - 1];
  if (!hole->type) hole->type = ty_meta(in);
  return hole->type;
}

/* --- What would fit ------------------------------------------------------ */

typedef struct Search {
  Infer *in;
  Ty *wanted;
  const Type *shown; /* the same, as far as it is known */
  Constraint *rule;  /* an operator's, whose operand it is; or NULL */
  int operand;
  StrBuf text;
  int found;
} Search;

/* Finds the operator that waits for the hole as an operand. */
static void find_rule(Search *s) {
  for (size_t k = 0; k < s->in->pending.len && !s->rule; k++) {
    Constraint *c = s->in->pending.data[k];
    if (c->kind != C_RULE || c->gone) continue;
    for (int i = 0; i < c->count && !s->rule; i++) {
      if (ty_head(c->args[i]) != s->wanted) continue;
      s->rule = c;
      s->operand = i;
    }
  }
}

static bool fits(Search *s, Ty *t) {
  if (s->wanted->kind == K_META)
    return !s->rule || constraint_takes(s->in, s->rule, s->operand, t);
  const Type *found = zonk_partly(s->in, t, false);
  return types_fit(s->in->types, found, s->shown) >= FIT_MORE;
}

static void offer(Search *s, const char *sigil, const Name *name, Ty *t) {
  if (!t || ty_head(t)->kind == K_ERROR) return;
  /* The variable that is bound to the hole itself. */
  if (ty_head(t) == s->wanted && s->wanted->kind == K_META) return;
  if (!fits(s, t) || ++s->found > SHOWN_MOST) return;
  strbuf_addf(&s->text, "%s`%s%s` (%s)", s->found > 1 ? ", " : "", sigil,
              name->text, ty_text(s->in, t));
}

/* The innermost variable first: ids ascend. */
static void offer_locals(Search *s, const Hole *hole) {
  uint32_t below = UINT32_MAX;
  for (int n = 0; n < hole->count; n++) {
    const Var *next = NULL;
    for (int i = 0; i < hole->count; i++) {
      const Var *v = hole->vars[i];
      if (v->id < below && (!next || v->id > next->id)) next = v;
    }
    if (!next) return;
    below = next->id;
    offer(s, "%", next->name, var_info(s->in, next)->type);
  }
}

static Ty *type_of_global(Search *s, const Global *g) {
  const Definition *d = g->definition;
  if (d) return d->type;
  return g->type ? ty_of_type(s->in, g->type) : NULL;
}

static void offer_scope(Search *s, const char *sigil, const PtrMap *names) {
  for (size_t i = 0; i < names->cap; i++) {
    const Name *name = names->slots[i].key;
    const Global *g = name ? names->slots[i].value : NULL;
    if (g) offer(s, sigil, name, type_of_global(s, g));
  }
}

static void offer_globals(Search *s, const Hole *hole) {
  const Checker *c = s->in->c;
  if (!hole->in_def) {
    offer_scope(s, "%", &c->scope.locals);
    offer_scope(s, "%", &s->in->p->user.locals);
  }
  offer_scope(s, "@", &c->scope.globals);
  offer_scope(s, "@", &s->in->p->user.globals);
}

/* --- The message --------------------------------------------------------- */

static Diag *report_wanted(Search *s, const Hole *hole) {
  Diags *diags = s->in->p->diags;
  if (s->wanted->kind != K_META)
    return diag_error(diags, E0215, hole->span,
                      "what is missing here is of type %s",
                      ty_text(s->in, s->wanted));
  if (!s->rule || s->operand >= op_arg_count(s->rule->op))
    return diag_error(diags, E0215, hole->span,
                      "what is missing here may be of any type");
  OpArg arg = op_arg(s->rule->op, s->operand);
  return diag_error(diags, E0215, hole->span,
                    "what is missing here is `%.*s` of `%s`, which takes %s",
                    arg.len, arg.name, s->rule->op->name,
                    op_rule(s->rule->op)->text);
}

static void report_hole(Infer *in, Hole *hole) {
  Search s = {.in = in, .wanted = ty_head(hole->type)};
  hole->reported = true;
  if (s.wanted->kind == K_ERROR) return;
  if (s.wanted->kind == K_META) find_rule(&s);
  else s.shown = zonk_partly(in, s.wanted, false);
  Diag *d = report_wanted(&s, hole);
  strbuf_init(&s.text, in->mem);
  offer_locals(&s, hole);
  offer_globals(&s, hole);
  if (!s.found)
    diag_hint(d,
              "nothing in scope fits; at the prompt, :find TYPE searches "
              "the library");
  else if (s.found > SHOWN_MOST)
    diag_hint(d, "in scope fit %s, and %d more", strbuf_text(&s.text),
              s.found - SHOWN_MOST);
  else
    diag_hint(d, "in scope fit%s %s", s.found == 1 ? "s" : "",
              strbuf_text(&s.text));
  strbuf_done(&s.text);
}

/* A hole that was reported has the error type, so that nothing follows from
 * it. */
void holes_finish(Infer *in) {
  for (size_t i = 0; i < in->c->holes.len; i++) {
    Hole *hole = in->c->holes.data[i];
    if (!hole->type || hole->reported) continue;
    report_hole(in, hole);
    require_flow(in, in->error, hole->type, (Why){.kind = WHY_OPERATOR});
  }
}
