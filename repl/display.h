/* How the prompt shows values. */
#ifndef REPL_DISPLAY_H
#define REPL_DISPLAY_H

#include "base/strbuf.h"
#include "include/rly.h"

typedef enum Style {
  STYLE_TYPE,
  STYLE_NAME, /* a constructor's */
  STYLE_FACT,
  STYLE_ALARM,
} Style;

typedef struct Display {
  int width;
  bool colour, unicode;
} Display;

/* May a drawing use more than ASCII? */
bool display_unicode(void);
/* The value and a newline, nothing for (); no more than some hundred lines.  To
 * be freed with rly_text_free; NULL when it was stopped. */
char *display_text(const Display *d, rly_value *v);
/* A tensor's facts as an indented line; nothing of another value. */
void display_facts(const Display *d, StrBuf *out, rly_value *v);

#endif
