/* The prompt's commands that measure (:time, :bench, :profile), and :limit,
 * which sets bounds.
 *
 * Times are wall-clock times of the monotonic clock.  :bench gives the fastest
 * and the median call: the fastest is what the machine can do, the median what
 * it usually does; a mean would be decided by the few calls that the system
 * interrupted. */
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"

/* --- Time --------------------------------------------------------------- */

/* In the unit that gives one to three digits before the point. */
static void print_seconds(const char *label, double s) {
  if (s < 1e-3) printf("%s%.3g us", label, s * 1e6);
  else if (s < 1) printf("%s%.3g ms", label, s * 1e3);
  else printf("%s%.3g s", label, s);
}

/* Includes parsing, checking and showing: what the user waited for. */
void measure_time(Repl *r, const char *rest) {
  double start = clock_seconds();
  if (!repl_submit(r, rest)) return;
  print_seconds("", clock_seconds() - start);
  puts("");
}

/* The function to call: either the function that `expr` names, or a function of
 * no parameters over `expr`, which is first evaluated by itself, so that its
 * mistakes are told as what was written.  NULL after reporting.  The function
 * is made once and called often, so parsing and checking are not measured.
 * Newlines around the text end a comment in its last line. */
static rly_value *function_of(Repl *r, const char *expr) {
  bool named = *expr == '@' && !expr[strcspn(expr, " \t();")];
  rly_value *f = repl_value(r, expr);
  if (named || !f) return f;
  rly_value_free(f);
  char *text;
  if (asprintf(&text, "fn () {\n%s\n}", expr) < 0) return NULL;
  f = repl_value(r, text);
  free(text);
  return f;
}

/* Evaluates an expression, or calls a function without parameters, repeatedly
 * for about a second.  At least three calls and at most MOST, for about a
 * second.  The first calls make code and warm up caches; the minimum and the
 * median are hardly touched by them. */
void measure_bench(Repl *r, const char *expr) {
  enum { MOST = 1000 };
  rly_value *f = function_of(r, expr);
  if (!f) return;
  double times[MOST], begun = clock_seconds();
  rly_status status = RLY_OK;
  int n = 0;
  while (n < MOST && status == RLY_OK &&
         (n < 3 || clock_seconds() - begun < 1)) {
    rly_value *v = NULL;
    double start = clock_seconds();
    status = rly_value_call(f, 0, NULL, &v);
    times[n++] = clock_seconds() - start;
    rly_value_free(v);
  }
  rly_value_free(f);
  host_report(r->host);
  if (status != RLY_OK) return;
  sort_times((size_t)n, times);
  print_seconds("min ", times[0]);
  print_seconds(", median ", times[n / 2]);
  printf(" (%d calls)\n", n);
}

/* --- Profiles ----------------------------------------------------------- */

/* The profile is switched off again whatever happened, for it slows down every
 * instruction.  The text is there even where the items failed: where time went
 * until then. */
void measure_profile(Repl *r, const char *items) {
  if (rly_session_set_profile(r->session, true) == RLY_OK) {
    repl_submit(r, items);
    char *text = rly_session_profile(r->session);
    if (text) repl_say(r, "%s", text);
    rly_text_free(r->host->cx, text);
    rly_session_set_profile(r->session, false);
  }
  host_report(r->host);
}

/* --- Limits ------------------------------------------------------------- */

static void say_limits(Repl *r, const rly_options *now) {
  Limit limit;
  for (int i = 0; limit_at(i, now, &limit); i++)
    repl_say(r, "%s %s\n", limit.name, limit.value);
}

static void refuse_limit(const rly_options *now) {
  char text[128];
  Limit limit;
  size_t len = 0;
  *text = '\0';
  for (int i = 0; limit_at(i, now, &limit) && len < sizeof text; i++)
    len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %s",
                            i ? ", " : "", limit.name, limit.takes);
  repl_refuse("limit", "takes one of %s, or `none` for its value", text);
}

/* The limits change as a whole: either the line was understood, or nothing
 * changes. */
void measure_limit(Repl *r, const char *rest) {
  rly_options limits = {0};
  rly_session_limits(r->session, &limits);
  if (!*rest) {
    say_limits(r, &limits);
    return;
  }
  if (!repl_may(r, "limit", "other limits")) return;
  char name[16], value[64];
  if (sscanf(rest, "%15s %63s", name, value) != 2 ||
      !read_limit(name, value, &limits))
    refuse_limit(&limits);
  else rly_session_set_limits(r->session, &limits);
}
