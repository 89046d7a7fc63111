/* Rules by the names that users give; see rules.h. */
#include "repl/rules.h"

#include <string.h>

static bool is_named(const char *text, const Item *rule) {
  return strcmp(text + (*text == '@'), rule->name->text) == 0;
}

bool rule_is_named(const Cli *cli, const Item *rule) {
  for (int i = 0; i < cli->rule.count; i++)
    if (is_named(cli->rule.items[i], rule)) return true;
  return false;
}

bool rules_are_there(Host *h, size_t count, const Item *const *rules) {
  const TextList *wanted = &h->cli->rule;
  for (int i = 0; i < wanted->count; i++) {
    const char *text = wanted->items[i];
    bool found = false;
    for (size_t k = 0; k < count && !found; k++)
      found = is_named(text, rules[k]);
    if (found) continue;
    text += *text == '@';
    Diag *d = diag_error(h->program->ir->diags, E0520, SPAN_NONE,
                         "the files have no rule `@%s`", text);
    Suggestion near = suggestion_for(text);
    for (size_t k = 0; k < count; k++)
      suggestion_offer(&near, rules[k]->name->text);
    if (near.best) diag_hint(d, "did you mean `@%s`?", near.best);
    return false;
  }
  return true;
}
