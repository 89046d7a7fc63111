/* rly test FILE...: runs files with expectations in comments and prints TAP
 * (the Test Anything Protocol).  --promote writes the actual results into the
 * files instead.
 *
 * A file is cut into cases (test_file.c): the lines up to an expectation.  All
 * cases of a file are texts of one program and one session, so a case sees what
 * earlier ones defined, and a case that fails does not end the file.  Code is
 * verified before it runs (bytecode/verify.h), since tests should find mistakes
 * of the code generator, too.
 *
 * In Markdown, commands and prompt entries are cases as well (test_console.c).
 * They run as processes of their own, only where --shell allows it.  Exercises
 * of a page (lesson.h) are tested by their answers: each solution must be
 * taken, each wrong answer refused.
 *
 * Memory: an Outcome owns its texts; the run's `typed`, `printed` and `folder`
 * live as long as the file. */
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"
#include "repl/lesson.h"
#include "repl/test_console.h"
#include "repl/test_file.h"

/* The outcome of one case. */
typedef struct Outcome {
  rly_status status;
  bool lost;    /* memory ran out for a part of what follows */
  char *output; /* everything that was printed and shown */
  size_t output_len;
  char *last; /* the display form of the last value */
  char *diagnostics;
} Outcome;

typedef struct TestRun {
  const Cli *cli;
  Host host;
  rly_session *session;
  Outcome *now;
  char *typed,
      *printed; /* printed at the prompt by earlier cases of the file */
  char *folder; /* where the file's commands run; NULL: none has run yet */
  int points, failures;
} TestRun;

/* --- Running a case ----------------------------------------------------- */

/* Called with what programs print, and by show() with values: `output` has both
 * in their order.  Without a case under way the text is dropped. */
static void collect(void *data, const char *text, size_t len) {
  Outcome *o = ((TestRun *)data)->now;
  if (!o) return;
  char *longer = realloc(o->output, o->output_len + len + 1);
  if (!longer) {
    o->lost = true;
    return;
  }
  memcpy(longer + o->output_len, text, len);
  longer[o->output_len += len] = '\0';
  o->output = longer;
}

/* The display form, a line for each value that is not (). */
static void show(void *data, rly_value *value) {
  TestRun *t = data;
  char *text = rly_value_text(value);
  if (!text) {
    t->now->lost = true;
    return;
  }
  if (!rly_value_is_unit(value)) {
    collect(t, text, strlen(text));
    collect(t, "\n", 1);
  }
  free(t->now->last);
  t->now->last = strdup(text);
  t->now->lost |= !t->now->last;
  rly_text_free(t->host.cx, text);
}

/* Appends `more` to `text`, which it consumes. */
static bool extend(char **text, const char *more) {
  size_t old = *text ? strlen(*text) : 0;
  char *longer = realloc(*text, old + strlen(more) + 1);
  if (!longer) return false;
  strcpy(longer + old, more);
  *text = longer;
  return true;
}

/* The prompt entries of a file are one session.  The session is run again up to
 * this case; the case's output is what follows the output of the earlier ones.
 * The prompt cannot be asked for the state it had, so it starts again for each
 * case; a page has few of them. */
static char *session_output(TestRun *t, const TestCase *c) {
  size_t before = t->printed ? strlen(t->printed) : 0;
  double timeout = t->cli->limits.timeout;
  char *all = extend(&t->typed, c->text.text)
                  ? console_session(t->folder, t->typed, timeout)
                  : NULL;
  if (!all || strlen(all) < before) return all;
  char *mine = strdup(all + before);
  free(t->printed);
  t->printed = all;
  return mine;
}

/* Only what cannot be run at all is a failure here: that a command fails is
 * part of what the page shows. */
static void run_console(TestRun *t, const TestCase *c, Outcome *o) {
  *o = (Outcome){0};
  if (!t->folder) t->folder = console_folder_new();
  if (t->folder)
    o->output =
        c->kind == EXPECT_COMMAND
            ? console_command(t->folder, c->text.text, t->cli->limits.timeout)
            : session_output(t, c);
  o->status = o->output ? RLY_OK : RLY_LIMIT;
}

static bool is_console(const TestCase *c) {
  return c->kind == EXPECT_COMMAND || c->kind == EXPECT_SESSION;
}

/* Which diagnostics count follows from where the case ended: at the text, or in
 * the run.  A failure without any message is one for lack of memory. */
