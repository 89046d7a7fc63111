/* The prompt's commands: a table row and a function each.
 *
 * A row holds all that is known of its command: the name, the letter, what it
 * takes, the function and the sentence of `:help`.  Completion and the messages
 * about unknown commands read the same table, so a command is added by its row
 * and its function and nowhere else.
 *
 * `args` is shown as it stands, and its first character is read: a command
 * whose args begin with a letter refuses to run without any; `[` says that they
 * may be left out; "" that the command takes none.
 *
 * What a command does to the program or to the session is in other files
 * (inspect.c, state.c, measure.c, ...); here are those about files, the editor
 * and leaving. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/abbrev.h"
#include "repl/pager.h"
#include "repl/repl.h"
#include "repl/user.h"

typedef struct ReplCommand {
  const char *name;
  char letter; /* a second name of one letter; 0: none */
  const char *args;
  void (*run)(Repl *r, const char *rest);
  const char *help;
  const char *example; /* lines that show it at work; NULL: it takes nothing */
} ReplCommand;

static void run_help(Repl *r, const char *rest);

/* A whole name is explained, as `rly ops NAME` does; of a part the names that
 * have it are listed. */
static void run_ops(Repl *r, const char *rest) {
  bool dyn;
  (void)r;
  if (op_find(rest, &dyn) != OP_COUNT) ops_explain(rest);
  else ops_list(rest);
}

/* --- Files -------------------------------------------------------------- */

/* `rest` is the file's path and values for its params.  Parses and checks the
 * file as a whole before anything of it runs.  RLY_RECHECK lets its definitions
 * replace earlier ones of the same name; what used those is checked again.
 * Where a value for a param does not fit, the file's items are skipped: they
 * are in the program, but to evaluate them without their params would only
 * repeat the message. */
static bool load(Repl *r, const char *rest) {
  char *path = strndup(rest, params_behind(rest));
  const char *own = path ? learn_file(r, path) : NULL;
  rly_program *p = r->host->program;
  rly_status status = RLY_LIMIT;
  if (own) {
    status = rly_program_add_text(p, path, own, strlen(own), RLY_RECHECK);
  } else if (!repl_may(r, "load", "files")) {
    free(path);
    return false;
  } else if (path) {
    status = rly_program_add_file(p, path, RLY_RECHECK);
  }
  host_report(r->host);
  bool added = status == RLY_OK, ok = added && params_bind_words(r, rest);
  if (added && !ok) rly_session_skip(r->session);
  ok = ok && repl_evaluate(r);
  if (added) transcript_add_file(r, path);
  free(path);
  return ok;
}

/* The words are kept whole, with the values for params, so that :reload repeats
 * all of the command and not the path alone.  They are kept before loading: a
 * file with a mistake is the one that the user mends and loads again. */
static void run_load(Repl *r, const char *rest) {
  char *words = strdup(rest);
  if (!words) return;
  free(r->loaded);
  r->loaded = words;
  load(r, words);
}

static void run_reload(Repl *r, const char *rest) {
  (void)rest;
  if (r->loaded) load(r, r->loaded);
  else fputs("nothing was loaded; :load FILE does\n", stderr);
}

/* Refuses to overwrite a file that exists.  The file is opened with "x"
 * (transcript.c), so the check and the creation are one step. */
static void run_save(Repl *r, const char *rest) {
  if (!repl_may(r, "save", "files")) return;
  if (!transcript_save(r, rest)) perror(*rest ? rest : ":save FILE");
}

/* Reads a whole file.  The caller frees the text.  getdelim() up to a NUL,
 * which no text has, reads all of the file in one call. */
static char *read_file(const char *path) {
  FILE *in = fopen(path, "r");
  char *text = NULL;
  size_t cap = 0;
  if (in && getdelim(&text, &cap, '\0', in) < 0) {
    free(text);
    text = NULL;
  }
  if (in) fclose(in);
  return text;
}

/* Takes an entry from the user's editor, which starts with the text of the last
 * entry.  The file is made by mkstemps(), which creates it for this user alone.
 * $VISUAL and $EDITOR may hold options ("code -w"), which is
 * why the shell splits the command.  An editor that fails, or whose text is
 * blank, enters nothing. */
