/* Rules by the names that users give, --rule NAME. */
#ifndef REPL_RULES_H
#define REPL_RULES_H

#include "lib/inside.h"
#include "repl/cli.h"

/* Does --rule name it? */
bool rule_is_named(const Cli *cli, const Item *rule);
/* Each name of --rule must be that of one of these.  False after reporting. */
bool rules_are_there(Host *h, size_t count, const Item *const *rules);

#endif
