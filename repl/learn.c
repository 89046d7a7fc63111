/* rly learn: the tutorial's pages, and those of puzzles, as lessons at the
 * prompt.
 *
 * The pages are embedded, so that lessons need no files.  A lesson is the
 * prompt (repl.c) with a page beside it, which is shown piece by piece: its
 * entries are evaluated in the session as they are shown, and Enter at an empty
 * line goes on.  Where the page has an exercise, each entry is an answer, and
 * lesson.c asks the page's checks of it.
 *
 *   a terminal   pieces wait for Enter; progress is kept
 *   a pipe       its lines are the answers; the exit status says whether all
 *                were right, and nothing is kept
 *
 * The file of progress is $XDG_STATE_HOME/rly/learn:
 *
 *   rly learn 1          the format
 *   lesson 3             the one that was opened last
 *   3 4 +-+              lesson 3: pieces read, its exercises right or not
 *
 * It is replaced as a whole.  One that cannot be read as this is left alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/lesson.h"
#include "repl/repl.h"
#include "repl/user.h"

/* --- The pages ------------------------------------------------------------ */

typedef struct File {
  const char *path, *text;
} File;

/* All files of docs/tutorial, pages and programs, and then all pages of
 * docs/puzzles, in the order of their names. */
static const File files[] = {
#include "repl/lessons.inc"
};
enum { FILE_COUNT = sizeof files / sizeof *files };

static bool is_page(const File *f) {
  return !strcmp(f->path + strlen(f->path) - 3, ".md");
}

static int lesson_count(void) {
  int n = 0;
  for (int i = 0; i < FILE_COUNT; i++) n += is_page(&files[i]);
  return n;
}

/* The text of lesson `number`, which is from 1 to lesson_count(). */
static const char *lesson_text(int number) {
  int i = 0;
  while (!is_page(&files[i]) || --number) i++;
  return files[i].text;
}

const char *learn_file(const Repl *r, const char *path) {
  for (int i = 0; r->lesson && i < FILE_COUNT; i++)
    if (!strcmp(files[i].path, path)) return files[i].text;
  return NULL;
}

/* --- Progress ------------------------------------------------------------- */

enum { LESSONS_MAX = 32, EXERCISES_MAX = 32 };

typedef struct Score {
  int read;                      /* pieces */
  char right[EXERCISES_MAX + 1]; /* a '+' or '-' for each exercise */
} Score;

typedef struct Progress {
  int lesson; /* the one that was opened last; 0: none */
  Score scores[LESSONS_MAX];
  bool kept; /* in the file */
} Progress;

static Score *score_of(Progress *p, int lesson) {
  return &p->scores[lesson - 1];
}

static int right_count(const Score *s) {
  int n = 0;
  for (const char *p = s->right; *p; p++) n += *p == '+';
  return n;
}

/* Reads a line of the file; false: it is none of its lines. */
static bool read_line(Progress *p, int line, const char *text) {
  int lesson, read, end = -1;
  char right[EXERCISES_MAX + 1];
  if (line == 1) return !strcmp(text, "rly learn 1");
  if (line == 2) {
    if (sscanf(text, "lesson %2d%n", &lesson, &end) != 1) return false;
    p->lesson = lesson;
  } else {
    if (sscanf(text, "%2d %4d %32[-+]%n", &lesson, &read, right, &end) != 3)
      return false;
  }
  if (end < 0 || text[end] || lesson < 1 || lesson > LESSONS_MAX) return false;
  if (line == 2) return true;
  if (read < 0) return false;
  Score *s = score_of(p, lesson);
  s->read = read;
  strcpy(s->right, right);
  return true;
}

/* What is wrong with the file, or NULL; without a file there is no progress.
 * It is opened without waiting, for a pipe in its place would wait for ever. */
