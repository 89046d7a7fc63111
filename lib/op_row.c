/* The operator table for hosts: a row by its number, its attributes, and how a
 * call of it is written.  All but the last is constant. */
#include <stdlib.h>

#include "lib/handles.h"
#include "lib/op_text.h"

static const OpInfo *row(size_t i) {
  return i < OP_COUNT ? op_info((int)i) : NULL;
}

const char *rly_operator_name(size_t i) {
  const OpInfo *op = row(i);
  return op ? op->name : NULL;
}

bool rly_operator_get(size_t i, rly_operator_row *out) {
  const OpInfo *op = row(i);
  if (!require(out, "the result is NULL") || !op) return false;
  *out = (rly_operator_row){
      .name = op->name,
      .aliases = op->aliases,
      .type = op_rule(op)->text,
      .doc = op->doc,
      .formula = op->formula,
      .example = op->example,
      .shows = op->shows,
      .gradient = operator_gradient_word(op),
      .fails = operator_fails_word(op->fails),
      .prints = op->prints,
      .random = op->random,
      .attribute_count = op->attr_count,
  };
  return true;
}

bool rly_operator_attribute(size_t i, int k, rly_attribute *out) {
  const OpInfo *op = row(i);
  if (!require(out, "the result is NULL") || !op) return false;
  if (k < 0 || k >= op->attr_count) return false;
  const AttrSpec *a = &op->attrs[k];
  bool reals = a->type == AT_FLOATS;
  *out = (rly_attribute){
      .name = attr_name_text(a->name),
      .type = operator_attribute_word(a->type),
      .words = a->words,
      .required = a->required,
      .optional = a->optional,
      .expression = attr_may_be_computed(a->type),
      .none = operator_default_is_none(a),
      .integer = a->integer,
      .real = a->real,
      .text = a->text,
      .count = a->count,
      .integers = reals ? NULL : a->ints,
      .reals = reals ? a->reals : NULL,
  };
  return true;
}

char *rly_operator_signature(rly_context *cx, size_t i) {
  const OpInfo *op = row(i);
  char *text = NULL;
  size_t len;
  bool right = require(cx, "the context is NULL") && op;
  FILE *to = right ? open_memstream(&text, &len) : NULL;
  if (!to) return NULL;
  operator_put_signature(to, op);
  bool whole = !fclose(to);
  Mem mem = mem_local(&cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  if (whole) strbuf_add_len(&out, text, len);
  free(text);
  return text_take(cx, &out);
}
