/* Completion: finds what may stand at the cursor.
 *
 * The text cannot be parsed, because half of it is still to be typed.  Its
 * tokens up to the word are read instead, with the brackets that are open and
 * what stands in front of each.  So much tells the places apart:
 *
 *   nn.conv2d(x, st|           an operator's parentheses  -> its attributes
 *   nn.conv2d(x, layout=|      an attribute               -> its values
 *   cast(x, dtype="fl|         ... within a string        -> its words
 *   import "li|                any other string           -> files
 *   match (%x) { Co|           a match's arms             -> constructors
 *
 * Where the guess is wrong, the user is offered too much or too little, and
 * nothing else happens.  All offers are filtered here by the beginning that was
 * typed, so that who makes an offer just names everything there is. */
#include "lib/complete.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/doc.h"
#include "lib/op_text.h"
#include "parser/parser.h"

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

/* --- The spot ------------------------------------------------------------ */

enum { FRAMES = 64, TOKENS = 3, NAME_MOST = 96 };

typedef struct Token {
  TokenLook look;
  size_t lo, hi;
} Token;

/* A bracket that is open.  Those beyond FRAMES are only counted. */
typedef struct Frame {
  char opener;
  Token before;  /* the token in front of it */
  size_t inside; /* the byte after it */
  bool arms;     /* of a match */
  bool pattern;  /* a pattern stands here */
} Frame;

typedef struct Spot {
  char *text; /* up to the word, owned */
  size_t len;
  Frame frames[FRAMES]; /* the first stands for the top level */
  int depth, deeper;
  Token last[TOKENS]; /* the newest first */
  bool scrutinee;     /* the last token closed the parentheses of a match */
  bool string;        /* the end is within a string */
} Spot;

static bool is_token(const Spot *p, Token t, const char *text) {
  size_t n = strlen(text);
  return t.hi - t.lo == n && !memcmp(p->text + t.lo, text, n);
}

static Frame *innermost(Spot *p) { return &p->frames[p->depth]; }

static void open_bracket(Spot *p, Token t) {
  if (p->depth + 1 == FRAMES) {
    p->deeper++;
    return;
  }
  bool pattern = innermost(p)->pattern;
  char opener = p->text[t.lo];
  bool arms = opener == '{' && p->scrutinee;
  p->frames[++p->depth] =
      (Frame){.opener = opener,
              .before = p->last[0],
              .inside = t.hi,
              .arms = arms,
              .pattern = arms || (pattern && opener != '{')};
}

/* Whether it closes the parentheses of a match. */
static bool close_bracket(Spot *p) {
  if (p->deeper) {
    p->deeper--;
    return false;
  }
  Frame *f = innermost(p);
  bool match = f->opener == '(' && (is_token(p, f->before, "match") ||
                                    is_token(p, f->before, "match?"));
  if (p->depth) p->depth--;
  return match;
}

static void take_token(void *spot, TokenLook look, size_t lo, size_t hi) {
  Spot *p = spot;
  Token t = {look, lo, hi};
  bool scrutinee = false;
  Frame *f = innermost(p);
  if (look == LOOK_OPEN) open_bracket(p, t);
  else if (look == LOOK_CLOSE) scrutinee = close_bracket(p);
  else if (f->arms && is_token(p, t, ",")) f->pattern = true;
  else if (f->arms && (is_token(p, t, "=>") || is_token(p, t, "if")))
    f->pattern = false;
  if (look == LOOK_COMMENT) return;
  p->scrutinee = scrutinee;
  memmove(p->last + 1, p->last, (TOKENS - 1) * sizeof *p->last);
  p->last[0] = t;
}

/* Reads the first `len` bytes; false: out of memory. */
static bool spot_find(Spot *p, const char *text, size_t len) {
  const char *opened;
  *p = (Spot){.text = strndup(text, len), .len = len};
  if (!p->text) return false;
  parse_each_token(p->text, (uint32_t)len, take_token, p);
  rly_text_open(p->text, len, &opened);
  p->string = *opened == '"';
  return true;
}