static void run_case(TestRun *t, const char *path, const TestCase *c,
                     Outcome *o) {
  if (is_console(c)) {
    run_console(t, c, o);
    return;
  }
  *o = (Outcome){0};
  t->now = o;
  rly_program_line(t->host.program, c->first_line);
  o->status =
      rly_program_add_text(t->host.program, path, c->text.text, c->text.len, 0);
  bool runs = o->status == RLY_OK; /* warnings are then ignored */
  if (runs) o->status = rly_session_run(t->session, show, t);
  if (o->lost) o->status = RLY_LIMIT;
  o->diagnostics = runs ? rly_session_diagnostics_text(t->session, false)
                        : rly_diagnostics_text(t->host.cx, false);
  if (o->status != RLY_OK && !o->diagnostics) o->status = RLY_LIMIT;
  rly_diagnostics_clear(t->host.cx);
  rly_session_diagnostics_clear(t->session);
}

static void outcome_free(TestRun *t, Outcome *o) {
  free(o->output);
  free(o->last);
  rly_text_free(t->host.cx, o->diagnostics);
  t->now = NULL;
}

/* --- Judging ------------------------------------------------------------ */

/* The text to compare with the expectation; NULL if the case ended in another
 * way than expected.  A refusal where a run-time error was expected does not
 * match by accident of its text, and the other way round. */
static const char *found_text(const TestCase *c, const Outcome *o) {
  bool ok = o->status == RLY_OK, refused = o->status == RLY_REFUSED;
  switch (c->kind) {
    case EXPECT_NOTHING: return NULL;
    case EXPECT_VALUE: return ok ? (o->last ? o->last : "") : NULL;
    case EXPECT_COMMAND:
    case EXPECT_SESSION:
    case EXPECT_OUTPUT: return ok ? (o->output ? o->output : "") : NULL;
    case EXPECT_ERROR: return refused ? o->diagnostics : NULL;
    case EXPECT_RUNTIME: return !ok && !refused ? o->diagnostics : NULL;
  }
  return NULL;
}

static bool passed(const TestCase *c, const Outcome *o) {
  if (c->kind == EXPECT_NOTHING) return o->status == RLY_OK;
  const char *found = found_text(c, o);
  return found && test_matches(c, found);
}

static void print_commented(const char *head, const char *text) {
  printf("# %s\n", head);
  for (; text && *text; text += strcspn(text, "\n"), text += *text == '\n')
    printf("#   %.*s\n", (int)strcspn(text, "\n"), text);
}

/* Whoever expects an error should see whether it came up where they thought. */
static const char *expected_head(const TestCase *c) {
  if (c->kind == EXPECT_ERROR) return "expected to be refused, saying:";
  if (c->kind == EXPECT_RUNTIME) return "expected a runtime error, saying:";
  return "expected:";
}

static const char *found_head(const TestCase *c, const Outcome *o) {
  bool error = c->kind == EXPECT_ERROR || c->kind == EXPECT_RUNTIME;
  if (!error || o->status == RLY_OK) return "found:";
  return o->status == RLY_REFUSED ? "found that it was refused:"
                                  : "found a runtime error:";
}

/* The line reported is the one an editor should jump to: that of the
 * expectation. */
static void report(TestRun *t, const char *path, const TestCase *c,
                   const Outcome *o) {
  bool ok = passed(c, o);
  bool at_text = c->kind == EXPECT_NOTHING || is_console(c);
  int line = at_text ? c->first_line : c->expect_line + 1;
  printf("%sok %d - %s:%d\n", ok ? "" : "not ", ++t->points, path, line);
  if (ok) return;
  t->failures++;
  if (c->expected.text) print_commented(expected_head(c), c->expected.text);
  print_commented(found_head(c, o),
                  o->status == RLY_OK ? o->output : o->diagnostics);
}

/* --- Promoting ---------------------------------------------------------- */

/* The message of the first diagnostic, as "E0203: operands ..." for
 * `error[E0203]: operands`.  The hint and the place are left out: they would
 * make an expectation fail with every change of a line. */
static void print_error(FILE *out, const Outcome *o) {
  const char *at = o->diagnostics ? strstr(o->diagnostics, "error[") : NULL;
  bool runtime = o->status != RLY_REFUSED;
  if (at)
    fprintf(out, "// expect %s%.*s\n", runtime ? "runtime " : "",
            (int)strcspn(at, "\n"), at);
}

/* The form that test_file.c reads: "// expect: first line", then "//   " and
 * further lines. */
static void print_lines(FILE *out, const char *head, const char *text) {
  fprintf(out, "// expect%s:", head);
  const char *lead = " ";
  for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
    fprintf(out, "%s%.*s\n", lead, (int)strcspn(text, "\n"), text);
    lead = "//   ";
  }
  if (lead[0] == ' ') fputc('\n', out);
}

static void print_found(FILE *out, const TestCase *c, const Outcome *o) {
  if (is_console(c)) fputs(o->output ? o->output : "", out);
  else if (o->status != RLY_OK) print_error(out, o);
  else if (c->kind == EXPECT_OUTPUT)
    print_lines(out, " output", o->output ? o->output : "");
  else print_lines(out, "", o->last ? o->last : "");
}

