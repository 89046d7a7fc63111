/* Matches: a `match` has an arm for every value of its scrutinee's type, and in
 * any match an arm that no value can reach deserves a warning.
 *
 *   match (%l) { Cons(%x, Cons(_, _)) => ... }     E0401: `Nil`,
 *                                                  `Cons(_, Nil)`
 *   match (%l) { _ => ... Nil => ... }             W0001: the second
 *
 * These are the two questions of Maranget ("Warnings for pattern matching",
 * 2007): is the match exhaustive, and is each arm useful?  exhaust_search.c
 * answers both in one search; this file words the messages.  `match?` may leave
 * values out, which then fail at run time. */
#include <string.h>

#include "types/check.h"
#include "types/exhaust.h"

/* --- What was reported before ------------------------------------------- */

/* Does the pattern fit its type?  Inference has reported what does not fit, and
 * the search relies on constructors and numbers of fields that do. */
static bool is_sound(const Pattern *p) {
  if (p->kind == PT_WILD || p->kind == PT_VAR) return true;
  const Type *t = p->type;
  if (!t) return false;
  if (p->kind == PT_TUPLE) {
    if (t->kind != TY_TUPLE || t->count != p->count) return false;
  } else if (p->kind == PT_LITERAL) {
    return p->ctor && type_is_scalar(t) && t->dtype == p->constant->dtype;
  } else {
    if (!p->ctor || t->kind != TY_ADT || t->adt != p->ctor->adt) return false;
    if (p->count != p->ctor->field_count) return false;
  }
  for (int i = 0; i < p->count; i++)
    if (!is_sound(p->fields[i])) return false;
  return true;
}

/* A match with an error of its own has been reported, and is not checked. */
static bool is_checkable(const Expr *e) {
  const Type *t = e->args[0]->type;
  if (!t || t->kind == TY_ERROR) return false;
  for (int i = 0; i < e->match->arm_count; i++) {
    const Pattern *p = e->match->arms[i].pattern;
    if (!is_sound(p)) return false;
    if (p->kind == PT_LITERAL && !type_is_scalar(t)) return false;
    if (p->kind == PT_CTOR && (t->kind != TY_ADT || t->adt != p->ctor->adt))
      return false;
  }
  return true;
}

/* --- Messages ----------------------------------------------------------- */

/* An error about missing arms is one about the whole match; its keyword is
 * shorter to underline. */
static Span keyword_of(const Expr *match) {
  return (Span){match->span.lo, match->span.lo + (uint32_t)strlen("match")};
}

/* "`A`, `B`, ...", each with `after` inside its quotes. */
static void list_missing(StrBuf *out, const Coverage *c, const char *after) {
  for (int i = 0; i < c->missing_count; i++)
    strbuf_addf(out, "%s`%s%s`", i ? ", " : "", c->missing[i], after);
  if (c->more) strbuf_add(out, ", ...");
}

/* At most MISSING_MAX values are named.  The hint repeats them in the form of
 * arms, to be copied. */
static void report_missing(Checker *c, const Expr *e, const Coverage *found) {
  bool many = found->missing_count > 1;
  StrBuf text, type;
  strbuf_init(&text, c->mem);
  strbuf_init(&type, c->mem);
  list_missing(&text, found, "");
  type_print(c->p->types, &type, e->args[0]->type, TYPE_TEXT_LINE);
  Diag *d =
      diag_error(c->p->diags, E0401, keyword_of(e),
                 "match on %s is not exhaustive: %s %s not covered",
                 strbuf_text(&type), strbuf_text(&text), many ? "are" : "is");
  strbuf_done(&type);
  VEC_CLEAR(&text);
  list_missing(&text, found, " => ...");
  bool any = strcmp(found->missing[0], "_") == 0;
  if (found->guarded)
    diag_note(d, SPAN_NONE,
              "an arm with a guard may refuse what its pattern takes, so it "
              "leaves that to the arms below");
  diag_hint(d, "write the missing arm%s, %s%s", many ? "s" : "",
            strbuf_text(&text), any ? "" : ", or one for `_`");
  strbuf_done(&text);
}

static void report_too_complex(Checker *c, const Expr *e) {
  Diag *d = diag_error(c->p->diags, E0401, keyword_of(e),
                       "match is too complex to tell whether it is "
                       "exhaustive");
  diag_hint(d, "end it with an arm `_ => ...`, or write `match?`");
}

/* Does the first pattern alone take every value that the second does?  NULL
 * stands for a wildcard. */
static bool pattern_covers(const Pattern *a, const Pattern *b) {
  if (a->kind == PT_WILD || a->kind == PT_VAR) return true;
  if (b && (b->kind != a->kind || b->ctor != a->ctor)) b = NULL;
  bool tests = a->kind == PT_CTOR || a->kind == PT_LITERAL;
  if (!b && tests && a->ctor->adt->ctor_count > 1) return false;
  for (int i = 0; i < a->count; i++)
    if (!pattern_covers(a->fields[i], b ? b->fields[i] : NULL)) return false;
  return true;
}

/* Does the arm share its body with another? */
static bool is_alternative(const Match *m, int arm) {
  return m->arms[arm].shares ||
         (arm + 1 < m->arm_count && m->arms[arm + 1].shares);
}

/* Names the first arm that alone takes all that this one would; often there is
 * none, and only several together do. */
static void report_unreachable(Checker *c, const Match *m, int arm) {
  const Pattern *p = m->arms[arm].pattern;
  Diag *d = diag_warning(c->p->diags, W0001, p->span,
                         is_alternative(m, arm)
                             ? "this alternative can never be reached"
                             : "arm can never be reached");
  for (int i = 0; i < arm; i++) {
    if (m->arms[i].guard || !pattern_covers(m->arms[i].pattern, p)) continue;
    diag_note(d, m->arms[i].pattern->span,
              "this arm takes every value that would reach it");
    return;
  }
  diag_note(d, SPAN_NONE,
            "the arms above it, taken together, leave it no value");
}

/* --- Matches ------------------------------------------------------------ */

/* Spares a match that is too complex for the search, but ends in an arm for
 * everything. */
static bool has_catch_all(const Match *m) {
  for (int i = 0; i < m->arm_count; i++)
    if (!m->arms[i].guard && pattern_covers(m->arms[i].pattern, NULL))
      return true;
  return false;
}

/* Where the search gave up, arms that it had not found useful yet may be
 * useful; nothing is said of them. */
static void check_match(Checker *c, const Expr *e) {
  if (!is_checkable(e)) return;
  Coverage found = match_coverage(c->mem, &c->arena, e->match);
  if (!found.known) return;
  if (found.missing_count > 0) report_missing(c, e, &found);
  else if (found.too_complex && !e->match->partial && !has_catch_all(e->match))
    report_too_complex(c, e);
  for (int i = 0; i < e->match->arm_count && !found.too_complex; i++)
    if (!found.useful[i]) report_unreachable(c, e->match, i);
}

void exhaust_program(Checker *c) {
  for (size_t i = 0; i < c->matches.len && !mem_exhausted(c->mem); i++)
    check_match(c, c->matches.data[i]);
}
