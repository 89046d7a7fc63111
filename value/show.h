/* Values as text, and their comparison. */
#ifndef VALUE_SHOW_H
#define VALUE_SHOW_H

#include "value/value.h"

/* The nodes of a value that a display form has at most, unless asked for. */
enum { VALUE_SHOWN = 10000 };

/* Display form: tensors as type and fitted block, ADTs as constructor terms,
 * tuples, cells as ref(...), functions as <fn ...>; a ref within itself is
 * <cycle N>, the N-th ref outward.  Values may be arbitrarily deep; beyond
 * `limit` nodes the rest is elided (0: none is).  Ends early when
 * store_should_stop(). */
void value_print(Store *s, StrBuf *out, const Type *type, Value v, int width,
                 size_t limit);
/* The JSON of the command line; a ref within itself is {"cycle": N}. */
void value_print_json(Store *s, StrBuf *out, const Type *type, Value v);

/* Equality of structure: tensors bitwise, NaNs equal, refs by what they lead
 * to, functions by identity.  False, too, when store_should_stop(). */
bool value_equal(Store *s, const Type *type, Value a, Value b);

#endif
