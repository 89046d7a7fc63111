/* The parser's parts as they see one another: the driver's state, and the
 * grammar as an automaton that can be asked before it is fed. */
#ifndef PARSER_PARSE_H
#define PARSER_PARSE_H

#include "parser/build.h"
#include "parser/parser.h"
#include "parser/scan.h"

/* Words that are known not to be foreign. */
enum { PLAIN_MAX = 64 };

typedef struct Grammar Grammar;

typedef struct Parse {
  Builder builder;
  Scanner scanner;
  Grammar *grammar;
  Token token; /* about to be fed */
  Token previous, earlier;
  Token foreign; /* a word of another language began what is under way */
  const Name *plain[PLAIN_MAX]; /* words that are none, by their hashes */
  VEC(Token) open;              /* brackets */
  bool in_definition;           /* the item under way began with def or type */
  bool item_inside; /* `token` begins an item although brackets are open */
  size_t errors_before;
  VEC(Comment) comments;
  Span metadata;
} Parse;

/* --- The automaton (grammar.y) ------------------------------------------ */

size_t grammar_size(void);
/* Its stack, which comes from the program's Mem, is kept by a reset. */
void grammar_start(Grammar *g, Parse *p);
void grammar_reset(Grammar *g);
void grammar_end(Grammar *g);
/* Can a token of this kind be shifted now? */
bool grammar_accepts(const Grammar *g, int kind);
/* As itself, and not as a word that may also be a name. */
bool grammar_expects(const Grammar *g, int kind);
/* Only what it accepts.  Raises `exhausted` when memory runs out. */
void grammar_feed(Grammar *g, Token token);

/* --- Mistakes (mistake.c) ----------------------------------------------- */

/* Reports that `p->token` cannot stand where it stands. */
void mistake_unexpected(Parse *p);
/* Reports a token that the scanner could not read. */
void mistake_unreadable(Parse *p);
/* Is a bracket open that a token of this kind would close? */
bool closes_open(const Parse *p, int kind);

/* --- Hints (hint.c) ------------------------------------------------------ */

/* Takes note of a foreign word that may explain a later mistake. */
void hint_watch(Parse *p);
/* The hint for the foreign word that stands behind the mistake, if one does. */
const char *hint_foreign(Parse *p, Token *word);
/* Adds a hint on what `p->token` was probably meant to be. */
void hint_add(Parse *p, Diag *d);
bool token_begins_operand(int kind);

/* Checks `#[version = "0.0.5"]`. */
void parse_version(Parse *p, Token header);

#endif