/* The operator whose parentheses are these; NULL: none. */
static const OpInfo *operator_of(const Spot *p, const Frame *f) {
  char name[NAME_MOST];
  bool dyn;
  size_t lo = f->before.lo, n = f->before.hi - lo;
  if (f->opener != '(' || f->before.look != LOOK_WORD) return NULL;
  /* nn.relu is three tokens, which stand directly after one another */
  while (lo > 1 && p->text[lo - 1] == '.') {
    size_t from = lo - 1;
    while (from && (isalnum((unsigned char)p->text[from - 1]) ||
                    p->text[from - 1] == '_'))
      from--;
    if (from == lo - 1) break;
    n += lo - from;
    lo = from;
  }
  if (n >= sizeof name) return NULL;
  memcpy(name, p->text + lo, n);
  name[n] = '\0';
  OpId id = op_find(name, &dyn);
  return id == OP_COUNT ? NULL : op_info(id);
}

/* The attribute of the call whose value stands at the end, or begins there with
 * a quotation mark; NULL: none. */
static const AttrSpec *attribute_at(Spot *p, const OpInfo **of) {
  const OpInfo *op = *of = operator_of(p, innermost(p));
  const Token *t = p->last + (p->string ? 1 : 0);
  if (!op || !is_token(p, t[0], "=") || t[1].look != LOOK_WORD) return NULL;
  for (int i = 0; i < op_attr_count(op); i++)
    if (is_token(p, t[1], attr_name_text(op->attrs[i].name)))
      return &op->attrs[i];
  return NULL;
}

/* May an attribute's name begin here? */
static bool begins_argument(Spot *p) {
  return is_token(p, p->last[0], "(") || is_token(p, p->last[0], ",");
}

bool complete_in_string(const Cursor *at) {
  const char *opened;
  char *text = strndup(at->text, at->start);
  if (!text) return false;
  rly_text_open(text, at->start, &opened);
  bool string = *opened == '"';
  free(text);
  return string;
}

/* A string that is no attribute's value names a file: of an import, a load. */
bool complete_files(const Cursor *at) {
  Spot p;
  const OpInfo *op;
  if (!spot_find(&p, at->text, at->start)) return false;
  bool files = p.string && !attribute_at(&p, &op);
  free(p.text);
  return files;
}

/* --- Offers ------------------------------------------------------------- */

/* Returns whether there are attributes to be named here. */
static bool offer_attributes(const Begun *b, Spot *p) {
  const OpInfo *op = operator_of(p, innermost(p));
  if (!op || !begins_argument(p)) return false;
  for (int i = 0; i < op_attr_count(op); i++) {
    char text[64];
    snprintf(text, sizeof text, "%s=", attr_name_text(op->attrs[i].name));
    offer(b, text);
  }
  return op_attr_count(op) > 0;
}

/* Offers a word as a string, of which the first quotation mark may be there. */
static void offer_word(const Begun *b, const Spot *p, const char *word,
                       size_t len) {
  char text[128];
  if (!len) return;
  const char *quote = p->string ? "" : "\"";
  snprintf(text, sizeof text, "%s%.*s%s", quote, (int)len, word, quote);
  offer(b, text);
}

static void offer_default(const Begun *b, const AttrSpec *a) {
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  if (!out) return;
  operator_put_default(out, a);
  if (!fclose(out) && len > 1) offer(b, text + 1);
  free(text);
}

static void offer_values(const Begun *b, const Spot *p, const AttrSpec *a) {
  for (const char *w = a->words; w && *w;) {
    size_t len = strcspn(w, "|");
    offer_word(b, p, w, len);
    w += len + (w[len] == '|');
  }
  for (int i = 0; a->type == AT_DTYPE && i < DTYPE_COUNT; i++)
    offer_word(b, p, dtype_name((DType)i), strlen(dtype_name((DType)i)));
  if (p->string) return;
  if (a->type == AT_BOOL) {
    offer(b, "True");
    offer(b, "False");
  }
  if (a->optional) offer(b, "None");
  if (!a->words && a->type != AT_DTYPE) offer_default(b, a);
}

/* Reads the constructors in the text of a type's definition: the words that
 * begin an item within its braces. */
typedef struct CtorRead {
  const char *text;
  int depth;
  bool begins;
  void (*visit)(void *data, const char *name, size_t len);
  void *data;
} CtorRead;

static void read_ctor(void *reading, TokenLook look, size_t lo, size_t hi) {
  CtorRead *r = reading;
  char first = r->text[lo];
  if (look == LOOK_WORD && r->depth == 1 && r->begins)
    r->visit(r->data, r->text + lo, hi - lo);
  r->begins =
      (first == '{' && r->depth == 0) || (first == ',' && r->depth == 1);
  r->depth += (look == LOOK_OPEN) - (look == LOOK_CLOSE);
}