static const char *read_progress(Progress *p, const char *path, char why[64]) {
  char text[4096];
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? NULL : strerror(errno);
  struct stat is;
  bool regular = !fstat(fd, &is) && S_ISREG(is.st_mode);
  ssize_t n = regular ? read(fd, text, sizeof text) : -1;
  close(fd);
  if (!regular) return "it is no file";
  if (n < 0) return "it cannot be read";
  if (n == sizeof text) return "it is too long";
  text[n] = '\0';
  if (strlen(text) < (size_t)n) return "it holds a NUL";
  int line = 0;
  for (char *at = text, *end; *at; at = end + 1) {
    end = strchr(at, '\n');
    snprintf(why, 64, "line %d is not understood", ++line);
    if (!end) return why;
    *end = '\0';
    if (!read_line(p, line, at)) return why;
  }
  return line < 2 ? "it ends too early" : NULL;
}

static Progress load_progress(void) {
  Progress p = {0};
  char path[USER_PATH_MAX], line[64];
  if (!user_state_file("learn", false, path)) return p;
  const char *why = read_progress(&p, path, line);
  if (why) {
    fprintf(stderr,
            "rly: %s: %s; it is left as it is, and progress is not kept\n",
            path, why);
    return (Progress){0};
  }
  p.kept = true;
  return p;
}

/* A file that cannot be written is told of once. */
static void save_progress(Host *h, Progress *p) {
  char path[USER_PATH_MAX];
  if (!p->kept || !user_state_file("learn", true, path)) return;
  StrBuf text;
  strbuf_init(&text, &h->cx->mem);
  strbuf_addf(&text, "rly learn 1\nlesson %d\n", p->lesson);
  for (int i = 1; i <= LESSONS_MAX; i++) {
    Score *s = score_of(p, i);
    if (s->right[0]) strbuf_addf(&text, "%d %d %s\n", i, s->read, s->right);
  }
  p->kept = file_replace(h->cx, path, &text);
  strbuf_done(&text);
  host_report(h);
}

/* --- A lesson ------------------------------------------------------------- */

typedef struct Lesson {
  int number;
  Progress *progress;
  Page page;
  int at;      /* the piece that is shown; -1: none yet */
  int run;     /* pieces before this one have been evaluated */
  int hints;   /* given for this exercise */
  bool listed; /* it was not asked for by its number: Enter begins */
  bool solved; /* the exercise that is shown */
  bool passed; /* it need not be */
  bool over, next;
} Lesson;

static Score *own_score(Lesson *l) { return score_of(l->progress, l->number); }

/* The piece that is shown, if it asks something. */
static Piece *asking(Lesson *l) {
  bool asks = l && l->at >= 0 && l->page.pieces[l->at].asks;
  return asks ? &l->page.pieces[l->at] : NULL;
}

/* Which exercise of the page piece `at` is, from 0. */
static int exercise_index(const Page *p, int at) {
  int n = 0;
  for (int i = 0; i < at; i++) n += p->pieces[i].asks;
  return n;
}

/* The score has a sign for each exercise, even if the page had others when it
 * was kept. */
static void fit_score(Lesson *l) {
  Score *s = own_score(l);
  size_t had = strlen(s->right), n = (size_t)l->page.exercises;
  if (had < n) memset(s->right + had, '-', n - had);
  s->right[n] = '\0';
  if (s->read > l->page.count) s->read = 0;
}

/* --- Showing -------------------------------------------------------------- */

enum { WIDTH_MOST = 80 };

/* A paragraph under way. */
typedef struct Prose {
  Display d;
  StrBuf words, out;
} Prose;

/* `[words](path)` becomes `words`, outside of code. */
static void drop_links(StrBuf *out, const char *p) {
  for (bool code = false; *p; p++) {
    code ^= *p == '`';
    const char *middle = !code && *p == '[' ? strstr(p, "](") : NULL;
    const char *end = middle ? strchr(middle, ')') : NULL;
    if (end && !memchr(p + 1, '[', (size_t)(middle - p - 1))) {
      strbuf_add_len(out, p + 1, (size_t)(middle - p - 1));
      p = end;
    } else {
      strbuf_add_char(out, *p);
    }
  }
}

/* Breaks the words between blanks.  In colours, code is coloured and its
 * backticks are left out. */
