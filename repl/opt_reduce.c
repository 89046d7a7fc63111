/* rly opt --reduce: a smaller program for which a command still fails, by delta
 * debugging (Zeller and Hildebrandt 2002) over the checked program.
 *
 * The command gets the name of a file, in the place of `{}` or after its last
 * word; a program is of interest when the command ends with the same status,
 * not 0, as for the whole program.  Tried are, until nothing helps:
 *
 *   items       runs of them are dropped, halves first
 *   passes      those that make programs smaller: calls become bodies, what is
 *               known is folded, what is not used goes
 *   wholes, nodes, parameters
 *               see opt_reduce_expr.c
 *   numbers     one that stands in the text becomes 1 or 2 everywhere, which
 *               shrinks shapes
 *
 * Whatever comes of it is printed and checked; what the checker refuses is of
 * no interest, so nothing here has to know about scopes.  What is kept is read
 * anew, with its types.
 *
 * Nodes are counted as the walk meets them, without callees that are names. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/opt_reduce.h"
#include "repl/user.h"

/* A trial may take so many times as long as the first run of the command. */
enum { TRIAL_TIMES = 10, TRIAL_LEAST = 10 /* seconds */ };

/* --- Is a text of interest? ----------------------------------------------- */

static bool write_file(const char *path, const StrBuf *text) {
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  bool ok = fwrite(strbuf_text(text), 1, text->len, f) == text->len;
  return fclose(f) == 0 && ok;
}

/* True when the candidate is smaller in some way and the command fails for it;
 * then it is the program.  A text is tried once. */
bool reduce_holds(Reduce *r) {
  Version made;
  Host *h = r->o->h;
  Diags *diags = h->program->ir->diags;
  size_t known = r->seen.len;
  name_intern(&r->seen, strbuf_text(&r->tried), r->tried.len);
  if (r->seen.len == known || mem_exhausted(r->tried.mem)) return false;
  DiagsMark mark = diags_mark(diags);
  bool checks = version_of_text(h, "candidate", strbuf_text(&r->tried),
                                r->tried.len, &made);
  diags_return(diags, mark);
  if (!checks) return false;
  r->trials++;
  if (!write_file(r->file, &r->tried) ||
      exec_status(h, r->command, r->seconds) != r->status) {
    version_done(h, &made);
    return false;
  }
  version_done(h, &r->v);
  r->v = made;
  VEC_CLEAR(&r->text);
  version_print(&r->v, &r->text);
  return r->changed = true;
}

/* The program as it was changed in memory, printed. */
void reduce_print(Reduce *r) {
  VEC_CLEAR(&r->tried);
  version_print(&r->v, &r->tried);
}

/* --- Items ---------------------------------------------------------------- */

/* Without the items [from, to).  The unit's own arrays come back after it has
 * been printed. */
static bool try_without(Reduce *r, int from, int to) {
  Unit *u = r->v.unit, whole = *u;
  Item *items = ARENA_ARRAY(&u->arena, Item, (size_t)u->item_count + 1);
  Step *steps = ARENA_ARRAY(&u->arena, Step, (size_t)u->step_count + 1);
  if (!items || !steps) return false;
  int n = 0, m = 0, step = 0;
  for (int i = 0; i < u->item_count; i++) {
    bool kept = i < from || i >= to;
    if (kept) items[n++] = u->items[i];
    if (!item_is_step(&u->items[i])) continue;
    if (kept) steps[m++] = u->steps[step];
    step++;
  }
  u->items = items;
  u->item_count = n;
  u->steps = steps;
  u->step_count = m;
  reduce_print(r);
  u->items = whole.items;
  u->item_count = whole.item_count;
  u->steps = whole.steps;
  u->step_count = whole.step_count;
  return reduce_holds(r);
}

/* From the last to the first, since later items use earlier ones. */
static void drop_items(Reduce *r) {
  for (int size = (r->v.unit->item_count + 1) / 2; size > 0; size /= 2)
    for (int to = r->v.unit->item_count; to > 0; to -= size)
      try_without(r, to > size ? to - size : 0, to);
}

/* --- Passes --------------------------------------------------------------- */

static const char *const shrinking[] = {
    "Inline(size=10000), RemoveUnusedFunctions",
    "PartialEval, DeadCodeElimination, RemoveUnusedFunctions",
    "FoldConstant, SimplifyExpr, DeadCodeElimination",
};

/* A program of fewer nodes that these passes make of the one at hand. */
static void try_passes(Reduce *r, const char *passes) {
  Host *h = r->o->h;
  Diags *diags = h->program->ir->diags;
  DiagsMark mark = diags_mark(diags);
  Pipeline *pipeline = arena_alloc(&r->v.unit->arena, sizeof *pipeline);
  Version made;
  if (!pipeline) return;
  pipeline->count = 0;
  bool ok = pipeline_read(h->program->ir, "--reduce", passes, pipeline) &&
            version_of_text(h, "candidate", strbuf_text(&r->text), r->text.len,
                            &made);
  for (int i = 0; ok && i < pipeline->count; i++)
    ok = opt_run_pass(h, &made, &(OptPass){.call = pipeline->calls[i]});
  diags_return(diags, mark);
  if (!ok) return;
  VEC_CLEAR(&r->tried);
  version_print(&made, &r->tried);
  bool smaller = reduce_node_count(r, &made) < reduce_node_count(r, &r->v);
  version_done(h, &made);
  if (smaller) reduce_holds(r);
}

