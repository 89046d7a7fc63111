/* What a message says, whatever its blanks and case.  Results are the
 * caller's. */
#ifndef TESTS_CONFORMANCE_MESSAGE_H
#define TESTS_CONFORMANCE_MESSAGE_H

#include "tests/process.h"

/* The first line that starts with `start`; "" when none does. */
char *message_line(const Text *text, const char *start);

/* In lower case, without blanks and line ends. */
char *message_squeeze(const char *text);

/* The words of a diagnostic, squeezed: neither the places (FILE:LINE:COLUMN)
 * nor the quoted lines of the program count as having been said. */
char *message_words(const Text *err);

#endif