static void end_paragraph(Repl *r, Prose *p) {
  if (!p->words.len) return;
  StrBuf plain;
  strbuf_init(&plain, &r->host->cx->mem);
  drop_links(&plain, strbuf_text(&p->words));
  p->words.len = 0;
  bool code = false;
  int column = 0;
  for (const char *w = strbuf_text(&plain); *w;) {
    size_t n = strcspn(w, " "), ticks = 0;
    for (size_t i = 0; i < n; i++) ticks += w[i] == '`';
    int width = (int)(utf8_width(w, n) - (p->d.colour ? ticks : 0));
    bool breaks = column && column + 1 + width > p->d.width;
    if (column) strbuf_add_char(&p->out, breaks ? '\n' : ' ');
    column = column && !breaks ? column + 1 + width : width;
    for (size_t i = 0; i < n;) {
      size_t m = p->d.colour ? strcspn(w + i, "`") : n;
      if (m > n - i) m = n - i;
      if (code) display_styled(&p->d, &p->out, STYLE_TYPE, w + i, m);
      else strbuf_add_len(&p->out, w + i, m);
      i += m;
      if (i < n) i++, code = !code;
    }
    w += n;
    w += strspn(w, " ");
  }
  if (column) strbuf_add_char(&p->out, '\n');
  strbuf_done(&plain);
  repl_say(r, "%s", strbuf_text(&p->out));
  p->out.len = 0;
}

static Prose prose(Repl *r) {
  Prose p = {.d = repl_display(r)};
  if (p.d.width > WIDTH_MOST) p.d.width = WIDTH_MOST;
  strbuf_init(&p.words, &r->host->cx->mem);
  strbuf_init(&p.out, &r->host->cx->mem);
  return p;
}

static void prose_done(Repl *r, Prose *p) {
  end_paragraph(r, p);
  strbuf_done(&p->words);
  strbuf_done(&p->out);
}

static void say_styled(Repl *r, Style style, const char *text, size_t len) {
  Display d = repl_display(r);
  StrBuf out;
  strbuf_init(&out, &r->host->cx->mem);
  display_styled(&d, &out, style, text, len);
  repl_say(r, "%s\n", strbuf_text(&out));
  strbuf_done(&out);
}

/* Takes an entry of a block off it: the first line is `line`, further ones
 * begin with dots.  To be freed. */
static char *take_entry(Part line, Part *rest) {
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  if (!out) return NULL;
  fprintf(out, "%.*s", (int)line.len - 5, line.text + 5);
  for (Part before = *rest, more; part_line(rest, &more); before = *rest) {
    if (!part_begins(more, "  ...")) {
      *rest = before;
      break;
    }
    int n = (int)more.len - 6;
    fprintf(out, "\n%.*s", n > 0 ? n : 0, more.text + 6);
  }
  if (!fclose(out)) return text;
  free(text);
  return NULL;
}

static void enter(Repl *r, const char *entry) {
  if (*entry == ':') repl_command(r, entry + 1);
  else repl_submit(r, entry);
}

static void say_entry(Repl *r, const char *entry) {
  for (const char *p = entry; p;) {
    size_t n = strcspn(p, "\n");
    repl_say(r, p == entry ? "rly> " : "  ... ");
    say_styled(r, STYLE_NAME, p, n);
    p = p[n] ? p + n + 1 : NULL;
  }
}

/* A block of `console`: its entries are evaluated; commands for the shell, and
 * what they print, are shown as the page has them.  What is not to `run` is
 * shown so as well. */
static void show_console(Repl *r, Part *rest, bool run) {
  bool own = false; /* these lines are what an entry printed for the page */
  for (Part line; part_line(rest, &line) && !part_begins(line, "```");) {
    if (part_begins(line, "rly> ")) {
      char *entry = take_entry(line, rest);
      if (!entry) continue;
      say_entry(r, entry);
      if (run) enter(r, entry);
      own = run;
      free(entry);
    } else {
      own = own && !part_begins(line, "$ ");
      if (!own) repl_say(r, "%.*s\n", (int)line.len, line.text);
    }
  }
}

