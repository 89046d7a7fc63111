/* rly watch FILE: checks and runs a program again whenever it, or a file that
 * it imports, is saved.
 *
 * Each run is a program of its own, as if `rly run` had been called.  Files are
 * compared by their state (stat) ten times a second: unlike inotify, stat needs
 * no descriptor for each file and works where an editor puts another file in
 * the place of the old one.  A run that is under way when a file changes is
 * stopped, for it may not end by itself.
 *
 * What an edit has not changed is not evaluated again (lib/kept.h).
 *
 * On a terminal the text is shown, with each value beside the line on which its
 * expression ends; elsewhere each value is a line, `FILE:LINE: VALUE`.  With
 * --json it is an object, on a terminal too. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"

enum { FILES_MOST = 64, TICK = 100 }; /* milliseconds */
enum { LONG_RUN = 5, LONG_GONE = 5 }; /* ticks */

/* --- Files ---------------------------------------------------------------- */

typedef struct Watched {
  char *path; /* owned */
  struct stat was;
  bool there; /* when the last run began */
  int gone;   /* ticks, as far as it was there */
} Watched;

typedef struct Rerun {
  Watched files[FILES_MOST];
  int count;
  Host *host;
  _Atomic bool done; /* the run has ended: its watcher may */
  _Atomic bool changed;
  char *kept; /* what the last run left (lib/kept.h), owned */
  size_t kept_len;
  char **beside; /* of a page: the value of each line of the file, owned */
  size_t beside_count;
} Rerun;

static void watch_file(Rerun *r, const char *path) {
  for (int i = 0; i < r->count; i++)
    if (!strcmp(r->files[i].path, path)) return;
  if (r->count == FILES_MOST) return;
  Watched *w = &r->files[r->count];
  if (!(w->path = strdup(path))) return;
  w->there = !stat(path, &w->was);
  r->count++;
}

static bool differs(const struct stat *a, const struct stat *b) {
  return a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
         a->st_mtim.tv_nsec != b->st_mtim.tv_nsec || a->st_size != b->st_size ||
         a->st_ino != b->st_ino;
}

/* Has a watched file changed?  To be called once a tick.  A file that is gone
 * for a moment, as where an editor puts another in its place, counts as changed
 * once it is there again.  One that stays away counts as changed, too: the next
 * run says that it cannot be read. */
static bool has_changed(Rerun *r) {
  bool changed = false;
  for (int i = 0; i < r->count; i++) {
    struct stat now;
    Watched *w = &r->files[i];
    bool there = !stat(w->path, &now);
    w->gone = there ? 0 : w->gone + 1;
    changed |= there ? !w->there || differs(&w->was, &now)
                     : w->there && w->gone >= LONG_GONE;
  }
  return changed;
}

/* Remembers the files' states before the files are read, so that no change
 * between the two is lost. */
static void note_states(Rerun *r) {
  for (int i = 0; i < r->count; i++) {
    Watched *w = &r->files[i];
    w->there = !stat(w->path, &w->was);
    w->gone = 0;
  }
}

static void tick(void) {
  nanosleep(&(struct timespec){.tv_nsec = TICK * 1000000L}, NULL);
}

/* --- Values -------------------------------------------------------------- */

/* Where an expression ends. */
typedef struct Line {
  const char *path;
  unsigned line;
} Line;

static Line line_of(const Program *p, Span span) {
  Place at = sources_place(p->sources, span);
  return (Line){at.file ? at.file->path : "", at.end_line};
}

static void watch_imports(Rerun *r, const Program *p) {
  for (const Unit *u = p->units; u; u = u->next)
    if (u->source && !u->source->library) watch_file(r, u->source->path);
}

/* Writes an object with the place: `rest` is its other fields. */
static void put_object(Rerun *r, Line at, const char *rest) {
  Host *h = r->host;
  StrBuf line;
  strbuf_init(&line, &h->cx->mem);
  strbuf_add(&line, "{\"file\": \"");
  strbuf_add_escaped(&line, at.path, strlen(at.path));
  strbuf_addf(&line, "\", \"line\": %u, %s}\n", at.line, rest);
  host_write(h, strbuf_text(&line), line.len);
  strbuf_done(&line);
}

