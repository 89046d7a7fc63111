/* How the prompt shows values. */
#ifndef REPL_DISPLAY_H
#define REPL_DISPLAY_H

#include "lib/inside.h"
#include "include/rly.h"

typedef enum Style {
  STYLE_TYPE,
  STYLE_NAME, /* of a constructor */
  STYLE_FACT,
  STYLE_ALARM,
} Style;

typedef struct Display {
  int width;
  bool colour, unicode;
} Display;

/* Whether a drawing may use more than ASCII. */
bool display_unicode(void);
/* The value and a newline, or nothing for (), in at most a few hundred
 * lines.  The caller frees it with rly_text_free; NULL if it was stopped. */
char *display_text(const Display *d, rly_value *v);
/* A tensor's facts as an indented line; nothing for another value. */
void display_facts(const Display *d, StrBuf *out, rly_value *v);

#endif
