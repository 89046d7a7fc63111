/* Pages with exercises: cutting them into pieces, and judging an answer.
 * lesson.h shows the notation.
 *
 * A page is read once, line by line; all that is kept are stretches of its
 * text.  What a fold or a block holds is told by the line that opens it. */
#include "repl/lesson.h"

#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"

/* --- Lines --------------------------------------------------------------- */

bool part_line(Part *rest, Part *line) {
  if (!rest->len) return false;
  const char *end = memchr(rest->text, '\n', rest->len);
  size_t n = end ? (size_t)(end - rest->text) : rest->len;
  *line = (Part){rest->text, n, rest->line};
  n += end != NULL;
  *rest = (Part){rest->text + n, rest->len - n, rest->line + 1};
  return true;
}

bool part_begins(Part p, const char *prefix) {
  size_t n = strlen(prefix);
  return p.len >= n && !memcmp(p.text, prefix, n);
}

static bool part_is(Part p, const char *text) {
  return p.len == strlen(text) && part_begins(p, text);
}

static bool is_blank(Part p) {
  for (size_t i = 0; i < p.len; i++)
    if (!strchr(" \t\r\n", p.text[i]) || !p.text[i]) return false;
  return true;
}

/* From the beginning of `from` up to the beginning of `to`. */
static Part between(Part from, Part to) {
  return (Part){from.text, (size_t)(to.text - from.text), from.line};
}

/* --- Exercises ------------------------------------------------------------ */

static const char heading[] = "### Exercise: ";

/* One more than fits is counted, which exercise_flaw() tells of. */
static void add_part(PartList *l, Part p) {
  if (l->count < PARTS_MAX) l->items[l->count] = p;
  l->count += l->count <= PARTS_MAX;
}

/* Without blanks around it and the colon at its end. */
static Part trimmed(Part p) {
  for (Part line, rest = p; part_line(&rest, &line) && is_blank(line);)
    p = rest;
  while (p.len && strchr(" \t\r\n:", p.text[p.len - 1])) p.len--;
  return p;
}

/* `above`: the prose between this block and what stands before it. */
static void take_block(Exercise *e, Part above, Part fence, Part inside) {
  if (part_is(fence, "```rly given")) e->given = inside;
  if (part_is(fence, "```rly allowed")) e->allowed = inside;
  if (part_is(fence, "```rly check")) e->check = inside;
  if (part_is(fence, "```rly hidden")) e->hidden = inside;
  if (part_is(fence, "```rly solution")) add_part(&e->solutions, inside);
  if (!part_is(fence, "```rly wrong")) return;
  if (e->wrong.count < PARTS_MAX) e->remarks[e->wrong.count] = trimmed(above);
  add_part(&e->wrong, inside);
}

/* Reads the exercise below its heading.  What is left of the page begins after
 * the fold of wrong answers; where there is none, at the next heading. */
static void read_exercise(Exercise *e, Part title, Part *rest) {
  size_t lead = sizeof heading - 1;
  *e = (Exercise){.title = {title.text + lead, title.len - lead, title.line}};
  Part all = *rest, before = *rest, line, fence = {0}, fold = {0}, inside = {0};
  Part above = {0}, prose = {0};
  for (; part_line(rest, &line); before = *rest) {
    if (fence.text && part_is(line, "```")) {
      take_block(e, above, fence, between(inside, line));
      fence.text = NULL;
      prose = *rest;
    } else if (fence.text) {
      continue;
    } else if (part_begins(line, "```")) {
      fence = line;
      above = fold.text ? between(prose, line) : (Part){0};
      inside = *rest;
    } else if (part_begins(line, "<details>")) {
      if (!e->task.text) e->task = between(all, line);
      fold = line;
      inside = prose = *rest;
    } else if (fold.text && part_is(line, "</details>")) {
      if (part_is(fold, "<details><summary>Hint</summary>"))
        add_part(&e->hints, between(inside, line));
      fold.text = NULL;
      if (e->wrong.count) break;
    } else if (!fold.text && part_begins(line, "#")) {
      *rest = before;
      break;
    }
  }
  if (!e->task.text) e->task = between(all, *rest);
}

const char *exercise_flaw(const Exercise *e) {
  if (is_blank(e->title)) return "it has no title";
  if (is_blank(e->check)) return "it has no check";
  if (!e->hints.count) return "it has no hint";
  if (!e->solutions.count) return "it has no solution";
  if (e->wrong.count < 2) return "it has fewer than two wrong answers";
  if (e->hints.count > PARTS_MAX || e->solutions.count > PARTS_MAX ||
      e->wrong.count > PARTS_MAX)
    return "it has more than eight hints, solutions or wrong answers";
  return NULL;
}

/* --- Pages ---------------------------------------------------------------- */

static Piece *add_piece(Page *p) {
  Piece *more = realloc(p->pieces, ((size_t)p->count + 1) * sizeof *more);
  if (!more) return NULL;
  p->pieces = more;
  more[p->count] = (Piece){0};
  return &more[p->count++];
}

/* The line that leads to the pages before and after it is for those who read
 * the page as one. */