/* Shows a value's text.  On a page the text is kept to stand beside its line,
 * after or instead of what is there already; without a page, and for other
 * files, it is written at once. */
static void put_beside(Rerun *r, Line at, const char *text, bool after) {
  Host *h = r->host;
  bool own = !strcmp(at.path, h->cli->words.items[0]);
  if (own && at.line && at.line <= r->beside_count) {
    char **beside = &r->beside[at.line - 1], *was = *beside;
    if (!after || !was) *beside = strdup(text);
    else if (asprintf(beside, "%s; %s", was, text) < 0) *beside = NULL;
    free(was);
    return;
  }
  char place[32];
  snprintf(place, sizeof place, ":%u: ", at.line);
  host_write(h, at.path, strlen(at.path));
  host_write(h, place, strlen(place));
  host_write(h, text, strlen(text));
  host_write(h, "\n", 1);
}

/* Of several values on a line the page shows the last. */
static void put_value(void *rerun, Span place, const char *line) {
  Rerun *r = rerun;
  Line at = line_of(r->host->program->ir, place);
  if (!r->host->cli->json) {
    put_beside(r, at, line, false);
    return;
  }
  StrBuf value;
  strbuf_init(&value, &r->host->cx->mem);
  strbuf_addf(&value, "\"value\": %s", line);
  put_object(r, at, strbuf_text(&value));
  strbuf_done(&value);
}

/* Is the last content none of those at equal distances? */
static bool ends_apart(const CellHistory *h) {
  return (h->count - 1) % h->every != 0;
}

/* The contents of a cell, from the first to the last:
 *
 *   cell: 0 -> 1 -> 3
 *   cell, 1 in 8 of 1000: 0 -> 8 -> ... -> 999
 *
 * and how many more cells the place has made that are not shown. */
static void put_cell_text(Rerun *r, const CellHistory *h, uint64_t more) {
  Line at = line_of(r->host->program->ir, h->maker->place);
  StrBuf text;
  strbuf_init(&text, &r->host->cx->mem);
  strbuf_add(&text, "cell");
  if (h->every > 1)
    strbuf_addf(&text, ", 1 in %llu of %llu", (unsigned long long)h->every,
                (unsigned long long)h->count);
  for (size_t i = 0; i < h->values.len; i++)
    strbuf_addf(&text, "%s%s", i ? " -> " : ": ", h->values.data[i].text);
  if (ends_apart(h)) strbuf_addf(&text, " -> %s", h->last.text);
  put_beside(r, at, strbuf_text(&text), true);
  strbuf_done(&text);
  if (!more) return;
  strbuf_init(&text, &r->host->cx->mem);
  strbuf_addf(&text, "%llu more cell%s", (unsigned long long)more,
              more == 1 ? "" : "s");
  put_beside(r, at, strbuf_text(&text), true);
  strbuf_done(&text);
}

static void add_content(StrBuf *out, bool first, const Content *c) {
  strbuf_add(out, first ? "\"" : ", \"");
  strbuf_add_escaped(out, c->text, strlen(c->text));
  strbuf_add(out, "\"");
}

/* The same as an object, in which contents are texts, for a long one is cut:
 *
 *   "cell": ["0", "8", ..., "999"], "every": 8, "of": 1000, "more": 0
 */
static void put_cell_object(Rerun *r, const CellHistory *h, uint64_t more) {
  StrBuf rest;
  strbuf_init(&rest, &r->host->cx->mem);
  strbuf_add(&rest, "\"cell\": [");
  for (size_t i = 0; i < h->values.len; i++)
    add_content(&rest, !i, &h->values.data[i]);
  if (ends_apart(h)) add_content(&rest, false, &h->last);
  strbuf_addf(&rest, "], \"every\": %llu, \"of\": %llu, \"more\": %llu",
              (unsigned long long)h->every, (unsigned long long)h->count,
              (unsigned long long)more);
  put_object(r, line_of(r->host->program->ir, h->maker->place),
             strbuf_text(&rest));
  strbuf_done(&rest);
}

static void put_cell(void *rerun, const CellHistory *h, uint64_t more) {
  Rerun *r = rerun;
  if (r->host->cli->json) put_cell_object(r, h, more);
  else put_cell_text(r, h, more);
}

/* --- The page ------------------------------------------------------------ */

