/* An operator's row as text. */
#ifndef LIB_OP_TEXT_H
#define LIB_OP_TEXT_H

#include <stdio.h>

#include "ops/ops.h"

/* nn.conv2d(data, weight, strides=[1, 1], ...): as a call is written, with the
 * defaults. */
void operator_put_signature(FILE *out, const OpInfo *op);
/* The signature, and below it the type's rule. */
void operator_put_type(FILE *out, const OpInfo *op);
/* `=[1, 1]`, or nothing for an attribute that is required. */
void operator_put_default(FILE *out, const AttrSpec *a);
/* Is it None, or a value that nobody reads? */
bool operator_default_is_none(const AttrSpec *a);
/* What an attribute may be: its words, or its kind. */
void operator_put_kind(FILE *out, const AttrSpec *a);

/* Everything of the row: signature, sentence, facts, example, operators whose
 * names end alike; and as Markdown, without a heading and the last of these. */
void operator_put(FILE *out, const OpInfo *op);
void operator_put_entry(FILE *out, const OpInfo *op);

/* "rule", "zero", "none"; NULL: it is no question of this operator. */
const char *operator_gradient_word(const OpInfo *op);
/* Why it may fail at run time although it was checked, "divisor"; or NULL. */
const char *operator_fails_word(OpFails fails);
/* What kind of literal an attribute takes: "int or ints". */
const char *operator_attribute_word(AttrType type);

#endif
