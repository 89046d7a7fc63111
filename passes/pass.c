/* The table of passes, its runner, and the passes that only look: what they
 * find out stands in types/. */
#include <assert.h>
#include <string.h>

#include "passes/row.h"
#include "types/types.h"

/* --- Passes that look ----------------------------------------------------- */

/* Takes out what was imported since `before` was the last unit. */
static void drop_imports(Program *p, const Unit *before) {
  Unit *next;
  for (Unit *u = before->next; u; u = next) {
    next = u->next;
    if (u->importer) program_drop_unit(p, u);
  }
}

Unit *pass_check(Program *p, Unit *unit) {
  if (types_check(p, unit) && !mem_exhausted(p->mem)) return unit;
  drop_imports(p, unit);
  program_drop_unit(p, unit);
  return NULL;
}

Unit *pass_static(Program *p, Unit *unit) {
  return types_static(p) ? unit : NULL;
}

/* --- The table ------------------------------------------------------------ */

typedef enum PassId {
#define PASS(id, function, ...) PASS_##id,
#include "passes/passes.def"
#undef PASS
  PASS_COUNT
} PassId;

const PassInfo pass_info[] = {
#define PASS(id, function, ...) {.run = function, __VA_ARGS__},
#include "passes/passes.def"
#undef PASS
};
const int pass_count = PASS_COUNT;

const PassInfo *pass_find(const char *name) {
  for (int i = 0; i < PASS_COUNT; i++)
    if (strcmp(pass_info[i].name, name) == 0) return &pass_info[i];
  return NULL;
}

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

/* --- The runner ----------------------------------------------------------- */

static Unit *run_one(Program *p, Unit *unit, const PassInfo *pass) {
  unsigned facts = unit->facts;
  Unit *made = pass->run(p, unit);
  if (made) made->facts = (facts & ~pass->breaks) | pass->gives;
  return made;
}

Unit *pass_run(Program *p, Unit *unit, const PassInfo *pass) {
  for (const PassInfo *row = pass_info; unit && row < pass; row++)
    if (pass->needs & row->gives & ~unit->facts) unit = run_one(p, unit, row);
  if (!unit) return NULL;
  assert(!(pass->needs & ~unit->facts) && "a row above gives what it needs");
  return run_one(p, unit, pass);
}

bool unit_check(Program *p, Unit *unit) {
  return pass_run(p, unit, &pass_info[PASS_CHECK]);
}

bool unit_is_static(Program *p, Unit *unit) {
  return pass_run(p, unit, &pass_info[PASS_STATIC]);
}