static void run_edit(Repl *r, const char *rest) {
  (void)rest;
  if (!repl_may(r, "edit", "files")) return;
  char path[USER_PATH_MAX];
  user_temporary("rly-edit-XXXXXX.rly", path);
  int fd = mkstemps(path, 4);
  pager_stop();
  if (fd < 0) {
    perror(":edit");
    return;
  }
  const char *last = r->last ? r->last : "";
  bool ok = write(fd, last, strlen(last)) == (ssize_t)strlen(last);
  close(fd);
  const char *editor = getenv("VISUAL");
  if (!editor || !*editor) editor = getenv("EDITOR");
  if (!editor || !*editor) editor = "vi";
  char *command = NULL;
  ok = ok && asprintf(&command, "%s %s", editor, path) >= 0 &&
       system(command) == 0;
  free(command);
  char *text = ok ? read_file(path) : NULL;
  unlink(path);
  if (!ok) repl_refuse("edit", "the editor failed, so nothing is entered");
  if (text && strspn(text, " \t\r\n") < strlen(text)) repl_submit(r, text);
  free(text);
}

/* --- Settings ----------------------------------------------------------- */

static void list_settings(Repl *r) {
  char line[80];
  for (int i = 0; settings_line(&r->settings, i, line); i++)
    repl_say(r, "%s\n", line);
}

/* `:set depth 5`, or `:set @n 40`, which is a cell. */
static void run_set(Repl *r, const char *rest) {
  char why[SETTINGS_WHY];
  if (!*rest) list_settings(r);
  else if (*rest == '@' || *rest == '%') state_run_set(r, rest);
  else if (!settings_change(&r->settings, rest, why))
    repl_refuse("set", "%s", why);
}

/* --- Leaving ------------------------------------------------------------ */

static void run_quit(Repl *r, const char *rest) {
  (void)rest;
  r->quit = true;
}