static bool has_page(const Cli *cli) {
  return is_terminal(stdout) && !cli->json;
}

static void begin_page(Rerun *r, const SourceFile *f) {
  size_t lines = 1;
  for (uint32_t i = 0; i < f->len; i++) lines += f->text[i] == '\n';
  r->beside = calloc(lines, sizeof *r->beside);
  r->beside_count = r->beside ? lines : 0;
}

/* A line of the text with its value, cut to the terminal. */
static void put_line(Rerun *r, const char *line, size_t len,
                     const char *value) {
  Host *h = r->host;
  size_t width = (size_t)terminal_width();
  size_t fits = utf8_fit(line, len, width);
  host_write(h, line, fits);
  if (value) {
    size_t used = utf8_width(line, fits);
    size_t left = used + 5 < width ? width - used - 5 : 0;
    size_t n = utf8_fit(value, strcspn(value, "\n"), left);
    if (n) host_write(h, "  // ", 5);
    host_write(h, value, n);
  }
  host_write(h, "\n", 1);
}

static void end_page(Rerun *r, const SourceFile *f) {
  const char *at = f->text, *end = f->text + f->len;
  for (size_t i = 0; i < r->beside_count && at < end; i++) {
    size_t n = strcspn(at, "\n");
    put_line(r, at, n, r->beside[i]);
    at += n + (at[n] == '\n');
  }
  for (size_t i = 0; i < r->beside_count; i++) free(r->beside[i]);
  free(r->beside);
  r->beside = NULL;
  r->beside_count = 0;
}

/* --- One time ------------------------------------------------------------ */

/* Stops the run when a file changes.  The page comes when the run has ended, so
 * of a long one it is said that there will be one. */
static void *stop_at_change(void *rerun) {
  Rerun *r = rerun;
  for (int ticks = 1; !r->done && !r->changed; ticks++) {
    tick();
    if (r->beside && !r->done && ticks == LONG_RUN)
      fprintf(stderr, "%s is running\n", r->files[0].path);
    if (!r->done && has_changed(r)) r->changed = true;
  }
  if (!r->done) rly_session_interrupt(r->host->session);
  return NULL;
}

/* Is there no file yet, or one that a run has left?  False after reporting:
 * what somebody else wrote is not replaced. */
static bool may_keep(Host *h) {
  const char *path = h->cli->kept;
  char head[KEPT_HEAD];
  struct stat there;
  if (!path || stat(path, &there) || !S_ISREG(there.st_mode)) return true;
  FILE *f = fopen(path, "rb");
  bool own = !f || kept_begins(head, fread(head, 1, sizeof head, f));
  if (f) fclose(f);
  if (!own)
    host_usage(h, "%s is there, and was not left by --kept: it would be lost",
               path);
  return own;
}

/* Reads the file of --kept, which another process may have written.  Nothing is
 * taken from a file that is not there, or that is larger than what a run
 * leaves. False after reporting. */
static bool read_kept(Rerun *r, rly_session *s, const char *path) {
  struct stat there;
  size_t len;
  rly_context *cx = r->host->cx;
  bool is_there = !stat(path, &there);
  if (!is_there && errno == ENOENT) return true;
  if (is_there && (uint64_t)there.st_size > kept_most(s) + KEPT_HEAD)
    return true;
  char *text = file_text(cx, path, &len);
  if (!text) return false;
  free(r->kept);
  r->kept = malloc(len + 1);
  r->kept_len = r->kept ? len : 0;
  if (r->kept) memcpy(r->kept, text, len + 1);
  mem_free(&cx->mem, text, len + 1);
  return true;
}

/* False after reporting. */
static bool write_kept(Rerun *r, const char *path) {
  StrBuf text;
  strbuf_init(&text, &r->host->cx->mem);
  strbuf_add_len(&text, r->kept, r->kept_len);
  bool written =
      text.len == r->kept_len && file_replace(r->host->cx, path, &text);
  strbuf_done(&text);
  return written;
}