static void show_code(Repl *r, Part *rest) {
  for (Part line; part_line(rest, &line) && !part_begins(line, "```");)
    repl_say(r, "    %.*s\n", (int)line.len, line.text);
}

/* Shows a part of the page; `run`: and evaluates its entries. */
static void show_part(Repl *r, Part rest, bool run) {
  Prose p = prose(r);
  bool gap = false;
  for (Part line; part_line(&rest, &line);) {
    bool fence = part_begins(line, "```");
    if (!line.len || fence || part_begins(line, "- ")) end_paragraph(r, &p);
    gap |= !line.len;
    if (!line.len) continue;
    if (gap) repl_say(r, "\n");
    gap = false;
    if (part_begins(line, "```console")) show_console(r, &rest, run);
    else if (fence) show_code(r, &rest);
    else if (part_begins(line, "#"))
      say_styled(r, STYLE_NAME, line.text, line.len);
    else {
      if (p.words.len) strbuf_add_char(&p.words, ' ');
      strbuf_add_len(&p.words, line.text, line.len);
    }
  }
  prose_done(r, &p);
}

/* --- Going on ------------------------------------------------------------- */

static void say_head(Repl *r, const char *lead, Part title) {
  char *text;
  int n = asprintf(&text, "%s%.*s", lead, (int)title.len, title.text);
  if (n < 0) return;
  say_styled(r, STYLE_NAME, text, (size_t)n);
  free(text);
}

static void show_exercise(Repl *r, Lesson *l) {
  Exercise *e = &asking(l)->exercise;
  l->hints = 0;
  l->solved = false;
  l->passed = own_score(l)->right[exercise_index(&l->page, l->at)] == '+';
  repl_say(r, "\n");
  say_head(r, "Exercise: ", e->title);
  show_part(r, e->task, false);
  part_run(r->host, r->session, e->given);
  state_others_skip(r);
  if (r->tty)
    say_styled(r, STYLE_FACT,
               l->passed ? "(You have solved this; Enter goes on.)"
                         : "(Answer at the prompt. :hint helps.)",
               l->passed ? 38 : 36);
}

/* The file is written before a piece is shown, so that a run that is killed
 * comes back to it. */
static void keep(Repl *r, Lesson *l) {
  if (!r->tty) return;
  l->progress->lesson = l->number;
  save_progress(r->host, l->progress);
}

static void finish(Repl *r, Lesson *l) {
  Score *s = own_score(l);
  int right = right_count(s), all = l->page.exercises;
  l->over = true;
  s->read = l->page.count;
  keep(r, l);
  repl_say(r, "\n");
  if (right == all)
    repl_say(r, "Lesson %d is done, with all %d exercises.\n", l->number, all);
  else
    repl_say(r,
             "The end of lesson %d: %d of %d exercises. `rly learn %d`"
             " begins it again.\n",
             l->number, right, all, l->number);
  if (!r->tty) r->quit = true;
  else if (l->number < lesson_count())
    repl_say(r, "Enter goes on with lesson %d, Ctrl-D leaves.\n",
             l->number + 1);
  else repl_say(r, "It was the last. Enter leaves.\n");
}

/* Shows pieces from `at` on, up to one that waits: for an answer, or at a
 * terminal for Enter. */
static void show_from(Repl *r, Lesson *l, int at) {
  for (; at < l->page.count; at++) {
    const Piece *p = &l->page.pieces[at];
    bool first = at >= l->run;
    l->at = at;
    if (first) l->run = at + 1;
    if (own_score(l)->read < at) own_score(l)->read = at;
    keep(r, l);
    if (p->asks) show_exercise(r, l);
    else show_part(r, p->text, first);
    if (p->asks || r->tty) return;
  }
  finish(r, l);
}

/* Evaluates the entries of the pieces before `at` and shows nothing of it: all
 * three streams lead nowhere meanwhile. */
