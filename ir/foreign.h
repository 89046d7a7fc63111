/* What other languages call things, for hints: whoever writes `return` is told
 * how a value is returned here. */
#ifndef IR_FOREIGN_H
#define IR_FOREIGN_H

#include <stddef.h>

typedef enum Foreign {
  FOREIGN_KEYWORD = 1, /* shapes a text: return, while */
  FOREIGN_NAME = 2,    /* stands for a value: null, len */
  FOREIGN_TYPE = 4,
  FOREIGN_ATTR = 8,   /* names an argument: argnums */
  FOREIGN_COUNT = 16, /* is an operator here, too, that takes fewer arguments */
  FOREIGN_FIELD = 32, /* is an operator here, too, and no method: %loss.grad */
} Foreign;

/* The hint for a word of one of these kinds (joined by |); NULL: none. */
const char *foreign_hint(const char *word, size_t len, unsigned kinds);

#endif
