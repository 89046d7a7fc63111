/* The table of passes, its runner, and the passes that only look: what they
 * find out stands in types/.
 *
 * A pass is a function from a unit to a unit, and a row of passes.def that says
 * what it needs, gives and breaks, in facts.  The runner reads the rows:
 *
 *   run static:   needs types; the unit lacks them  ->  run check first
 *   after relay:  breaks names and types            ->  facts: plain
 *
 * Since a row above gives what a row needs, one pass over the table, from the
 * top, finds the order.  NULL from a pass ends the run; what stood in the way
 * has been reported. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "ops/known.h"
#include "passes/rewrite.h"
#include "types/types.h"

/* --- Passes that look ----------------------------------------------------- */

/* Takes out what was imported since `before` was the last unit.  Units form a
 * list, the newest last; a text that does not hold takes along what it alone
 * had brought in. */
static void drop_imports(Program *p, const Unit *before) {
  Unit *next;
  for (Unit *u = before->next; u; u = next) {
    next = u->next;
    if (u->importer) program_drop_unit(p, u);
  }
}

/* On failure nothing of the unit stays, so that the next text begins from the
 * same program. */
Unit *pass_check(Program *p, Unit *unit) {
  if (types_check(p, unit) && !mem_exhausted(p->mem)) return unit;
  drop_imports(p, unit);
  program_drop_unit(p, unit);
  return NULL;
}

/* Looks at the whole program, of which the unit is part: a shape may come from
 * another text. */
Unit *pass_static(Program *p, Unit *unit) {
  return types_static(p) ? unit : NULL;
}

/* What a text would tell anew after a pass, without the text. */
Unit *pass_effects(Program *p, Unit *unit) {
  return types_find_again(p, unit) ? unit : NULL;
}

const Item *pass_entry(Program *p, const Unit *unit, const Name *name) {
  for (int i = 0; i < unit->item_count; i++)
    if (unit->items[i].kind == ITEM_DEF && unit->items[i].name == name)
      return &unit->items[i];
  program_no_function(p, unit, name->text);
  return NULL;
}

/* --- The table ------------------------------------------------------------ */

#define PASS(id, function, ...) Pass function;
#define REWRITE(id, function, ...) Rewrite function;
#include "passes/passes.def"
#undef PASS
#undef REWRITE

typedef enum PassId {
#define PASS(id, function, ...) PASS_##id,
#define REWRITE PASS
#include "passes/passes.def"
#undef PASS
#undef REWRITE
  PASS_COUNT
} PassId;

const PassInfo pass_info[] = {
#define PASS(id, function, ...) {.run = function, __VA_ARGS__},
#define REWRITE(id, function, ...) {.rewrite = function, __VA_ARGS__},
#include "passes/passes.def"
#undef PASS
#undef REWRITE
};
const int pass_count = PASS_COUNT;

/* A linear search: a command asks once. */
const PassInfo *pass_find(const char *name) {
  for (const PassInfo *p = pass_info; p < pass_info + PASS_COUNT; p++)
    if (!strcmp(p->name, name) || (p->also && !strcmp(p->also, name))) return p;
  return NULL;
}

const char *pass_nearest(const char *name, PassSet among) {
  Suggestion near = suggestion_for(name);
  const char *holds = NULL;
  for (int i = 0; i < PASS_COUNT; i++) {
    const char *other = pass_info[i].name;
    PassSet own = pass_info[i].bound ? PASSES_OF_OPT : PASSES_OF_FMT;
    if (among != PASSES_ALL && among != own) continue;
    suggestion_offer(&near, other);
    if (!holds && strcasestr(other, name)) holds = other;
  }
  return near.best ? near.best : holds;
}

/* The words are in the order of the bits of pass.h. */
void facts_print(StrBuf *out, unsigned facts, const char *quotes) {
  static const char *const words[] = {"names",   "types",  "matches",
                                      "effects", "shapes", "plain"};
  const char *between = "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!(facts >> i & 1)) continue;
    strbuf_addf(out, "%s%s%s%s", between, quotes, words[i], quotes);
    between = ", ";
  }
}

