/* Completion at the prompt: its commands and what they take, and otherwise what
 * may stand in a program there (lib/complete.h). */
#include "repl/words.h"

#include <string.h>

/* Are the arguments of one of these commands being typed?  The line may have an
 * abbreviation of the command.  `names` is a list of commands separated by
 * blanks, written whole.  A command stands at the beginning of the first line
 * only, so an entry of several lines holds none.  The word counts as each
 * command that it begins: `:re` offers files, because it may become
 * `restore`. */
static bool is_command(const Cursor *at, const char *names) {
  const char *name = at->text + strspn(at->text, " ");
  if (*name != ':' || memchr(at->text, '\n', at->start)) return false;
  size_t len = strcspn(++name, " ");
  if (name + len > at->text + at->start || !len) return false;
  for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ')
    if (!strncmp(p, name, len)) return true;
  return false;
}

bool words_are_files(const Cursor *at) {
  return is_command(at, "load params save restore") || complete_files(at);
}

typedef struct Begun {
  const char *word;
  Offer offer;
  void *data;
} Begun;

static void offer_command(void *begun, const char *name) {
  const Begun *b = begun;
  if (!strncmp(name, b->word, strlen(b->word))) b->offer(b->data, name);
}

/* `:help load` needs no colon before the command. */
static void offer_bare_command(void *begun, const char *name) {
  offer_command(begun, name + 1);
}

/* Is the word at the cursor the first after this command, written whole? */
static bool is_first_word(const Cursor *at, const char *command) {
  const char *name = at->text + strspn(at->text, " :");
  size_t len = strlen(command);
  return is_command(at, command) && !strncmp(name, command, len) &&
         name + len + strspn(name + len, " ") == at->text + at->start;
}

static void offer_settings(Begun *b) {
  const char *setting;
  for (int i = 0; (setting = settings_name(i)); i++) offer_command(b, setting);
}

static void offer_limits(Begun *b) {
  Limit limit;
  for (int i = 0; limit_at(i, &(rly_options){0}, &limit); i++)
    offer_command(b, limit.name);
}

void words_offer(const Repl *r, const Cursor *at, Offer offer, void *data) {
  Begun b = {at->text + at->start, offer, data};
  bool named = *b.word == '@' || *b.word == '%';
  if (*b.word == ':') {
    repl_each_command(r, offer_command, &b);
  } else if (is_first_word(at, "set") && !named) {
    offer_settings(&b);
  } else if (is_command(at, "limit")) {
    if (is_first_word(at, "limit")) offer_limits(&b);
  } else if (is_command(at, "doc help ops")) {
    if (is_first_word(at, "help")) repl_each_command(r, offer_bare_command, &b);
    complete_operators(at, offer, data);
  } else {
    complete_words(r->host->program, at, offer, data);
  }
}