static bool add_prose(Page *p, Part text) {
  Part rest = text, line = {0};
  while (part_line(&rest, &line) && is_blank(line)) continue;
  if (is_blank(text) || part_begins(line, "Before: ") ||
      part_begins(line, "Next: "))
    return true;
  Piece *piece = add_piece(p);
  if (piece) piece->text = text;
  return piece != NULL;
}

bool page_read(Page *p, const char *text) {
  *p = (Page){0};
  Part rest = {text, strlen(text), 1}, begin = rest, before = rest, line;
  bool fenced = false, console = false;
  for (; part_line(&rest, &line); before = rest) {
    if (part_begins(line, "```")) {
      bool ends = fenced && console;
      fenced = !fenced;
      console = fenced && part_is(line, "```console");
      if (!ends) continue;
      if (!add_prose(p, between(begin, rest))) return false;
      begin = rest;
    } else if (!fenced && part_begins(line, heading)) {
      if (!add_prose(p, between(begin, before))) return false;
      Piece *piece = add_piece(p);
      if (!piece) return false;
      piece->asks = true;
      read_exercise(&piece->exercise, line, &rest);
      piece->text = between(line, rest);
      p->exercises++;
      begin = rest;
    } else if (!fenced && !p->title.text && part_begins(line, "# ")) {
      p->title = (Part){line.text + 2, line.len - 2, line.line};
      begin = rest;
    }
  }
  return add_prose(p, between(begin, rest));
}

void page_free(Page *p) {
  free(p->pieces);
  *p = (Page){0};
}

/* --- Answers -------------------------------------------------------------- */

static void forget_messages(Host *h, rly_session *s) {
  rly_diagnostics_clear(h->cx);
  rly_session_diagnostics_clear(s);
}

bool part_run(Host *h, rly_session *s, Part p) {
  rly_status status = rly_program_add_text(
      h->program, "<answer>", p.text, p.len, RLY_NAME_RESULTS | RLY_RECHECK);
  if (status == RLY_OK) status = rly_session_run(s, NULL, NULL);
  if (status != RLY_OK) rly_session_skip(s);
  forget_messages(h, s);
  return status == RLY_OK;
}

typedef struct Shown {
  rly_context *cx;
  char *text; /* of the last value */
} Shown;

static void keep_text(void *data, rly_value *v) {
  Shown *shown = data;
  rly_text_free(shown->cx, shown->text);
  shown->text = rly_value_text(v);
}

/* Is the line's expression true in the session?  If not, *why says so. */
static bool line_holds(Host *h, rly_session *s, Part line, char **why) {
  int n = (int)line.len;
  Shown value = {.cx = h->cx};
  rly_diagnostic d = {.message = "memory ran out"};
  rly_status status =
      rly_program_add_text(h->program, "<check>", line.text, line.len, 0);
  bool runs = status == RLY_OK;
  if (runs) status = rly_session_run(s, keep_text, &value);
  bool holds = status == RLY_OK && value.text && !strcmp(value.text, "True");
  if (!runs) rly_diagnostic_get(h->cx, 0, &d);
  else if (status != RLY_OK) rly_session_diagnostic_get(s, 0, &d);
  if (holds) *why = NULL;
  else if (status != RLY_OK || !value.text)
    n = asprintf(why, "`%.*s` %s: %s", n, line.text,
                 runs ? "fails" : "cannot be asked", d.message);
  else n = asprintf(why, "`%.*s` is %s", n, line.text, value.text);
  if (n < 0) *why = NULL;
  forget_messages(h, s);
  rly_text_free(h->cx, value.text);
  return holds;
}

static bool lines_hold(Host *h, rly_session *s, Part lines, char **why) {
  for (Part line; part_line(&lines, &line);)
    if (!is_blank(line) && !line_holds(h, s, line, why)) return false;
  return true;
}

/* The copy prints nothing.  It is what Ctrl-C stops meanwhile, for a check may
 * call an answer that has no end. */
static bool checks_hold(Host *h, rly_session *s, const Exercise *e,
                        char **why) {
  *why = NULL;
  rly_session *copy = rly_session_fork(s, NULL), *before = h->session;
  if (!copy) return false;
  host_session_use(h, copy);
  bool hold =
      lines_hold(h, copy, e->check, why) && lines_hold(h, copy, e->hidden, why);
  host_session_use(h, before);
  rly_session_free(copy);
  rly_session_skip(s);
  return hold;
}

bool exercise_takes(Host *h, rly_session *s, const Exercise *e, Part answer,
                    char **why) {
  return exercise_allows(h, e, answer, why) && checks_hold(h, s, e, why);
}

Part exercise_remark(Host *h, const Exercise *e, const char *answer) {
  Part found = {0};
  rly_program *p = rly_program_new(h->cx);
  const Unit *given =
      p ? program_parse_text(p, "<answer>", answer, strlen(answer)) : NULL;
  for (int i = 0; given && !found.len && i < e->wrong.count; i++) {
    Part w = e->wrong.items[i];
    const Unit *wrong = program_parse_text(p, "<wrong>", w.text, w.len);
    if (wrong && unit_equal(p->ir->mem, given, wrong)) found = e->remarks[i];
  }
  rly_program_free(p);
  rly_diagnostics_clear(h->cx);
  return found;
}