static void each_ctor(const DefinitionText *d,
                      void (*visit)(void *data, const char *name, size_t len),
                      void *data) {
  char *text = strndup(d->text, d->len);
  CtorRead r = {.text = text, .visit = visit, .data = data};
  if (text) parse_each_token(text, (uint32_t)d->len, read_ctor, &r);
  free(text);
}

typedef struct CtorSearch {
  const char *name;
  bool found;
} CtorSearch;

static void compare_ctor(void *search, const char *name, size_t len) {
  CtorSearch *s = search;
  if (strlen(s->name) == len && !memcmp(s->name, name, len)) s->found = true;
}

/* The type's definition of which the name is a constructor. */
static bool find_ctor(rly_program *program, const char *name,
                      DefinitionText *d) {
  CtorSearch s = {.name = name};
  if (!program_definition(program, name, d) || *d->sigil) return false;
  each_ctor(d, compare_ctor, &s);
  return s.found;
}

static bool token_name(const Spot *p, Token t, char name[NAME_MOST]) {
  size_t n = t.hi - t.lo;
  if (n >= NAME_MOST) return false;
  memcpy(name, p->text + t.lo, n);
  name[n] = '\0';
  return true;
}

/* The type of an earlier pattern of the match. */
typedef struct Arms {
  const Spot *spot;
  rly_program *program;
  size_t from;
  bool known;
  DefinitionText type;
} Arms;

static void note_ctor(void *arms, TokenLook look, size_t lo, size_t hi) {
  Arms *a = arms;
  char name[NAME_MOST];
  if (look != LOOK_WORD || lo < a->from || a->known) return;
  a->known = token_name(a->spot, (Token){look, lo, hi}, name) &&
             find_ctor(a->program, name, &a->type);
}

static void offer_ctor(void *begun, const char *name, size_t len) {
  char text[NAME_MOST];
  if (len >= sizeof text) return;
  memcpy(text, name, len);
  text[len] = '\0';
  offer(begun, text);
}

typedef struct PatternOffer {
  rly_program *program;
  const Begun *begun;
} PatternOffer;

static void offer_if_ctor(void *data, const char *name) {
  PatternOffer *o = data;
  DefinitionText d;
  bool begun = !strncmp(name, o->begun->word, o->begun->len);
  if (begun && *name != '@' && *name != '%' && find_ctor(o->program, name, &d))
    offer(o->begun, name);
}

/* A pattern is a constructor; where the match has one already, it is of the
 * same type. */
static void offer_patterns(rly_program *program, const Begun *b, Spot *p) {
  Frame *f = innermost(p);
  Arms a = {.spot = p, .program = program, .from = f->inside};
  PatternOffer o = {program, b};
  if (f->arms) parse_each_token(p->text, (uint32_t)p->len, note_ctor, &a);
  offer(b, "_");
  if (a.known) {
    each_ctor(&a.type, offer_ctor, (void *)b);
    return;
  }
  rly_program_each_name(program, offer_if_ctor, &o);
  offer(b, "True");
  offer(b, "False");
}

static void offer_operators(const Begun *b) {
  for (int i = 0; i < OP_COUNT; i++) offer(b, op_info(i)->name);
}

static void offer_dtypes(const Begun *b) {
  for (int i = 0; i < DTYPE_COUNT; i++) offer(b, dtype_name((DType)i));
}

static void offer_all(rly_program *program, const Begun *b, Spot *p) {
  static const char *const words[] = {
      "def",        "else",     "False",     "fn",     "if",
      "import",     "let",      "match",     "param",  "print",
      "ref",        "True",     "type",      "assert", "fail",
      "print_text", "ref_read", "ref_write", "Tensor",
  };
  bool sigil = *b->word == '@' || *b->word == '%';
  if (!sigil) {
    /* before anything is typed, everything else would hide them */
    if (offer_attributes(b, p) && !b->len) return;
    offer_operators(b);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      offer(b, words[i]);
    offer_dtypes(b);
  }
  rly_program_each_name(program, offer_name, (void *)b);
}

static void offer_by_place(rly_program *program, const Begun *b, Spot *p) {
  const OpInfo *op;
  const AttrSpec *attr = attribute_at(p, &op);
  if (attr) offer_values(b, p, attr);
  else if (innermost(p)->pattern) offer_patterns(program, b, p);
  else if (!p->string) offer_all(program, b, p);
}

