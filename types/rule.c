/* The types of rules: both sides are functions of the pattern variables, and
 * have the same type.
 *
 * Shapes, dtypes and attributes decide what a side is, so a rule is typed as a
 * function with parameters in brackets is, by instances: numbers, ranks and
 * dtypes are drawn (rules/draw.h) until the condition holds and the left side
 * has a type.  There the right side must have it, too. */
#include "rules/draw.h"
#include "types/check.h"
#include "types/resolve.h"

enum {
  TRIES = 400,  /* instances that are drawn, */
  CHECKED = 12, /* until so many are typed */
};

/* The type of a side; NULL after reporting. */
static const Type *type_side(const RuleBound *b, const Unit *of,
                             const Expr *side) {
  Program *p = b->p;
  const Expr *fn = rule_side(b, side);
  if (!fn) return NULL;
  Unit *unit = unit_new(p, of->source);
  Item item = *b->rule->item;
  item.kind = ITEM_DEF;
  item.expr = fn;
  unit->items = &item;
  unit->item_count = 1;
  const Type *type = types_of_function(p, unit);
  program_drop_unit(p, unit);
  return type;
}

/* "at s = (2, 3)", a note of what was reported from `first` on. */
static void note_args(const RuleBound *b, size_t first) {
  const Diags *diags = b->p->diags;
  StrBuf text;
  strbuf_init(&text, b->p->mem);
  rule_print_args(b, &text);
  for (size_t i = first; text.len > 0 && i < diags->list.len; i++)
    diag_note(diags->list.data[i], SPAN_NONE, "`@%s` is tried at %s",
              b->rule->item->name->text, strbuf_text(&text));
  strbuf_done(&text);
}

static void report_types(const RuleBound *b, const Type *left,
                         const Type *right) {
  StrBuf was, is;
  strbuf_init(&was, b->p->mem);
  strbuf_init(&is, b->p->mem);
  type_print(b->p->types, &was, left, 200);
  type_print(b->p->types, &is, right, 200);
  Diag *d = diag_error(b->p->diags, E0903, b->rule->right->span,
                       "the right side is %s, the left one %s",
                       strbuf_text(&is), strbuf_text(&was));
  diag_note(d, b->rule->left->span, "the left side");
  strbuf_done(&was);
  strbuf_done(&is);
}

/* *fits: the left side has a type.  False: the right side has not the same,
 * which was reported. */
static bool check_instance(const RuleBound *b, const Unit *of, bool *fits) {
  Diags *diags = b->p->diags;
  DiagsMark mark = diags_mark(diags);
  size_t first = diags->list.len;
  *fits = false;
  if (!rule_side(b, b->rule->right)) return true;
  const Type *left = type_side(b, of, b->rule->left);
  *fits = left != NULL;
  if (!left) {
    diags_return(diags, mark);
    return true;
  }
  const Type *right = type_side(b, of, b->rule->right);
  if (right == left) return true;
  if (right) report_types(b, left, right);
  note_args(b, first);
  return false;
}

/* What is wrong with a left side that no instance types. */
static void report_left(const RuleBound *b, const Unit *of) {
  size_t first = b->p->diags->list.len;
  type_side(b, of, b->rule->left);
  note_args(b, first);
}

static void check_instances(Checker *c, const Unit *unit, const Rule *rule) {
  Program *p = c->p;
  Arena arena;
  Draw draw;
  Rng r = {.state = 1}, refused = {0};
  DrawSize refused_size = DRAW_SMALL;
  int typed = 0;
  bool ok = true;
  arena_init(&arena, p->mem);
  for (int i = 0; ok && i < TRIES && typed < CHECKED; i++) {
    bool small = i < TRIES / 2 && typed < CHECKED / 2;
    DrawSize size = small ? DRAW_SMALL : DRAW_ALL;
    Rng before = r;
    bool fits;
    if (mem_exhausted(p->mem)) break;
    arena_reset(&arena);
    if (!rule_draw(p, &arena, rule, &r, size, &draw)) continue;
    ok = check_instance(&draw.bound, unit, &fits);
    typed += fits;
    if (fits || refused.state) continue;
    refused = before;
    refused_size = size;
  }
  if (ok && typed == 0 && refused.state && !mem_exhausted(p->mem) &&
      rule_draw(p, &arena, rule, &refused, refused_size, &draw))
    report_left(&draw.bound, unit);
  arena_done(&arena);
}

void rule_declare(Checker *c, const Unit *unit, const Item *item) {
  Program *p = c->p;
  const Item *old = ptrmap_get(&c->rules, item->name);
  if (old) {
    Diag *d = diag_error(p->diags, E0105, item->name_span,
                         "the rule `@%s` is defined twice", item->name->text);
    diag_note(d, old->name_span, "first defined here");
    return;
  }
  ptrmap_put(&c->rules, item->name, (void *)item);
  Rule rule = rule_of(p->mem, item);
  if (!rule_check(p, &rule)) return;
  check_instances(c, unit, &rule);
}