static void catch_up(Repl *r, Lesson *l, int at) {
  int kept[3], nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  fflush(stdout);
  for (int i = 0; i < 3; i++) {
    kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
    if (nowhere >= 0 && kept[i] >= 0) dup2(nowhere, i);
  }
  for (; l->run < at; l->run++)
    if (!l->page.pieces[l->run].asks)
      show_part(r, l->page.pieces[l->run].text, true);
  fflush(stdout);
  for (int i = 0; i < 3; i++)
    if (kept[i] >= 0) {
      dup2(kept[i], i);
      close(kept[i]);
    }
  if (nowhere >= 0) close(nowhere);
}

static void begin(Repl *r, Lesson *l) {
  Score *s = own_score(l);
  if (s->read >= l->page.count) s->read = 0;
  if (s->read) catch_up(r, l, s->read);
  repl_say(r, "\n");
  say_head(r, "", l->page.title);
  if (s->read) repl_say(r, "You were here; :back shows what was before.\n");
  else if (r->tty)
    repl_say(r,
             "Enter goes on. At the prompt you may try whatever you like.\n");
  show_from(r, l, s->read);
}

void learn_begin(Repl *r) {
  Lesson *l = r->lesson;
  if (!l->listed) begin(r, l);
  else
    repl_say(r, "\nEnter %s lesson %d, Ctrl-D leaves.\n",
             own_score(l)->read ? "goes on with" : "begins", l->number);
}

void learn_go_on(Repl *r) {
  Lesson *l = r->lesson;
  if (l->over) {
    l->next = l->number < lesson_count();
    r->quit = true;
  } else if (l->at < 0) {
    begin(r, l);
  } else if (asking(l) && !l->solved && !l->passed) {
    repl_say(r, "Type an answer; :hint, :solution and :skip help.\n");
  } else {
    show_from(r, l, l->at + 1);
  }
}

/* --- Answers -------------------------------------------------------------- */

/* What the page says of the wrong answer that was given. */
static void say_remark(Repl *r, const Exercise *e) {
  Part rest = exercise_remark(r->host, e, r->last ? r->last : ""), line;
  if (!rest.len) return;
  Prose p = prose(r);
  while (part_line(&rest, &line)) {
    if (p.words.len) strbuf_add_char(&p.words, ' ');
    strbuf_add_len(&p.words, line.text, line.len);
  }
  strbuf_add_char(&p.words, '.');
  prose_done(r, &p);
}

/* An answer that was refused or failed has had its message. */
void learn_look(Repl *r) {
  Lesson *l = r->lesson;
  Piece *piece = asking(l);
  if (!piece || l->solved || l->over) return;
  if (!r->fine) {
    say_remark(r, &piece->exercise);
    return;
  }
  const char *text = r->last ? r->last : "";
  Part answer = {text, strlen(text), 1};
  char *why;
  bool right =
      exercise_takes(r->host, r->session, &piece->exercise, answer, &why);
  state_others_skip(r);
  if (!right) {
    Prose p = prose(r);
    strbuf_addf(&p.words, "Not yet: %s.", why ? why : "memory ran out");
    prose_done(r, &p);
    free(why);
    say_remark(r, &piece->exercise);
    return;
  }
  l->solved = true;
  own_score(l)->right[exercise_index(&l->page, l->at)] = '+';
  keep(r, l);
  repl_say(r, r->tty ? "Right. Enter goes on.\n" : "Right.\n");
  if (!r->tty) show_from(r, l, l->at + 1);
}

/* The exercise that is asked, or NULL after saying that there is none. */
static Exercise *asked(Repl *r, const char *command) {
  Piece *p = asking(r->lesson);
  if (!p) repl_refuse(command, "nothing is asked here; Enter goes on");
  return p ? &p->exercise : NULL;
}

void learn_hint(Repl *r, const char *rest) {
  (void)rest;
  Lesson *l = r->lesson;
  Exercise *e = asked(r, "hint");
  if (!e) return;
  if (l->hints == e->hints.count)
    repl_say(r, "There are no more hints; :solution shows what is right.\n");
  else show_part(r, e->hints.items[l->hints++], false);
}