void complete_words(rly_program *program, const Cursor *at, Offer add,
                    void *data) {
  Spot p;
  Begun b = {.word = at->text + at->start, .offer = add, .data = data};
  b.len = strlen(b.word);
  if (!spot_find(&p, at->text, at->start)) return;
  offer_by_place(program, &b, &p);
  free(p.text);
}

void complete_operators(const Cursor *at, Offer add, void *data) {
  Begun b = {.word = at->text + at->start, .offer = add, .data = data};
  b.len = strlen(b.word);
  offer_operators(&b);
}

/* --- What is said of an offer, and of a call ----------------------------- */

static const AttrSpec *attribute_named(const OpInfo *op, const char *offer) {
  size_t n = strcspn(offer, "=");
  for (int i = 0; op && offer[n] && i < op_attr_count(op); i++) {
    const char *name = attr_name_text(op->attrs[i].name);
    if (strlen(name) == n && !strncmp(name, offer, n)) return &op->attrs[i];
  }
  return NULL;
}

static void put_attribute(FILE *out, const AttrSpec *a) {
  char *text = NULL;
  size_t len;
  operator_put_kind(out, a);
  FILE *value = open_memstream(&text, &len);
  if (!value) return;
  operator_put_default(value, a);
  if (!fclose(value) && len > 1) fprintf(out, ", by default %s", text + 1);
  free(text);
}

char *complete_about(const Cursor *at, const char *offer) {
  Spot p;
  char *about = NULL;
  size_t len;
  bool dyn;
  if (!spot_find(&p, at->text, at->start)) return NULL;
  const AttrSpec *a = attribute_named(operator_of(&p, innermost(&p)), offer);
  OpId id = op_find(offer, &dyn);
  FILE *out = a || id != OP_COUNT ? open_memstream(&about, &len) : NULL;
  if (out && a) put_attribute(out, a);
  else if (out) fputs(op_info(id)->doc, out);
  if (out && fclose(out)) about = NULL;
  free(p.text);
  return about;
}

/* The constructor with its fields, as the type's definition has it. */
static char *ctor_head(const DefinitionText *d, const char *name) {
  const char *at = memmem(d->text, d->len, "{", 1);
  size_t left = at ? (size_t)(d->text + d->len - at) : 0, n = strlen(name);
  for (const char *p; left && (p = memmem(at, left, name, n));) {
    left -= (size_t)(p + n - at);
    at = p + n;
    if (isalnum((unsigned char)p[-1]) || p[-1] == '_' || *at != '(') continue;
    int depth = 0;
    size_t len = 0;
    do depth += (at[len] == '(') - (at[len] == ')');
    while (++len < left && depth);
    return strndup(p, n + len);
  }
  return NULL;
}

/* What is said of the function `@f` or the constructor that a call names; NULL:
 * nothing. */
static char *definition_head(rly_program *program, const Spot *p,
                             const Frame *f) {
  char name[NAME_MOST];
  DefinitionText d;
  bool named = f->before.look == LOOK_GLOBAL || f->before.look == LOOK_WORD;
  if (f->opener != '(' || !named || !token_name(p, f->before, name) ||
      !program_definition(program, name, &d))
    return NULL;
  if (!*d.sigil) return ctor_head(&d, name);
  StrBuf head;
  strbuf_init(&head, program->ir->mem);
  definition_print_head(&head, &d);
  char *text = strdup(strbuf_text(&head));
  strbuf_done(&head);
  return text;
}

static char *operator_head(const OpInfo *op, const AttrSpec *a) {
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  if (!out) return NULL;
  operator_put_signature(out, op);
  if (a) fprintf(out, "\n%s: ", attr_name_text(a->name));
  if (a) operator_put_kind(out, a);
  return fclose(out) ? NULL : text;
}

char *complete_signature(rly_program *program, const char *text, size_t len) {
  Spot p;
  const OpInfo *op;
  char *head = NULL;
  if (!spot_find(&p, text, len)) return NULL;
  const AttrSpec *a = attribute_at(&p, &op);
  for (; !head && p.depth > 0; p.depth--) {
    const Frame *f = innermost(&p);
    if ((op = operator_of(&p, f))) head = operator_head(op, a);
    else head = definition_head(program, &p, f);
    a = NULL;
  }
  free(p.text);
  return head;
}
