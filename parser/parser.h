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
 * text, for the prompt.  `text` has a NUL behind its `len` bytes.  `innermost`
 * receives the last that was opened: "(", "{", "[", "/" "*" or "\""; "" where
 * nothing is open, or more than is kept track of. */
int parse_open_brackets(const char *text, uint32_t len, const char **innermost);

#endif