void learn_solution(Repl *r, const char *rest) {
  (void)rest;
  Exercise *e = asked(r, "solution");
  if (!e) return;
  Part code = e->solutions.items[0];
  show_code(r, &code);
  repl_say(r, "Type it, or something like it; :skip goes on without.\n");
}

void learn_skip(Repl *r, const char *rest) {
  (void)rest;
  Lesson *l = r->lesson;
  if (l->at < 0 || l->over) learn_go_on(r);
  else show_from(r, l, l->at + 1);
}

void learn_back(Repl *r, const char *rest) {
  (void)rest;
  Lesson *l = r->lesson;
  l->over = false;
  if (l->at > 0) show_from(r, l, l->at - 1);
  else repl_refuse("back", "this is the beginning");
}

/* --- The command ---------------------------------------------------------- */

/* The lesson to go on with: the one that was left, unless all of it is read;
 * then the next that is not. */
static int current_lesson(Progress *p, const Page *pages) {
  int n = lesson_count(), from = p->lesson ? p->lesson : 1;
  for (int i = 0; i < n; i++) {
    int lesson = (from - 1 + i) % n + 1;
    if (score_of(p, lesson)->read < pages[lesson - 1].count) return lesson;
  }
  return n;
}

static void list_lessons(Progress *p, const Page *pages, int current) {
  for (int i = 1; i <= lesson_count(); i++) {
    const Page *page = &pages[i - 1];
    Score *s = score_of(p, i);
    int right = right_count(s);
    bool read = s->read >= page->count;
    const char *how = read && right == page->exercises ? "done"
                      : read                           ? "read"
                      : s->read || right               ? "begun"
                                                       : "";
    printf("%c %-40.*s %-5s", i == current ? '>' : ' ', (int)page->title.len,
           page->title.text, how);
    printf("  %d of %d exercises\n", right, page->exercises);
  }
}

static int teach(const Cli *cli, Lesson *l) {
  Host h;
  if (!host_init(&h, cli)) return EXIT_LIMIT;
  rly_session *s = host_session(&h, false);
  int status = s ? repl_loop(&h, s, false, l) : EXIT_LIMIT;
  if (s) host_session_free(&h, s);
  status = host_finish(&h, status);
  host_done(&h);
  return status;
}

/* Lessons from this one on, for as long as the user goes on. */
static int teach_from(const Cli *cli, Progress *p, const Page *pages,
                      int number, bool listed) {
  bool tty = isatty(STDIN_FILENO);
  if (!tty) *p = (Progress){0};
  Lesson l;
  int status;
  do {
    l = (Lesson){.number = number++, .progress = p, .at = -1, .listed = listed};
    l.page = pages[l.number - 1];
    fit_score(&l);
    status = teach(cli, &l);
    listed = false;
  } while (!status && l.next);
  if (!status && !tty) status = right_count(own_score(&l)) < l.page.exercises;
  return status;
}

int command_learn(const Cli *cli) {
  Page pages[LESSONS_MAX] = {0};
  int n = lesson_count(), status = 0;
  bool read = true;
  for (int i = 0; i < n; i++) read &= page_read(&pages[i], lesson_text(i + 1));
  uint64_t number = 0;
  const char *word = cli->words.count ? cli->words.items[0] : NULL;
  Progress p = load_progress();
  int current = current_lesson(&p, pages);
  if (!read) {
    fputs("rly: out of memory\n", stderr);
    status = EXIT_LIMIT;
  } else if (word &&
             (!read_count(word, &number) || !number || number > (uint64_t)n)) {
    fprintf(stderr, "rly: learn takes a lesson's number, from 1 to %d\n", n);
    status = EXIT_REFUSED;
  } else if (word) {
    status = teach_from(cli, &p, pages, (int)number, false);
  } else {
    list_lessons(&p, pages, current);
    if (isatty(STDIN_FILENO))
      status = teach_from(cli, &p, pages, current, true);
  }
  for (int i = 0; i < n; i++) page_free(&pages[i]);
  return status;
}