void pass_value_print(StrBuf *out, const PassArg *arg, int64_t value) {
  if (arg->words) strbuf_add(out, arg->words[value]);
  else strbuf_addf(out, "%" PRId64, value);
}

void pass_range_print(StrBuf *out, const PassArg *arg) {
  if (!arg->words)
    strbuf_addf(out, "a whole number from %" PRId64 " to %" PRId64, arg->least,
                arg->most);
  for (int64_t i = 0; arg->words && i <= arg->most; i++)
    strbuf_addf(out, "%s%s",
                i == 0           ? ""
                : i == arg->most ? " or "
                                 : ", ",
                arg->words[i]);
}

/* --- The runner ----------------------------------------------------------- */

PassCall pass_call_of(const PassInfo *pass) {
  PassCall call = {.pass = pass, .most_rewrites = UINT64_MAX};
  for (int i = 0; i < PASS_ARGS_MAX; i++) call.args[i] = pass->args[i].standard;
  return call;
}

int64_t pass_arg(const Program *p, int i) { return p->passing->args[i]; }

const char *pass_arg_word(const Program *p, int i) {
  return p->passing->pass->args[i].words[pass_arg(p, i)];
}

bool pass_fast_math(const Program *p) { return p->passing->fast_math; }

static bool may_rewrite(Program *p, PassRewrite r) {
  PassCall *call = p->passing;
  r.allowed = call->rewrites < call->most_rewrites;
  if (call->rewrote) call->rewrote(call->rewrote_data, p, &r);
  if (!r.allowed) return false;
  call->rewrites++;
  call->last_rewrite = r.at;
  return true;
}

bool pass_may_rewrite(Program *p, Span at) {
  return may_rewrite(p, (PassRewrite){.at = at});
}

bool pass_may_replace(Program *p, const Item *rule, const Expr *was,
                      const Expr *made) {
  return may_rewrite(
      p,
      (PassRewrite){.at = was->span, .rule = rule, .was = was, .made = made});
}

/* Facts are of the unit that the pass was given; it may give another.  A pass
 * may ask for another, as `relay` does for `check`.  What a pass over the
 * checked form breaks it breaks by its rewrites: where it makes none, it leaves
 * the nodes that it was given, with their types, and nothing has to be read
 * anew. */
static Unit *run_one(Program *p, Unit *unit, PassCall *call) {
  unsigned facts = unit->facts;
  const PassInfo *pass = call->pass;
  PassCall *around = p->passing;
  uint64_t before = call->rewrites;
  p->passing = call;
  call->differentiates =
      pass->bound && !call->fast_math && unit_differentiates(p, unit);
  Unit *made =
      pass->run ? pass->run(p, unit) : unit_rewrite(p, unit, pass->rewrite);
  p->passing = around;
  unsigned breaks = pass->breaks;
  if (pass->bound && call->rewrites == before)
    breaks &= FACT_EFFECTS | FACT_SHAPES;
  if (made) made->facts = (facts & ~breaks) | pass->gives;
  return made;
}

/* A row above is run only for facts that the unit lacks, so checked units are
 * not checked again; and not one that would find again what holds, so a unit
 * whose effects alone are broken is not read anew. */
Unit *pass_call(Program *p, Unit *unit, PassCall *call) {
  const PassInfo *pass = call->pass;
  for (const PassInfo *row = pass_info; unit && row < pass; row++) {
    PassCall first = pass_call_of(row);
    bool lacks = pass->needs & row->gives & ~unit->facts;
    if (lacks && !(row->gives & unit->facts)) unit = run_one(p, unit, &first);
  }
  if (!unit) return NULL;
  assert(!(pass->needs & ~unit->facts) && "a row above gives what it needs");
  return run_one(p, unit, call);
}

Unit *pass_run(Program *p, Unit *unit, const PassInfo *pass) {
  PassCall call = pass_call_of(pass);
  return pass_call(p, unit, &call);
}

bool unit_check(Program *p, Unit *unit) {
  return pass_run(p, unit, &pass_info[PASS_CHECK]);
}

bool unit_is_static(Program *p, Unit *unit) {
  return pass_run(p, unit, &pass_info[PASS_STATIC]);
}
