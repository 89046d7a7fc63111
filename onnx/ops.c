/* The table of ONNX's operators, and the search in it. */
#include "onnx/ops.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"

#define TRAINING "ai.onnx.preview.training"
#define AT_RANDOM "it draws at random, by a generator that ONNX does not name"
#define PREVIEW "ai.onnx.preview"
#define ML "ai.onnx.ml"
#define MICROSOFT "com.microsoft"
#define LABELS "classlabels_strings"

static const OnnxOp rows[] = {
#define OPERATOR(name_, since_, inputs_, calls_, attrs_, ...) \
  {.name = name_,                                             \
   .since = since_,                                           \
   .inputs = inputs_,                                         \
   .calls = calls_,                                           \
   .attrs = attrs_,                                           \
   __VA_ARGS__},
#include "onnx/ops.def"
#undef OPERATOR
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool same_domain(const char *a, const char *b) {
  return a && b ? !strcmp(a, b) : a == b;
}

const OnnxOp *onnx_op_find(const char *domain, const char *name,
                           int64_t version, bool *name_known) {
  const OnnxOp *best = NULL;
  *name_known = false;
  for (int i = 0; i < ROWS; i++) {
    const OnnxOp *op = &rows[i];
    if (strcmp(op->name, name) || !same_domain(op->domain, domain)) continue;
    *name_known = true;
    if (op->since <= version && (!best || op->since > best->since)) best = op;
  }
  return best;
}

bool onnx_attr_word(Arena *arena, const char **at, OnnxAttrWord *out) {
  if (!*at) return false;
  const char *word = *at + strspn(*at, " ");
  const char *end = word + strcspn(word, " ");
  *at = end;
  if (word == end) return false;
  *out = (OnnxAttrWord){.needed = *word == '='};
  if (out->needed) word++;
  if (strchr(ONNX_ATTR_FLAGS, *word)) out->flag = *word++;
  const char *colon = memchr(word, ':', (size_t)(end - word));
  const char *own_end = colon ? colon : end;
  const char *arrow = memchr(word, '>', (size_t)(own_end - word));
  const char *theirs_end = arrow ? arrow : own_end;
  const char *ours = arrow ? arrow + 1 : word;
  out->theirs = arena_strndup(arena, word, (size_t)(theirs_end - word));
  out->ours = arena_strndup(arena, ours, (size_t)(own_end - ours));
  if (colon)
    out->text = arena_strndup(arena, colon + 1, (size_t)(end - colon - 1));
  return out->theirs && out->ours && (!colon || out->text);
}

int64_t onnx_domain_version(const char *domain) {
  return strcmp(domain, ML) ? 1 : 3;
}

/* A row that a later one has replaced in this version says nothing. */
static bool holds(const OnnxOp *op, int64_t opset) {
  bool known;
  int64_t version = op->domain ? onnx_domain_version(op->domain) : opset;
  return onnx_op_find(op->domain, op->name, version, &known) == op &&
         (!op->until || version < op->until);
}

const OnnxOp *onnx_op_saying(OnnxOpSearch *search) {
  while (search->at < ROWS) {
    const OnnxOp *op = &rows[search->at++];
    bool says = !strcmp(op->calls, search->calls) ||
                (op->alone && !strcmp(op->alone, search->calls));
    if (says && holds(op, search->opset)) return op;
  }
  return NULL;
}