static void shrink_by_passes(Reduce *r) {
  for (size_t i = 0; i < sizeof shrinking / sizeof *shrinking; i++)
    try_passes(r, shrinking[i]);
}

/* --- Numbers -------------------------------------------------------------- */

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%';
}

/* The candidate: the text with `to` for each whole number `from`. */
static void put_number(Reduce *r, const char *from, size_t len, char to) {
  const char *text = strbuf_text(&r->text), *end = text + r->text.len;
  VEC_CLEAR(&r->tried);
  for (const char *p = text; p < end;) {
    bool whole = (p == text || !in_word(p[-1])) && !strncmp(p, from, len) &&
                 !in_word(p[len]);
    strbuf_add_char(&r->tried, whole ? to : *p);
    p += whole ? len : 1;
  }
}

static void shrink_numbers(Reduce *r) {
  char number[24];
  for (size_t at = 0; at < r->text.len; at++) {
    const char *text = strbuf_text(&r->text) + at;
    size_t len = strspn(text, "0123456789");
    bool whole = len > 0 && len < sizeof number && !in_word(text[len]) &&
                 (at == 0 || !in_word(text[-1]));
    if (!whole || (len == 1 && *text <= '1')) {
      at += len;
      continue;
    }
    memcpy(number, text, len);
    put_number(r, number, len, '1');
    if (reduce_holds(r) || (len == 1 && number[0] == '2')) continue;
    put_number(r, number, len, '2');
    reduce_holds(r);
  }
}

/* --- All of it ------------------------------------------------------------ */

/* The command with the file's name in the place of `{}`, or at the end. */
static void put_file(const char *command, const char *file, StrBuf *out) {
  const char *at = strstr(command, "{}");
  if (at) {
    strbuf_add_len(out, command, (size_t)(at - command));
    strbuf_addf(out, "%s%s", file, at + 2);
  } else {
    strbuf_addf(out, "%s %s", command, file);
  }
}

/* By these the shell says that it has not run the command. */
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* The first text is as the printer writes it, with the imports in place: if the
 * command does not fail for that, there is nothing to begin with. */
static bool begin(Reduce *r) {
  Host *h = r->o->h;
  version_print(&r->v, &r->text);
  if (!write_file(r->file, &r->text)) {
    diag_error(h->program->ir->diags, E0506, SPAN_NONE,
               "cannot write the candidate %s", r->file);
    return false;
  }
  double start = clock_seconds();
  r->status = exec_status(h, r->command, 0);
  r->seconds = h->cli->trial_timeout;
  if (!(r->seconds > 0))
    r->seconds = fmax(TRIAL_LEAST, TRIAL_TIMES * (clock_seconds() - start));
  if (r->status == EXEC_LATE) {
    exec_late(h, r->command);
    return false;
  }
  if (r->status == NOT_EXECUTABLE || r->status == NOT_FOUND) {
    diag_error(
        h->program->ir->diags, E0506, SPAN_NONE,
        "`%s` cannot be run: %s (status %d of the shell)", r->command,
        r->status == NOT_FOUND ? "no such command" : "it is not executable",
        r->status);
    return false;
  }
  if (r->status > 0) {
    Version whole;
    bool ok = version_of_text(h, "candidate", strbuf_text(&r->text),
                              r->text.len, &whole);
    version_done(h, &r->v);
    if (ok) r->v = whole;
    return ok;
  }
  Diag *d = diag_error(h->program->ir->diags, E0506, SPAN_NONE,
                       "`%s` does not fail for the whole program", r->command);
  diag_hint(d,
            "it gets a file in the place of {}, and fails by an exit status "
            "that is not 0");
  return false;
}

static bool reduce(Reduce *r) {
  if (!begin(r)) return false;
  size_t before = reduce_node_count(r, &r->v);
  do {
    r->changed = false;
    drop_items(r);
    shrink_by_passes(r);
    reduce_wholes(r);
    reduce_nodes(r);
    reduce_params(r);
    shrink_numbers(r);
  } while (r->changed && !mem_exhausted(r->text.mem));
  fprintf(stderr, "%zu nodes of %zu are left, after %d trials\n",
          reduce_node_count(r, &r->v), before, r->trials);
  strbuf_add_len(&r->o->out, strbuf_text(&r->text), r->text.len);
  return true;
}

bool opt_reduce(Opt *o, Version *v) {
  char path[USER_PATH_MAX];
  StrBuf command;
  strbuf_init(&command, o->out.mem);
  user_temporary("rly-reduce-XXXXXX.rly", path);
  int fd = mkstemps(path, 4);
  bool ok = fd >= 0;
  if (!ok) {
    *strrchr(path, '/') = '\0';
    diag_error(o->h->program->ir->diags, E0506, SPAN_NONE,
               "no file can be made in %s", path);
  }
  if (ok) {
    close(fd);
    put_file(o->h->cli->reduce, path, &command);
    Reduce r = {
        .o = o, .command = strbuf_text(&command), .file = path, .v = *v};
    *v = (Version){0};
    strbuf_init(&r.text, o->out.mem);
    strbuf_init(&r.tried, o->out.mem);
    names_init(&r.seen, o->out.mem);
    ok = reduce(&r);
    names_done(&r.seen);
    strbuf_done(&r.tried);
    strbuf_done(&r.text);
    version_done(o->h, &r.v);
    unlink(path);
  }
  strbuf_done(&command);
  return ok;
}
