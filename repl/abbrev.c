/* Finds the row of a command table that a possibly shortened word names.
 *
 * Both tables (the prompt's commands.c and the stepper's step.c) are searched
 * by the same rule.  A word names a row that is
 *
 *   1. called so as a whole:                 `:load`   -> load
 *   2. given this very letter:               `:s`      -> step
 *   3. the only one to begin so:             `:snap`   -> snapshot
 *
 * Rules 1 and 2 go before rule 3: a name may be the beginning of another
 * (`param`, `params`) and can still be written, and `:s` keeps its meaning when
 * a second command with that initial is added.  The tables have at most forty
 * rows, so a linear search is faster than anybody can notice. */
#include "repl/abbrev.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"

static bool begins(CommandName w, const char *text, size_t n) {
  return !strncmp(w.name, text, n);
}

/* "`:sn` may mean `:snapshot` or `:snooze`": lists every row that begins with
 * the text.  The message names the candidates in the order of the table, so
 * that the user can choose without asking for help. */
static char *say_ambiguous(CommandNames words, const char *text, size_t n) {
  char *said = NULL;
  size_t size;
  FILE *out = open_memstream(&said, &size);
  if (!out) return NULL;
  fprintf(out, "`%s%.*s` may mean", words.sigil, (int)n, text);
  const char *between = "";
  for (int i = 0; i < words.count; i++)
    if (begins(words.at(i), text, n)) {
      fprintf(out, "%s `%s%s`", between, words.sigil, words.at(i).name);
      between = " or";
    }
  fputs("; write more of it", out);
  fclose(out);
  return said;
}

/* "no command `:laod`; did you mean `:load`?", or, where no row is near enough
 * (Suggestion, base/name.h), where the list is.  The word is copied because
 * suggestions compare NUL-terminated texts and `text` goes on with the
 * command's arguments. */
static char *say_unknown(CommandNames words, const char *text, size_t n) {
  char *word = strndup(text, n), *said = NULL;
  Suggestion near = suggestion_for(word ? word : "");
  for (int i = 0; i < words.count; i++)
    suggestion_offer(&near, words.at(i).name);
  const char *end = near.best ? "`?" : "help` lists them";
  int length = asprintf(&said, "no command `%s%.*s`; %s%s%s%s", words.sigil,
                        (int)n, text, near.best ? "did you mean `" : "`",
                        words.sigil, near.best ? near.best : "", end);
  free(word);
  return length < 0 ? NULL : said;
}

int command_find(CommandNames words, const char *text, size_t n, char **why) {
  int found = -1, count = 0;
  *why = NULL;
  for (int i = 0; i < words.count; i++) {
    CommandName w = words.at(i);
    if (!begins(w, text, n)) continue;
    /* A whole name or a letter decides at once, whatever else begins so. */
    if (w.name[n] == '\0' || (n == 1 && w.letter == text[0])) return i;
    found = i;
    count++;
  }
  if (count == 1) return found;
  *why = count ? say_ambiguous(words, text, n) : say_unknown(words, text, n);
  return -1;
}

const char *command_misfit(const char *args, const char *rest) {
  bool needs = *args && *args != '[';
  if (*rest ? *args : !needs) return NULL;
  return needs ? args : "no words";
}
