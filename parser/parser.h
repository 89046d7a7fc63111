/* Text to program: scanner (scan.re), grammar (grammar.y), their driver, and
 * the metadata section.  Names stay names; types/ binds them. */
#ifndef PARSER_PARSER_H
#define PARSER_PARSER_H

#include "ir/program.h"

typedef enum ParseStatus {
  PARSE_OK,
  PARSE_INCOMPLETE, /* right so far, but the text ends too early: a REPL asks
                       for more.  Nothing has been reported. */
  PARSE_ERRORS,     /* reported to the program's diagnostics */
} ParseStatus;

typedef struct ParseOptions {
  bool interactive; /* answer PARSE_INCOMPLETE instead of reporting it */
} ParseOptions;

/* Parses a whole file, script or REPL entry as a new unit of `p`.  Up to
 * DIAG_MAX mistakes are reported; after the first in an item the parser
 * goes on at the next.  On anything but PARSE_OK no unit is added and *unit is
 * NULL. */
ParseStatus parse_unit(Program *p, SourceFile *source, ParseOptions options,
                       Unit **unit);

/* How many brackets, comments and strings are open at the end of an incomplete
 * text, for the prompt.  `text` has a NUL after its `len` bytes.  `innermost`
 * receives the last that was opened: "(", "{", "[", "/" "*" or "\""; "" where
 * nothing is open, or more than is kept track of. */
int parse_open_brackets(const char *text, uint32_t len, const char **innermost);

/* What a token is to a reader. */
typedef enum TokenLook {
  LOOK_KEYWORD,
  LOOK_LOCAL,  /* %x */
  LOOK_GLOBAL, /* @f */
  LOOK_WORD,   /* an operator, a type, a constructor, an attribute */
  LOOK_NUMBER,
  LOOK_STRING,
  LOOK_COMMENT,
  LOOK_OPEN, /* a bracket that opens, one that closes */
  LOOK_CLOSE,
  LOOK_MARK, /* punctuation */
  LOOK_BAD,
} TokenLook;

/* Gives the tokens of a text, right or wrong, by their ranges of bytes.  `text`
 * has a NUL after its `len` bytes.  A token that nothing ends, such as an open
 * string, reaches to the end of the text. */
void parse_each_token(const char *text, uint32_t len,
                      void (*visit)(void *data, TokenLook look, size_t lo,
                                    size_t hi),
                      void *data);

#endif
