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

enum { DISPLAY_DEPTH_MOST = 20 };

typedef struct Display {
  int width;
  int depth;  /* levels of a tree, at most DISPLAY_DEPTH_MOST */
  int rows;   /* of a tree */
  int digits; /* of floats, significant ones; 0: all */
  bool colour, unicode;
} Display;

/* Whether a drawing may use more than ASCII. */
bool display_unicode(void);
/* The value and a newline, or nothing for (), in at most a few hundred
 * lines.  The caller frees it with rly_text_free; NULL if it was stopped. */
char *display_text(const Display *d, rly_value *v);
/* Writes the text in that style, if there are colours. */
void display_styled(const Display *d, StrBuf *out, Style style,
                    const char *text, size_t len);
/* Draws the lines of a tree that lead to a node of that depth, at most
 * DISPLAY_DEPTH_MOST.  `open` is the drawing's own, of one more element; all
 * nodes are drawn with the same one, in their order. */
void display_lead(const Display *d, StrBuf *out, bool *open, int depth,
                  bool last);
/* The field of a constructor that continues a sequence, as a list's tail does;
 * -1: it is none. */
int display_rest_field(rly_value *v);
/* A tensor's facts as an indented line; nothing for another value. */
void display_facts(const Display *d, StrBuf *out, rly_value *v);

#endif
