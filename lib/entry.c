/* Do the bound values fit the `param`s and the entry's parameters?  This is
 * checked before anything runs, and one message lists all that is missing.
 *
 * The order of the questions matters for what a user is told:
 *
 *   name_positional   values without a name get that of a parameter
 *   check_names       names that nothing has: a slip of the hand
 *   check_strictly    --strict: tensors without use, params left to defaults
 *   params_bound      each param's value is found, read, compared
 *   check_entry_type  each parameter's, field by field of a tuple
 *
 * A slip of the hand is told first, as the value that is missing elsewhere is
 * usually the one that was misspelt. */
#include <string.h>

#include "base/limits.h"
#include "lib/handles.h"

static const Type *param_type(const rly_function *entry, int i) {
  return ((const Global *)entry)->type->args[i];
}

/* Does a NAME=VALUE give the entry's parameter number i, or a part of it?
 * Files do not count (strict): a parameter that a file has a tensor for may
 * still be given a value without a name. */
static bool is_mentioned(rly_program *p, const rly_function *entry, int i) {
  const char *param = rly_function_param_name(entry, i);
  for (size_t k = 0; k < p->bound.len; k++) {
    const Bound *b = &p->bound.data[k];
    if (b->strict && b->name &&
        path_leads_from(p, param, param_type(entry, i), b->name))
      return true;
  }
  return false;
}

/* Names the values given without a name: they go in order to the entry's
 * parameters that no NAME=VALUE mentions. */
static bool name_positional(rly_program *p, const rly_function *entry) {
  int next = 0, n = rly_function_param_count(entry);
  for (size_t i = 0; i < p->bound.len; i++) {
    Bound *b = &p->bound.data[i];
    if (b->name) continue;
    const char *name = NULL;
    for (; next < n && !name; next++)
      if (!is_mentioned(p, entry, next))
        name = rly_function_param_name(entry, next);
    if (!name) {
      diag_error(p->ir->diags, E0505, SPAN_NONE,
                 "more arguments than the entry has parameters (%d)", n);
      return false;
    }
    b->name = name;
    bound_changed(p);
  }
  return true;
}

/* bound_tensor() is silent only when nothing is bound; that is what the list of
 * missing values is for. */
static bool check_entry_type(rly_program *p, const char *name, const Type *type,
                             Span span, Missing *missing) {
  size_t errors = p->ir->diags->errors;
  Value none;
  if (type->kind != TY_TENSOR)
    return path_value(p, name, type, span, NULL, missing, &none);
  if (bound_tensor(p, name, type, span)) return true;
  if (p->ir->diags->errors == errors) report_missing(missing, name, type, span);
  return false;
}

/* Does the program have a param of this name, or the entry such a parameter, or
 * one of them a part that has its tensor by this path?  Every name compared is
 * offered to `near`, for "did you mean". */
static bool known_name(rly_program *p, const rly_function *entry,
                       const char *name, Suggestion *near) {
  for (size_t i = 0; i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    const char *param = g->name->text;
    if (param_has_parts(g)) {
      if (param_has_path(p, g, name)) return true;
      param_offer_paths(p, g, name, near);
      continue;
    }
    if (!strcmp(param, name)) return true;
    suggestion_offer(near, param);
  }
  for (int i = 0; entry && i < rly_function_param_count(entry); i++) {
    const char *param = rly_function_param_name(entry, i);
    if (path_leads_from(p, param, param_type(entry, i), name)) return true;
    path_offer(p, param, param_type(entry, i), near);
  }
  return false;
}

/* The type of the param, or the entry's parameter, of that very name; NULL:
 * there is none. */
static const Type *type_of_name(const rly_program *p, const rly_function *entry,
                                const char *name) {
  for (size_t i = 0; i < p->ir->params.len; i++)
    if (!strcmp(p->ir->params.data[i]->name->text, name))
      return p->ir->params.data[i]->type;
  for (int i = 0; entry && i < rly_function_param_count(entry); i++)
    if (!strcmp(rly_function_param_name(entry, i), name))
      return param_type(entry, i);
  return NULL;
}

/* A name that takes no value: that of nothing, or of what is bound by parts. */
static void report_name(rly_program *p, const rly_function *entry,
                        const char *name, const Suggestion *near) {
  const Type *whole = type_of_name(p, entry, name);
  if (!whole) {
    Diag *d = diag_error(p->ir->diags, E0505, SPAN_NONE,
                         "the program has nothing named `%s`", name);
    if (near->best) diag_hint(d, "did you mean `%s`?", near->best);
    return;
  }
  StrBuf type;
  strbuf_init(&type, p->ir->mem);
  type_print(p->ir->types, &type, whole, TYPE_TEXT_LINE);
  Diag *d = diag_error(p->ir->diags, E0505, SPAN_NONE,
                       "`%s` is %s, which no single value gives", name,
                       strbuf_text(&type));
  diag_hint(d, "its tensors are bound by their paths, as %s.0 or %s.weight",
            name, name);
  strbuf_done(&type);
}

/* Of the bindings from number `from` on.  Only those that were given one by
 * one; a file may hold more than the program needs. */
