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
  bool in_left_side;            /* of a rule: its `=>` is still to come */
  bool item_inside; /* `token` begins an item although brackets are open */
  size_t errors_before;
  VEC(Comment) comments;
  Span metadata;
} Parse;

/* --- The automaton (grammar.y) ------------------------------------------ */

/* How a token will be taken: the rules by which the parser reduces first, in
 * order, the state that it is in then, and what happens to the token.  A token
 * may end any number of constructs at once; the plan holds the first rules and
 * counts all. */
enum { PLAN_MAX = 16 };
typedef struct GrammarPlan {
  int rule_count, state, action;
  uint16_t rules[PLAN_MAX];
} GrammarPlan;

size_t grammar_size(void);
/* Its stack, which comes from the program's Mem, is kept by a reset. */
void grammar_start(Grammar *g, Parse *p);
void grammar_reset(Grammar *g);
void grammar_end(Grammar *g);
/* Can a token of this kind be shifted now? */
bool grammar_accepts(const Grammar *g, int kind);
/* The same, and by which reductions: valid until the next token is fed. */
bool grammar_plan(const Grammar *g, int kind, GrammarPlan *plan);
/* As itself, and not as a word that may also be a name. */
bool grammar_expects(const Grammar *g, int kind);
/* Only a token that fits, with its plan.  Raises `exhausted` when memory runs
 * out. */
void grammar_feed(Grammar *g, const Token *token, const GrammarPlan *plan);

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
/* The hint for the foreign word that stands after the mistake, if one does. */
const char *hint_foreign(Parse *p, Token *word);
/* Adds a hint on what `p->token` was probably meant to be. */
void hint_add(Parse *p, Diag *d);
bool token_begins_operand(int kind);

/* Checks `#[version = "0.0.5"]`. */
void parse_version(Parse *p, Token header);

#endif