static const ReplCommand table[] = {
    {"help", 'h', "[NAME]", run_help,
     "this list, or more about a command or what :doc knows",
     ":help cost\n:help nn.dense"},
    {"ops", 0, "[NAME|PART]", run_ops,
     "the operators, one explained, or those of a part of the name",
     ":ops tanh\n:ops nn\n:ops scatter"},
    {"doc", 'd', "NAME", doc_run, "what an operator, a function or a type does",
     ":doc softmax\n:doc @map\n:doc List"},
    {"source", 0, "NAME", doc_source, "the text of a definition",
     ":source @foldl"},
    {"find", 0, "TYPE", find_run, "functions of that type, or that give it",
     ":find fn (List[A]) -> A\n:find fn (Tensor[(n), float32]) -> int32\n"
     ":find List[int32]"},
    {"names", 0, "[PATTERN]", doc_names, "what you have defined, with types",
     ":names\n:names w*"},
    {"explain", 0, "[CODE]", doc_explain,
     "what an error means; without a code, the last one",
     ":explain\n:explain E0203\n:explain broadcast"},
    {"apropos", 0, "WORD", inspect_apropos, "operators and names about a word",
     ":apropos softmax"},
    {"type", 't', "EXPR", inspect_type,
     "the type of an expression, not evaluated",
     ":type @map\n:type nn.relu([1f, -1f])"},
    {"kind", 'k', "TYPE", inspect_kind,
     "what a type is, or what it is applied to",
     ":kind List\n:kind List[int32]"},
    {"effects", 0, "EXPR", inspect_effects,
     "what evaluating it, or a call, does", ":effects print(1)"},
    {"info", 'i', "NAME", inspect_info, "a name's type, effects and place",
     ":info %x\n:info @lstm"},
    {"bytecode", 0, "NAME", inspect_bytecode, "the instructions of a function",
     ":bytecode @sum"},
    {"load", 'l', "FILE [x=VALUE]", run_load,
     "add a file's definitions and run its items",
     ":load model.rly\n:load scale.rly x=[1, 2]"},
    {"reload", 'r', "", run_reload, "load the last file again", NULL},
    {"param", 0, "NAME = VALUE", params_run_one, "give a `param` its value",
     ":param x = [1, 2]"},
    {"params", 0, "FILE", params_run_file, "give `param`s a file's tensors",
     ":params weights.safetensors"},
    {"entries", 0, "", transcript_list, "what was entered, by number", NULL},
    {"save", 0, "FILE", run_save, "write what was entered, to be run again",
     ":save session.rly"},
    {"edit", 'e', "", run_edit, "write an entry in $EDITOR", NULL},
    {"state", 0, "[PATH]", state_run_list,
     "the cells that the session remembers", ":state\n:state %m"},
    {"set", 0, "[WHAT VALUE]", run_set,
     "choose what is shown, or put a value into a cell",
     ":set\n:set depth 5\n:set width 100\n:set pager off\n:set @n 40"},
    {"snapshot", 0, "[NAME]", state_run_snapshot, "remember the cells' values",
     ":snapshot before\n:snapshot state.safetensors"},
    {"restore", 0, "[NAME]", state_run_restore, "put them back",
     ":restore before"},
    {"fork", 0, "[NAME]", state_run_fork, "go on in a copy, or go back: main",
     ":fork try\n:fork main"},
    {"reset", 0, "", state_run_reset, "give every cell what it began with",
     NULL},
    {"step", 's', "ITEMS", step_run,
     "show how they are evaluated, step by step", ":step @sum(List[1, 2])"},
    {"where", 'w', "", frames_run_where,
     "the functions under way where a run-time error stopped", ":where"},
    {"up", 0, "", frames_run_up, "look at the function that called it", ":up"},
    {"down", 0, "", frames_run_down, "look at the one that it called", ":down"},
    {"leave", 0, "", frames_run_leave, "look at none of them any more",
     ":leave"},
    {"break", 0, "[WHERE]", step_run_break,
     "stop entries where that is met, or list breakpoints",
     ":break @f\n:break model.rly:12 if %n > 3\n:break nan"},
    {"delete", 0, "N", step_run_delete, "take a breakpoint away", ":delete 1"},
    {"dbg", 0, "ITEMS", dbg_run,
     "evaluate, and show the parts with their values",
     ":dbg nn.relu(nn.dense(%x, %w))\n:dbg let %x = 2; %x * 3"},
    {"time", 0, "ITEMS", measure_time, "evaluate, and say how long it took",
     ":time nn.matmul(%a, %b)"},
    {"bench", 0, "EXPR", measure_bench,
     "evaluate it, or call a function, often", ":bench @sum(@range(1000))"},
    {"profile", 0, "ITEMS", measure_profile,
     "evaluate, and say where time went", ":profile @f(%x)"},
    {"cost", 0, "EXPR", cost_run, "operations and bytes, before it runs",
     ":cost nn.matmul(%a, %b)"},
    {"opt", 0, "[-O2 | PASSES] EXPR", opt_run_prompt,
     "its program after the passes of -O1, another level, or by name",
     ":opt @f(2) + 0\n:opt -O2 @f(2)\n:opt Inline(size=8),FoldConstant @f(2)"},
    {"plot", 0, "[F.svg] EXPR, ...", plot_run_plot, "draw vectors as lines",
     ":plot sin(arange(0f, 6f, 0.1f))\n:plot sin(%t), cos(%t)\n"
     ":plot sine.svg %x"},
    {"heat", 0, "[F.svg] EXPR, ...", plot_run_heat,
     "draw matrices, or vectors over time, by shades",
     ":heat %w\n:heat w.svg %w\n:heat List[[1f, 0f], [0f, 1f]]"},
    {"hist", 0, "[F.svg] EXPR, ...", plot_run_hist,
     "draw how often elements are how large", ":hist %w\n:hist w.svg %w, %u"},
    {"watch", 0, "[EXPR]", watch_run,
     "show it again when what it depends on is defined anew",
     ":watch %x * %w\n:watch :plot %w, tanh(%w)\n:watch"},
    {"unwatch", 0, "[N]", watch_run_stop, "watch it, or all, no more",
     ":unwatch 1\n:unwatch"},
    {"limit", 0, "[WHAT N]", measure_limit,
     "bound memory, depth, steps, time or a gradient's tape",
     ":limit\n:limit memory 1G\n:limit timeout 5\n:limit tape none"},
    {"quit", 'q', "", run_quit, "leave", NULL},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

/* In a lesson there are these, too. */
static const ReplCommand in_lessons[] = {
    {"hint", 0, "", learn_hint, "in a lesson: a hint, and then the next one",
     NULL},
    {"solution", 0, "", learn_solution, "in a lesson: what would be right",
     NULL},
    {"skip", 0, "", learn_skip, "in a lesson: go on without an answer", NULL},
    {"back", 0, "", learn_back, "in a lesson: what was shown before", NULL},
};
enum { IN_LESSONS_COUNT = sizeof in_lessons / sizeof *in_lessons };

static const ReplCommand *row(int i) {
  return i < TABLE_COUNT ? &table[i] : &in_lessons[i - TABLE_COUNT];
}

static int row_count(const Repl *r) {
  return TABLE_COUNT + (r->lesson ? IN_LESSONS_COUNT : 0);
}

void repl_each_command(const Repl *r,
                       void (*visit)(void *data, const char *name),
                       void *data) {
  for (int i = 0; i < row_count(r); i++) {
    char name[32];
    snprintf(name, sizeof name, ":%s", row(i)->name);
    visit(data, name);
  }
}

static CommandName name_at(int i) {
  return (CommandName){row(i)->name, row(i)->letter};
}

/* The command that the first `n` bytes name, perhaps by a beginning or a
 * letter; NULL after saying why there is none. */
static const ReplCommand *find_command(const Repl *r, const char *word,
                                       size_t n) {
  char *why;
  int at =
      command_find((CommandNames){":", row_count(r), name_at}, word, n, &why);
  if (at < 0) fprintf(stderr, "%s\n", why ? why : "rly: out of memory");
  free(why);
  return at >= 0 ? row(at) : NULL;
}

static void help_all(const Repl *r) {
  for (int i = 0; i < row_count(r); i++) {
    const ReplCommand *c = row(i);
    char letter[] = {':', c->letter, '\0'};
    int n = printf(":%s %s", c->name, c->args);
    printf("%*s%-4s%s\n", n < 24 ? 24 - n : 1, "", c->letter ? letter : "",
           c->help);
  }
}

static void help_on(Repl *r, const ReplCommand *c) {
  repl_say(r, ":%s %s", c->name, c->args);
  if (c->letter) repl_say(r, "%salso :%c", *c->args ? "   " : "  ", c->letter);
  repl_say(r, "\n  %s\n", c->help);
  for (const char *p = c->example; p && *p; p += *p == '\n') {
    size_t n = strcspn(p, "\n");
    repl_say(r, "    %.*s\n", (int)n, p);
    p += n;
  }
}

/* Does the text, which begins with this word, declare a type or a param?  Both
 * words are names of commands, too. */
static bool declares(const char *text, const char *word) {
  return !strcmp(word, "param") ||
         (!strcmp(word, "type") && strpbrk(text, "{="));
}

void repl_hint_command(const Repl *r, const char *text) {
  bool dyn;
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");
  char *word = strndup(text, n);
  bool may = word && strchr(" \t\n(", text[n]) && !declares(text, word) &&
             !foreign_hint(text, n, FOREIGN_NAME) &&
             op_find(word, &dyn) == OP_COUNT;
  for (int i = 0; may && i < row_count(r); i++)
    if (!strcmp(row(i)->name, word))
      fprintf(stderr, "  help: the prompt's command is :%s %s\n", word,
              row(i)->args);
  free(word);
}

/* Of an operator or a function `:help` tells what `:doc` does, where no command
 * has that name. */
static bool is_documented(const Repl *r, const char *name) {
  bool dyn;
  if (*name == '@') return true;
  for (int i = 0; i < row_count(r); i++)
    if (!strcmp(row(i)->name, name)) return false;
  return op_find(name, &dyn) != OP_COUNT;
}

static void run_help(Repl *r, const char *rest) {
  if (is_documented(r, rest)) {
    doc_run(r, rest);
    return;
  }
  rest += *rest == ':';
  size_t n = strcspn(rest, " \t");
  const ReplCommand *c = n ? find_command(r, rest, n) : NULL;
  if (c) help_on(r, c);
  else if (!n) help_all(r);
}

static void run_command(Repl *r, const ReplCommand *c, const char *rest) {
  const char *takes = command_misfit(c->args, rest);
  if (takes) {
    repl_refuse(c->name, "takes %s", takes);
    return;
  }
  bool paged = pager_begin(r->settings.pager && !r->startup);
  c->run(r, rest);
  if (paged) pager_end();
}

/* `line` is what stands after the colon.  A command that needs words and got
 * none, or takes none and got some, says so.  Completion leaves a space after
 * the last word, which is no part of it, nor is what a line of CRLF ends in. */
void repl_command(Repl *r, const char *line) {
  static const char blanks[] = " \t\r";
  size_t n = strcspn(line, blanks), end = strlen(line);
  size_t begin = n + strspn(line + n, blanks);
  const ReplCommand *c = find_command(r, line, n);
  while (end > begin && strchr(blanks, line[end - 1])) end--;
  char *rest = c ? strndup(line + begin, end - begin) : NULL;
  if (rest && !strncmp(c->args, "FILE", 4)) {
    char *words = user_file_words(rest);
    free(rest);
    rest = words;
  }
  if (rest) run_command(r, c, rest);
  else if (c) repl_refuse(c->name, "out of memory");
  free(rest);
}
