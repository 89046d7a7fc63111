/* Values as text, and their equality. */
#ifndef VALUE_SHOW_H
#define VALUE_SHOW_H

#include "value/value.h"

/* The number of nodes after which a display form is elided by default. */
enum { VALUE_SHOWN = 10000 };

/* The display form: tensors as type and fitted block, ADTs as constructor
 * terms, tuples, cells as ref(...), functions as <fn ...>; a ref within itself
 * is <cycle N>, the N-th ref outward.  Floats have at most so many significant
 * digits; 0: as many as read back to them.  Values may be arbitrarily deep;
 * after `limit` nodes the rest is elided (0 for no limit).  Ends early when
 * store_should_stop().  What `v` holds may be of differentiated code; `v`
 * itself is as value_plain() gives it. */
void value_print(Store *s, StrBuf *out, const Type *type, Value v, int width,
                 int digits, size_t limit);
/* The message of an error: each `{}` of the text is a value, in their order, as
 * `print` adds it to `out` but on one line; without values the text is as it
 * is.  What goes beyond MESSAGE_MOST bytes is cut and ends in "...". */
enum { MESSAGE_MOST = 1000 };
void message_fill(StrBuf *out, const char *text, int count,
                  void (*print)(void *of, StrBuf *out, int i), void *of);
/* The JSON of the command line; a ref within itself is {"cycle": N}. */
void value_print_json(Store *s, StrBuf *out, const Type *type, Value v);

/* Structural equality: tensors by bits with NaNs equal, refs by their contents,
 * functions by identity.  Also false when store_should_stop(). */
bool value_equal(Store *s, const Type *type, Value a, Value b);

#endif