static rly_status run_steps(Rerun *r, rly_session *s,
                            const rly_function *entry) {
  const Cli *cli = r->host->cli;
  if (cli->kept && !read_kept(r, s, cli->kept))
    return status_of_failure(r->host->cx, RLY_REFUSED);
  KeptRun run = {.was = r->kept,
                 .was_len = r->kept_len,
                 .cells = cli->cells,
                 .json = cli->json,
                 .entry = entry,
                 .keep_over = cli->keep_over,
                 .value = put_value,
                 .data = r};
  rly_status status = session_run_kept(s, &run);
  if (!run.now) return status;
  free(r->kept);
  r->kept = run.now;
  r->kept_len = run.now_len;
  bool left = !cli->kept || write_kept(r, cli->kept);
  if (left || status != RLY_OK) return status;
  return status_of_failure(r->host->cx, RLY_RUNTIME);
}

static rly_status run_watched(Rerun *r, const rly_function *entry) {
  pthread_t watcher;
  if (host_was_interrupted()) return RLY_INTERRUPTED;
  rly_session *s = host_session(r->host, false);
  if (!s) return RLY_LIMIT;
  if (r->host->cli->cells && !session_follow_cells(s->vm)) return RLY_LIMIT;
  r->done = false;
  bool watches =
      !r->host->cli->once && !pthread_create(&watcher, NULL, stop_at_change, r);
  rly_status status = run_steps(r, s, entry);
  r->done = true;
  if (watches) pthread_join(watcher, NULL);
  bool whole = session_each_cell(s->vm, put_cell, r) &&
               !mem_exhausted(&r->host->cx->mem);
  if (whole || (status != RLY_OK && status != RLY_RUNTIME)) return status;
  mem_raise_exhausted(s->mem); /* what is shown lacks something */
  return session_failed(s, RLY_LIMIT);
}

/* Checks and runs; the exit status, as of `rly run`. */
static int run_once(Rerun *r) {
  Host *h = r->host;
  const rly_function *entry;
  int args;
  rly_status status = host_add_program(h, &args);
  if (status != RLY_OK || !host_find_entry(h, &entry)) {
    host_report(h);
    return exit_status(status == RLY_OK ? RLY_REFUSED : status);
  }
  const SourceFile *text = h->program->newest->source;
  bool page = has_page(h->cli);
  watch_imports(r, h->program->ir);
  if (page) begin_page(r, text);
  status = host_bind(h, args, entry);
  host_report(h);
  if (status == RLY_OK) status = run_watched(r, entry);
  if (page) end_page(r, text);
  if (r->changed) rly_session_diagnostics_clear(h->session);
  host_session_free(h, h->session);
  return exit_status(status);
}

/* --- Again and again ----------------------------------------------------- */

/* 0: another run may follow.  EXIT_INTERRUPTED after Ctrl-C, EXIT_RUNTIME when
 * the output cannot be written or nobody reads it any more, EXIT_REFUSED
 * without a plugin or where a file would be lost.  With --once, the exit status
 * of the run. */
static int run_again(Rerun *r, const Cli *cli) {
  static const char clear[] = "\033[H\033[2J\033[3J";
  Host h;
  if (!host_init(&h, cli)) return EXIT_LIMIT;
  r->host = &h;
  r->changed = false;
  note_states(r);
  if (has_page(cli) && !cli->once) host_write(&h, clear, sizeof clear - 1);
  int refused = files_check(&h);
  if (!refused && !(may_keep(&h) && host_plugins(&h))) refused = EXIT_REFUSED;
  int status = refused ? refused : run_once(r);
  bool stopped = status == EXIT_INTERRUPTED && !r->changed;
  int written = host_finish(&h, cli->once || stopped ? status : 0);
  host_done(&h);
  return refused && !cli->once ? refused : written;
}

/* A file that is not there at the beginning is not waited for: one run says why
 * it cannot be read. */
int command_watch(const Cli *given) {
  Cli cli = *given;
  Rerun r = {.count = 0};
  watch_file(&r, cli.words.items[0]);
  if (!r.count) {
    fputs("rly: out of memory\n", stderr);
    return EXIT_REFUSED;
  }
  cli.once |= !r.files[0].there;
  int status = run_again(&r, &cli);
  while (!status && !cli.once && !host_was_interrupted()) {
    tick();
    if (has_changed(&r)) status = run_again(&r, &cli);
  }
  for (int i = 0; i < r.count; i++) free(r.files[i].path);
  free(r.kept);
  return status || cli.once ? status : EXIT_INTERRUPTED;
}