/* What was found, as the file is to have it; NULL when memory is short.  The
 * lines of an example stand in a doc comment. */
static char *found_lines(const TestCase *c, const Outcome *o) {
  char *text = NULL, *led = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  if (out) print_found(out, c, o);
  if (out && fclose(out)) text = NULL;
  if (!c->example || !text) return text;
  out = open_memstream(&led, &len);
  for (char *p = text; out && *p; p += strcspn(p, "\n"), p += *p == '\n')
    fprintf(out, "///     %.*s\n", (int)strcspn(p, "\n"), p);
  if (out && fclose(out)) led = NULL;
  free(text);
  return led;
}

/* Copies the file's lines from `from` to `to` - 1. */
static void copy_lines(FILE *out, const TestFile *f, int from, int to) {
  for (int i = from; i < to; i++) fprintf(out, "%s\n", f->lines[i]);
}

/* --- Files -------------------------------------------------------------- */

/* Commands and prompt entries of a page run only where the user asked for them:
 * the page may be a stranger's. */
static bool skipped(TestRun *t, const char *path, const TestCase *c) {
  const Cli *cli = t->cli;
  if (!is_console(c) || (cli->shell && !cli->limits.safe)) return false;
  printf("ok %d - %s:%d # SKIP %s\n", ++t->points, path, c->first_line,
         cli->limits.safe ? "--safe" : "--shell runs the page's commands");
  return true;
}

/* Only an answer may replace what is expected: not that memory or time ran out
 * before there was one. */
static bool is_answer(const Outcome *o) {
  return o->status != RLY_LIMIT && o->status != RLY_INTERRUPTED;
}

static int by_line(const void *a, const void *b) {
  const TestCase *x = a, *y = b;
  return x->expect_line - y->expect_line;
}

/* Lines end as the one does that they replace, or stand before. */
static void put_found(FILE *out, const TestFile *f, const TestCase *c) {
  const char *was =
      c->expect_line < f->line_count ? f->lines[c->expect_line] : "";
  bool crlf = *was && was[strlen(was) - 1] == '\r';
  for (const char *at = c->found; *at; at++) {
    if (crlf && *at == '\n') fputc('\r', out);
    fputc(*at, out);
  }
}

/* Writes the file with what was found.  `copied` is the first line of the file
 * that has not been written yet; lines between expectations are copied as they
 * are. */
static void write_promoted(FILE *out, TestFile *f) {
  int copied = 0;
  if (f->case_count)
    qsort(f->cases, (size_t)f->case_count, sizeof *f->cases, by_line);
  for (int i = 0; i < f->case_count; i++) {
    const TestCase *c = &f->cases[i];
    if (!c->found) continue;
    copy_lines(out, f, copied, c->expect_line);
    put_found(out, f, c);
    copied = c->expect_line + c->expect_count;
  }
  copy_lines(out, f, copied, f->line_count);
}

/* False when the new text is not to be used. */
static bool run_cases(TestRun *t, const char *path, TestFile *f,
                      FILE *promoted) {
  bool answered = true;
  for (int i = 0; i < f->case_count; i++) {
    TestCase *c = &f->cases[i];
    Outcome o;
    if (skipped(t, path, c)) continue;
    run_case(t, path, c, &o);
    if (promoted && c->kind != EXPECT_NOTHING && !passed(c, &o)) {
      c->found = found_lines(c, &o);
      answered = answered && is_answer(&o) && c->found;
    } else if (!promoted) {
      report(t, path, c, &o);
    }
    outcome_free(t, &o);
  }
  if (promoted) write_promoted(promoted, f);
  return answered;
}

static void failed(TestRun *t, const char *path, const char *why) {
  t->failures++;
  if (t->cli->promote) fprintf(stderr, "rly: %s: %s\n", path, why);
  else printf("not ok %d - %s: %s\n", ++t->points, path, why);
}

/* With the mistake that was reported before, on stderr. */
static void failed_reported(TestRun *t, const char *path, const char *why) {
  failed(t, path, why);
  host_report(&t->host);
}

static bool replace(TestRun *t, const char *path, const char *text,
                    size_t len) {
  StrBuf whole;
  strbuf_init(&whole, &t->host.cx->mem);
  strbuf_add_len(&whole, text, len);
  bool ok = whole.len == len && file_replace(t->host.cx, path, &whole);
  strbuf_done(&whole);
  return ok;
}

/* The file with what was found in the place of what was expected, in one step:
 * a new file takes its place.  Where nothing was found in another way than
 * expected it stays as it is.  A limit that ended a case makes all of it void:
 * the results of later cases could follow from what did not happen. */
