/* An operator's row as text: ops.c. */
#ifndef REPL_OPS_H
#define REPL_OPS_H

#include <stdio.h>

#include "lib/inside.h"

/* nn.conv2d(data, weight, strides=[1, 1], ...): as a call is written, with the
 * defaults. */
void ops_put_signature(FILE *out, const OpInfo *op);
/* `=[1, 1]`, or nothing for an attribute that is required. */
void ops_put_default(FILE *out, const AttrSpec *a);
/* What an attribute may be: its words, or its kind. */
void ops_put_kind(FILE *out, const AttrSpec *a);

/* "rule", "zero", "none"; NULL: it is no question of this operator. */
const char *ops_gradient_word(const OpInfo *op);

#endif
