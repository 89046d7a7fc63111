/* The text of a pipeline:
 *
 *   pipeline  =  [ pass { "," pass } ]
 *   pass      =  NAME [ "(" [ argument { "," argument } ] ")" ]
 *   argument  =  NAME "=" ( NUMBER | WORD )
 *
 * The rows of passes.def say which names there are and what the numbers may be.
 * The text joins the source map, so a message shows where in it the mistake
 * is. */
#include "passes/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "passes/flag_text.h"

/* A word up to what separates words; NULL after reporting that there is none.
 * It lives as long as the program. */
static const char *word(FlagText *r, const char *expected, Span *span) {
  flag_skip_blanks(r);
  size_t len = strcspn(r->at, ",()= \t\n");
  *span = flag_span(r, r->at, r->at + len);
  if (len == 0) {
    flag_expected(r, expected);
    return NULL;
  }
  const Name *name = name_intern(r->p->names, r->at, len);
  r->at += len;
  return name->text;
}

static const PassInfo *find_pass(FlagText *r, const char *name, Span span) {
  const PassInfo *pass = pass_find(name);
  if (pass && pass->bound) return pass;
  Diag *d;
  if (pass) {
    d = diag_error(r->p->diags, E0520, span, "`%s` is no pass of rly opt",
                   name);
    diag_hint(d, "it makes text of a text: rly fmt --pass %s", name);
    return NULL;
  }
  d = diag_error(r->p->diags, E0520, span, "no pass `%s`", name);
  const char *near = pass_nearest(name, PASSES_OF_OPT);
  if (near) diag_hint(d, "did you mean `%s`?", near);
  else diag_hint(d, "rly passes lists them");
  return NULL;
}

/* --- Arguments ------------------------------------------------------------ */

/* The hint names the arguments that the pass has. */
static int refuse_arg(FlagText *r, const PassInfo *pass, const char *name,
                      Span span) {
  Diag *d = diag_error(r->p->diags, E0521, span, "%s has no argument `%s`",
                       pass->name, name);
  if (!pass->args[0].name) {
    diag_hint(d, "it has none: %s", pass->name);
    return -1;
  }
  StrBuf names;
  strbuf_init(&names, r->p->mem);
  for (int i = 0; i < PASS_ARGS_MAX && pass->args[i].name; i++)
    strbuf_addf(&names, "%s%s", i ? ", " : "", pass->args[i].name);
  diag_hint(d, "it has %s; rly passes %s says what they mean",
            strbuf_text(&names), pass->name);
  strbuf_done(&names);
  return -1;
}

static int find_arg(FlagText *r, const PassInfo *pass, const char *name,
                    Span span) {
  for (int i = 0; i < PASS_ARGS_MAX && pass->args[i].name; i++)
    if (strcmp(pass->args[i].name, name) == 0) return i;
  return refuse_arg(r, pass, name, span);
}

static bool read_value(FlagText *r, const PassArg *arg, int64_t *value) {
  Span span;
  char *end;
  const char *text = word(r, arg->words ? "a word" : "a number", &span);
  if (!text) return false;
  for (*value = 0; arg->words && *value <= arg->most; ++*value)
    if (strcmp(text, arg->words[*value]) == 0) return true;
  errno = 0;
  if (!arg->words) *value = strtoll(text, &end, 10);
  if (!arg->words && !errno && !*end && *value >= arg->least &&
      *value <= arg->most)
    return true;
  StrBuf range, standard;
  strbuf_init(&range, r->p->mem);
  strbuf_init(&standard, r->p->mem);
  pass_range_print(&range, arg);
  pass_value_print(&standard, arg, arg->standard);
  Diag *d = diag_error(r->p->diags, E0521, span, "`%s` is %s, not `%s`",
                       arg->name, strbuf_text(&range), text);
  diag_hint(d, "%s: %s; without it, %s", arg->name, arg->meaning,
            strbuf_text(&standard));
  strbuf_done(&range);
  strbuf_done(&standard);
  return false;
}

static bool read_args(FlagText *r, PassCall *call) {
  const PassInfo *pass = call->pass;
  unsigned given = 0;
  if (flag_accept(r, ')')) return true;
  do {
    Span span;
    const char *name = word(r, "the name of an argument", &span);
    int i = name ? find_arg(r, pass, name, span) : -1;
    if (i < 0) return false;
    if (given >> i & 1) {
      diag_error(r->p->diags, E0521, span, "`%s` is given twice", name);
      return false;
    }
    given |= 1u << i;
    if (!flag_accept(r, '=')) return flag_expected(r, "`=` and a value");
    if (!read_value(r, &pass->args[i], &call->args[i])) return false;
  } while (flag_accept(r, ','));
  return flag_accept(r, ')') || flag_expected(r, "`,` or `)`");
}

/* --- Passes --------------------------------------------------------------- */

static bool read_pass(FlagText *r, Pipeline *out) {
  Span span;
  const char *name = word(r, "the name of a pass", &span);
  const PassInfo *pass = name ? find_pass(r, name, span) : NULL;
  if (!pass) return false;
  if (out->count == PIPELINE_MAX) {
    diag_error(r->p->diags, E0520, span, "more than %d passes", PIPELINE_MAX);
    return false;
  }
  PassCall *call = &out->calls[out->count++];
  *call = pass_call_of(pass);
  return !flag_accept(r, '(') || read_args(r, call);
}

bool pipeline_read(Program *p, const char *where, const char *text,
                   Pipeline *out) {
  FlagText r;
  if (!flag_open(&r, p, where, text, E0520,
                 "passes are written so: A,B(argument=4),C"))
    return false;
  while (*r.at) {
    if (!read_pass(&r, out)) return false;
    if (*r.at && !flag_accept(&r, ',')) return flag_expected(&r, "`,` or `(`");
  }
  return true;
}

void pass_call_print(const PassCall *call, StrBuf *out) {
  const char *before = "(";
  strbuf_add(out, call->pass->name);
  for (int i = 0; i < PASS_ARGS_MAX && call->pass->args[i].name; i++) {
    const PassArg *arg = &call->pass->args[i];
    if (call->args[i] == arg->standard) continue;
    strbuf_addf(out, "%s%s=", before, arg->name);
    pass_value_print(out, arg, call->args[i]);
    before = ",";
  }
  if (*before == ',') strbuf_add(out, ")");
}

/* -O1 makes a program smaller, and nothing of it slower.  -O2 takes out of
 * loops what need not be in them, after it has put the cells of recurrent
 * layers, which have some 50 parts, in their places; and it works over A-normal
 * form, where more is found. */
static const char *const levels[] = {
    "",
    "FoldConstant,DynamicToStatic,SimplifyExpr,EliminateCommonSubexpr,"
    "DeadCodeElimination,RemoveUnusedFunctions",
    "FoldConstant,DynamicToStatic,Inline(size=64),LoopInvariant,"
    "BatchRecurrence,SimplifyExpr,FoldConstant,ToANormalForm,"
    "EliminateCommonSubexpr,DeadCodeElimination,RemoveUnusedFunctions",
};

const char *pipeline_level(int level) { return levels[level]; }