static void promote(TestRun *t, const char *path, TestFile *f,
                    const char *before) {
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  bool answered = out && run_cases(t, path, f, out);
  bool whole = out && !ferror(out);
  whole = out && fclose(out) == 0 && whole;
  if (!whole || !answered)
    failed(t, path, "left as it was: a limit ended a case");
  else if (strcmp(text, before) && !replace(t, path, text, len))
    failed_reported(t, path, "left as it was");
  free(text);
}

/* The caller frees the text, by mem_free(); NULL after reporting. */
static char *read_text(TestRun *t, const char *path, size_t *len) {
  guard_begin(t->cli, "reading");
  char *text = file_text(t->host.cx, path, len);
  guard_end();
  if (!text) failed_reported(t, path, "cannot be read");
  if (!text || !memchr(text, '\0', *len)) return text;
  failed(t, path, "holds a NUL");
  mem_free(&t->host.cx->mem, text, *len + 1);
  return NULL;
}

/* --- Exercises ------------------------------------------------------------ */

/* Answers an exercise in a session of its own.  Is the answer taken?  If not,
 * *why may say more; it is to be freed.  `broken`: not even the question could
 * be asked. */
static bool try_answer(TestRun *t, const Exercise *e, Part answer, bool *broken,
                       char **why) {
  Host h;
  *why = NULL;
  *broken = true;
  if (!host_init(&h, t->cli)) return false;
  rly_session *s = host_plugins(&h) ? rly_session_new(h.program, NULL) : NULL;
  *broken = !s || !part_run(&h, s, e->given);
  bool taken = !*broken && part_run(&h, s, answer) &&
               exercise_takes(&h, s, e, answer, why);
  rly_session_free(s);
  host_done(&h);
  return taken;
}

static void test_answers(TestRun *t, const char *path, const Exercise *e,
                         const PartList *answers, bool right) {
  for (int i = 0; i < answers->count; i++) {
    Part answer = answers->items[i];
    char *why;
    bool broken, taken = try_answer(t, e, answer, &broken, &why);
    bool ok = !broken && taken == right;
    printf("%sok %d - %s:%d %s\n", ok ? "" : "not ", ++t->points, path,
           answer.line, right ? "a solution" : "a wrong answer");
    t->failures += !ok;
    if (broken) print_commented("what is given does not run", NULL);
    else if (!ok)
      print_commented(right ? "it is refused:" : "it is taken as right",
                      right && !why ? "it does not run" : why);
    free(why);
  }
}

static void test_exercises(TestRun *t, const char *path, const char *text) {
  Page page;
  bool read = page_read(&page, text);
  if (!read) failed(t, path, "out of memory");
  for (int i = 0; read && i < page.count; i++) {
    const Exercise *e = &page.pieces[i].exercise;
    const char *flaw = page.pieces[i].asks ? exercise_flaw(e) : NULL;
    char why[160];
    snprintf(why, sizeof why, "line %d: the exercise is not whole: %s",
             e->title.line, flaw ? flaw : "");
    if (flaw) failed(t, path, why);
    if (flaw || !page.pieces[i].asks) continue;
    test_answers(t, path, e, &e->solutions, true);
    test_answers(t, path, e, &e->wrong, false);
  }
  page_free(&page);
}

/* --- All of it ------------------------------------------------------------ */

static bool start(TestRun *t) {
  if (!host_init(&t->host, t->cli)) return false;
  rly_session_options options = {.write = collect, .data = t};
  if (host_plugins(&t->host))
    t->session = rly_session_new(t->host.program, &options);
  return t->session != NULL;
}

static void run_text(TestRun *t, const char *path, const char *text) {
  TestFile f = {0};
  if (!test_file_read(&f, path, text)) failed(t, path, "out of memory");
  else if (t->cli->promote) promote(t, path, &f, text);
  else run_cases(t, path, &f, NULL);
  if (!t->cli->promote && test_file_is_markdown(path))
    test_exercises(t, path, text);
  test_file_free(&f);
}

static void run_file(TestRun *t, const char *path) {
  t->host = (Host){0};
  t->session = NULL;
  size_t len;
  bool started = start(t);
  char *text = started ? read_text(t, path, &len) : NULL;
  if (!started)
    failed(t, path, t->host.said ? "a plugin failed" : "out of memory");
  if (text) run_text(t, path, text);
  if (text) mem_free(&t->host.cx->mem, text, len + 1);
  free(t->typed);
  free(t->printed);
  console_folder_drop(t->folder);
  t->typed = t->printed = t->folder = NULL;
  rly_session_free(t->session);
  host_done(&t->host);
}

int command_test(const Cli *given) {
  Cli own = *given, *cli = &own;
  cli->limits.verify = true;
  TestRun t = {.cli = cli};
  for (int i = 0; i < cli->words.count; i++) run_file(&t, cli->words.items[i]);
  if (!cli->promote) printf("1..%d\n", t.points);
  return t.failures ? EXIT_REFUSED : 0;
}
