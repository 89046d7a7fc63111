/* What is given for parameters, as flags say it: --bind-shape x=(8,128) and
 * --bind x=FILE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "passes/flag_text.h"
#include "passes/specialise.h"
#include "tensor/tensor.h"

/* Up to the `=`; `written` is how the whole is. */
static bool read_name(FlagText *r, Program *p, const char *where,
                      const char *text, const char *written, Given *out) {
  *out = (Given){0};
  if (!flag_open(r, p, where, text, E0540, written)) return false;
  const char *from = r->at;
  out->is_param = *from == '@';
  r->at += *from == '@' || *from == '%';
  size_t len = strcspn(r->at, "= \t");
  if (len == 0) return flag_expected(r, "the name of a parameter");
  out->name = name_intern(p->names, r->at, len);
  r->at += len;
  out->span = flag_span(r, from, r->at);
  return flag_accept(r, '=') || flag_expected(r, "`=`");
}

static bool read_dim(FlagText *r, int64_t *dim) {
  char *end;
  errno = 0;
  if (*r->at < '0' || *r->at > '9') return flag_expected(r, "a number");
  *dim = strtoll(r->at, &end, 10);
  if (errno) return flag_expected(r, "a smaller number");
  r->at = end;
  return true;
}

/* A comma may stand after the last dimension, as in types. */
bool given_read_shape(Program *p, const char *where, const char *text,
                      Given *out) {
  FlagText r;
  if (!read_name(&r, p, where, text, "it is written so: x=(8,128)", out))
    return false;
  const char *from = r.at;
  if (!flag_accept(&r, '(')) return flag_expected(&r, "`(`");
  while (*r.at != ')') {
    if (out->rank == RANK_MAX) return flag_expected(&r, "`)`");
    if (!read_dim(&r, &out->shape[out->rank++])) return false;
    if (!flag_accept(&r, ',') && *r.at != ')')
      return flag_expected(&r, "`,` or `)`");
  }
  r.at++;
  out->what = flag_span(&r, from, r.at);
  flag_skip_blanks(&r);
  return !*r.at || flag_expected(&r, "the end");
}

bool given_read_file(Program *p, const char *where, const char *text,
                     Given *out, const char **file) {
  FlagText r;
  if (!read_name(&r, p, where, text, "it is written so: x=FILE.npy", out))
    return false;
  if (!*r.at) return flag_expected(&r, "the name of a file");
  out->what = flag_span(&r, r.at, r.at + strlen(r.at));
  *file = text + (r.at - r.source->text);
  return true;
}

bool given_take(Program *p, Given *g, Tensor *value) {
  g->rank = value->rank;
  memcpy(g->shape, value->shape, sizeof *g->shape * (size_t)value->rank);
  g->value = program_constant_take(p, value);
  return g->value;
}