static bool check_names(rly_program *p, const rly_function *entry,
                        size_t from) {
  bool ok = true;
  for (size_t i = from; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    if (!b->strict || !b->name) continue;
    Suggestion near = suggestion_for(b->name);
    if (known_name(p, entry, b->name, &near)) continue;
    report_name(p, entry, b->name, &near);
    ok = false;
  }
  return ok;
}

/* Takes bindings back, the newest first. */
static void unbind(rly_program *p, size_t from) {
  bound_changed(p);
  while (p->bound.len > from) {
    Bound b = VEC_POP(&p->bound);
    if (b.tensor) tensor_drop(p->ir->heap, b.tensor);
  }
}

/* For the prompt: the new bindings and those params only.  A param that was
 * declared again stands for its newest declaration. */
bool bindings_fit(rly_program *p, size_t from) {
  bool ok = check_names(p, NULL, from);
  for (size_t i = 0; ok && i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    const char *name = g->name->text;
    if (scope_global(&p->ir->user, g->name) != g || param_has_parts(g))
      continue;
    if (bound_since(p, name, from))
      ok = bound_tensor(p, name, g->type, g->span);
  }
  if (!ok) unbind(p, from);
  return ok;
}

rly_status rly_program_bind_param(rly_program *p, const char *name,
                                  const rly_tensor *t) {
  if (!bindable(p, name, t) || !program_enter(p)) return RLY_MISUSE;
  size_t from = p->bound.len;
  rly_status status = bind_tensor(p, name, &t->tensor);
  if (status == RLY_OK && !bindings_fit(p, from))
    status = program_failed(p, RLY_REFUSED);
  program_leave(p);
  return status;
}

/* One message of --strict, which lists the first of what it is about. */
typedef struct Strict {
  Diag *diag; /* NULL: there is nothing to say */
  size_t count;
} Strict;

/* Is the next one still listed? */
static bool strict_lists(Strict *s) { return s->count++ < MISSING_MOST; }

/* Was there nothing to say? */
static bool strict_end(const Strict *s) {
  if (s->diag && s->count > MISSING_MOST)
    diag_note(s->diag, SPAN_NONE, "and %zu more", s->count - MISSING_MOST);
  return !s->diag;
}

/* A tensor without use: where it is, if the message names another file, which
 * name it may have been given for, and why it could not be of use. */
static void list_unused(Strict *s, const Bound *b, const char *file,
                        const char *near) {
  bool other = strcmp(b->file, file) != 0;
  diag_note(s->diag, SPAN_NONE, "`%s`%s%s%s%s%s%s%s", b->name,
            other ? " of " : "", other ? b->file : "",
            near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "",
            b->left_out ? ", which cannot be read: " : "",
            b->left_out ? b->left_out : "");
}

/* Has every tensor of a file a param, or a parameter of the entry, of its name?
 */
static bool all_used(rly_program *p, const rly_function *entry) {
  Strict unused = {0};
  const char *file = NULL; /* the first that has one */
  for (size_t i = 0; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    if (!b->file) continue;
    Suggestion near = suggestion_for(b->name);
    if (known_name(p, entry, b->name, &near)) continue;
    if (!unused.diag) {
      file = b->file;
      unused.diag =
          diag_error(p->ir->diags, E0505, SPAN_NONE,
                     "the program has no use for tensors of %s", file);
    }
    if (strict_lists(&unused)) list_unused(&unused, b, file, near.best);
  }
  return strict_end(&unused);
}

/* Is every param bound to a value, so that no default is used? */
static bool no_defaults(rly_program *p) {
  Strict unbound = {0};
  for (size_t i = 0; i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    bool bound = param_has_parts(g) ? param_is_bound(p, g)
                                    : find_bound(p, g->name->text) != NULL;
    if (!g->value || bound) continue;
    if (!unbound.diag)
      unbound.diag = diag_error(p->ir->diags, E0503, SPAN_NONE,
                                "params would be left at their defaults");
    if (strict_lists(&unbound))
      diag_note(unbound.diag, g->span, "`%s`", g->name->text);
  }
  return strict_end(&unbound);
}

static bool check_strictly(rly_program *p, const rly_function *entry) {
  if (!p->cx->options.strict) return true;
  bool used = all_used(p, entry), given = no_defaults(p);
  return used && given;
}

/* `ok &=` and not `&&`: all mistakes are reported, not the first only, except
 * that names must be known before anything can be compared. */
static rly_status check_bindings(rly_program *p, const rly_function *entry) {
  Missing missing = {.p = p};
  bool ok = name_positional(p, entry) && check_names(p, entry, 0);
  ok &= check_strictly(p, entry);
  ok &= params_bound(p, &missing);
  const Global *g = (const Global *)entry;
  for (int i = 0; i < rly_function_param_count(entry); i++)
    ok &= check_entry_type(p, rly_function_param_name(entry, i),
                           param_type(entry, i), g->value->fn->params[i]->span,
                           &missing);
  missing_end(&missing);
  return ok ? RLY_OK : program_failed(p, RLY_REFUSED);
}

rly_status rly_program_bindings_check(rly_program *p,
                                      const rly_function *entry) {
  if (!require(p, "the program is NULL") ||
      !require(!entry || program_has_function(p, entry),
               "the entry is no function of the program") ||
      !program_enter(p))
    return RLY_MISUSE;
  rly_status status = check_bindings(p, entry);
  program_leave(p);
  return status;
}
