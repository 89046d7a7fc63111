/* The scanner: text to tokens.  It knows nothing of names or of the program,
 * reports nothing and allocates nothing; what it cannot read is a token of a
 * kind of its own.  The kinds of ordinary tokens come from grammar.y. */
#ifndef PARSER_SCAN_H
#define PARSER_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "parser/grammar.h"

/* Kinds that the grammar does not have. */
enum {
  TK_END = 0,      /* the end of the text, as lemon wants it */
  TK_SIGNED = 200, /* -5, --inff: a literal where one may stand, else `-` and
                      the rest; the driver decides */
  TK_METADATA,     /* #[metadata] and everything after it */
  TK_COMMENT,
  TK_OPEN_COMMENT, /* never closed; both reach to the end of the text */
  TK_OPEN_STRING,
  TK_BAD_CHARACTER,
};

typedef struct Scanner {
  const char *text, *end; /* *end is NUL, and no other byte is */
  const char *lo;         /* the token last read begins here, */
  const char *cur;        /* and ends here */
  const char *minus_end;  /* the end of the last run of minus signs */
  bool after_dot;         /* digits are a field's index, never `0.1` */
} Scanner;

Scanner scanner_over(const char *text, uint32_t len);

/* Reads the next token and returns its kind. */
int scan_next(Scanner *s);

/* Takes the TK_SIGNED just read as the operator `-`; what follows it is read
 * again. */
int scan_split_sign(Scanner *s);

#endif
