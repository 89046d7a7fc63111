/* Passes: from a unit to a unit, by a table (passes.def) and a runner that sees
 * to what each of them needs.
 *
 * A unit carries the set of facts that hold of it.  A pass that needs one which
 * the unit lacks has the rows above it run first; one that breaks a fact takes
 * it out of the set.  So a host asks for the pass that it wants, and not for an
 * order. */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/program.h"

/* What is known of a unit (Unit.facts). */
enum {
  FACT_NAMES = 1,   /* its steps and definitions are in bound form */
  FACT_TYPES = 2,   /* every expression has its type */
  FACT_MATCHES = 4, /* a match has an arm for every value */
  FACT_EFFECTS = 8, /* what calling each function can do */
  FACT_SHAPES = 16, /* no shape depends on a value */
  FACT_PLAIN = 32,  /* nothing in it that TVM does not read */
};

/* A pass's function, which its own file declares by this type, and the table
 * again: no file but the table's is compiled anew for a row. */
typedef Unit *Pass(Program *p, Unit *unit);

typedef struct PassInfo {
  const char *name;
  unsigned needs, gives, breaks; /* FACT_ */
  bool entries;                  /* it looks at those of the unit */
  bool lets; /* it may want lets in the place of graph variables */
  const char *sentence;
  bool bound; /* it maps the checked form */
  Pass *run;
} PassInfo;
extern const PassInfo pass_info[];
extern const int pass_count;

/* NULL: there is none of that name. */
const PassInfo *pass_find(const char *name);
/* What a text defines under that name; NULL after reporting that an entry is
 * missing. */
const Item *pass_entry(Program *p, const Unit *unit, const Name *name);
/* "names, types", each in `quotes`: a set of facts. */
void facts_print(StrBuf *out, unsigned facts, const char *quotes);

/* Runs a pass, after those that give what it needs and the unit lacks.  NULL
 * after reporting what stood in the way. */
Unit *pass_run(Program *p, Unit *unit, const PassInfo *pass);

/* The one way of a parsed unit into a program: of a text that is loaded, an
 * entry of the prompt, definitions that are checked once more because something
 * they use was defined anew.  True when the unit's definitions are in scope. On
 * false the program is as before: the unit is gone, with those it imported, and
 * why stands in the program's diagnostics. */
bool unit_check(Program *p, Unit *unit);
/* Is every shape in the program known?  Reports those that are not. */
bool unit_is_static(Program *p, Unit *unit);

#endif
