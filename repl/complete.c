/* Completion: finds what may stand at the cursor.
 *
 * The text cannot be parsed, because half of it is still to be typed.  Its
 * tokens up to the word are read instead, with the brackets that are open and
 * what stands in front of each.  So much tells the places apart:
 *
 *   :load ab|                  the command in front       -> files
 *   nn.conv2d(x, st|           an operator's parentheses  -> its attributes
 *   nn.conv2d(x, layout=|      an attribute               -> its values
 *   cast(x, dtype="fl|         ... within a string        -> its words
 *   import "li|                any other string           -> files
 *   match (%x) { Co|           a match's arms             -> constructors
 *
 * Where the guess is wrong, the user is offered too much or too little, and
 * nothing else happens.  All offers are filtered here by the beginning that was
 * typed, so that who makes an offer just names everything there is. */
#include "repl/complete.h"

#include <ctype.h>
#include <string.h>

#include "lib/inside.h"

/* --- What is begun ------------------------------------------------------ */

typedef struct Begun {
  const char *word;
  size_t len;
  Offer offer;
  void *data;
} Begun;

static void offer(const Begun *b, const char *word) {
  if (!strncmp(word, b->word, b->len)) b->offer(b->data, word);
}

static void offer_name(void *begun, const char *name) { offer(begun, name); }

/* --- Where the cursor is ------------------------------------------------ */

static bool follows(const Cursor *at, const char *what) {
  size_t n = strlen(what);
  return at->start >= n && !strncmp(at->text + at->start - n, what, n);
}

/* Are the arguments of one of these commands being typed?  The line may have an
 * abbreviation of the command. */
static bool is_command(const Cursor *at, const char *names) {
  const char *name = at->text + strspn(at->text, " ");
  if (*name != ':' || memchr(at->text, '\n', at->start)) return false;
  size_t len = strcspn(++name, " ");
  if (name + len > at->text + at->start || !len) return false;
  for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ')
    if (!strncmp(p, name, len)) return true;
  return false;
}

bool complete_files(const Cursor *at) {
  return follows(at, "import \"") || is_command(at, "load params save restore");
}

static bool is_name_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The operator in whose parentheses the cursor stands, or OP_COUNT. */
static OpId surrounding_op(const Cursor *at) {
  int depth = 0;
  for (size_t i = at->start; i-- > 0;) {
    char c = at->text[i];
    depth +=
        (c == ')' || c == ']' || c == '}') - (c == '(' || c == '[' || c == '{');
    if (depth >= 0) continue;
    if (c != '(') return OP_COUNT;
    size_t from = i;
    while (from && is_name_char(at->text[from - 1])) from--;
    char name[64];
    if (i == from || i - from >= sizeof name) return OP_COUNT;
    memcpy(name, at->text + from, i - from);
    name[i - from] = '\0';
    bool dyn;
    return op_find(name, &dyn);
  }
  return OP_COUNT;
}

/* --- Offers ------------------------------------------------------------- */

static void offer_attributes(const Begun *b, const Cursor *at) {
  OpId id = surrounding_op(at);
  if (id == OP_COUNT) return;
  const OpInfo *op = op_info(id);
  for (int i = 0; i < op_attr_count(op); i++) {
    char text[64];
    snprintf(text, sizeof text, "%s=", attr_name_text(op->attrs[i].name));
    offer(b, text);
  }
}

static void offer_operators(const Begun *b) {
  for (int i = 0; i < OP_COUNT; i++) offer(b, op_info(i)->name);
}

static void offer_dtypes(const Begun *b) {
  for (int i = 0; i < DTYPE_COUNT; i++) offer(b, dtype_name((DType)i));
}

static void offer_all(const Repl *r, const Begun *b, const Cursor *at) {
  static const char *const words[] = {
      "def",        "else",     "False",     "fn",     "if",
      "import",     "let",      "match",     "param",  "print",
      "ref",        "True",     "type",      "assert", "fail",
      "print_text", "ref_read", "ref_write", "Tensor",
  };
  bool sigil = *b->word == '@' || *b->word == '%';
  if (!sigil) {
    offer_attributes(b, at);
    offer_operators(b);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      offer(b, words[i]);
    offer_dtypes(b);
  }
  rly_program_each_name(r->host->program, offer_name, (void *)b);
}

void complete_words(const Repl *r, const Cursor *at, Offer add, void *data) {
  Begun b = {.word = at->text + at->start, .offer = add, .data = data};
  b.len = strlen(b.word);
  if (*b.word == ':') repl_each_command(offer_name, &b);
  else if (is_command(at, "doc")) offer_operators(&b);
  else if (follows(at, "\"")) offer_dtypes(&b);
  else offer_all(r, &b, at);
}
