/* The command line's flags, from the table in flags.def.
 *
 * A flag is a row: its text, the name of its value for the help, the kind of
 * its value, the field of Cli that it sets, the commands that take it, and a
 * sentence.  The kind says how the value is read and what the message calls it.
 * The help text of a command, the search for a flag and the suggestion for a
 * misspelt one go over the same rows.
 *
 * Words are read from left to right.  `--flag VALUE` and `--flag=VALUE` are the
 * same; `--` ends the flags; a word such as `-1.5` is a number and so an
 * argument, because programs take numbers.  Texts are borrowed from argv, which
 * outlives every command. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"

typedef enum FlagKind {
  SET,
  LEVEL, /* the flag is the value: the last one counts */
  TEXT,
  WORD,
  LAST_WORD,
  FUNCTION,
  READ_FILE,
  READ_STATE,
  WRITE_FILE,
  WRITE_STATE,
  WRITE_STREAM,
  LIST,
  READ_FILES,
  WRITE_FILES,
  COUNT,
  POSITIVE,
  COUNT32,
  POSITIVE32,
  RUNS,
  THREADS,
  SECONDS,
  LIMIT_BYTES,
  LIMIT_COUNT,
  LIMIT_SECONDS,
  NUMBER,
} FlagKind;

/* `field` is an offset in Cli, and `kind` says what type of field stands there:
 * store() is the one place that relies on the two agreeing. */
typedef struct Flag {
  const char *text, *value;
  FlagKind kind;
  size_t field; /* offset in Cli */
  int commands;
  const char *help;
} Flag;

static const Flag flags[] = {
#define FLAG(text, value, kind, field, commands, help) \
  {text, value, kind, offsetof(Cli, field), commands, help},
#include "repl/flags.def"
#undef FLAG
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags };

static bool is_path(FlagKind kind) {
  return kind >= READ_FILE && kind <= WRITE_STREAM;
}
static bool is_list(FlagKind kind) {
  return kind >= LIST && kind <= WRITE_FILES;
}

/* --- Values ------------------------------------------------------------- */

/* strtoull() alone would accept blanks, a sign ("-1" is 2^64 - 1) and an empty
 * text.  So the first character must be a digit. */
bool read_count(const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  *out = strtoull(text, &end, 10);
  return !errno && !*end;
}

/* A size of 0 is refused: in the options it means "no limit", which nobody
 * means by `--max-memory 0`. */
static bool read_size(const char *text, size_t *out) {
  size_t n;
  bool ok = size_read(text, &n) && n;
  if (ok) *out = n;
  return ok;
}

/* A number that a program counts to in int32.  It is bounded by 10^9 rather
 * than 2^31 - 1, so that the sum of two fits as well. */
static bool read_count32(const char *text, uint64_t least, uint64_t *out) {
  return read_count(text, out) && *out >= least && *out <= 1000000000;
}

/* The time of each run is remembered for the median. */
static bool read_runs(const char *text, uint64_t *out) {
  return read_count(text, out) && *out >= 1 && *out <= 1000000;
}

static bool read_threads(const char *text, int *out) {
  uint64_t n;
  if (!read_count(text, &n) || n < 1 || n > 1024) return false;
  *out = (int)n;
  return true;
}

/* isfinite() refuses "inf" and "nan", which strtod() reads, and numbers that
 * overflow; `> 0` refuses a limit that is over at once. */
static bool read_seconds(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && !*end && *out > 0 && isfinite(*out);
}

/* The place of a word in a list such as "pad|drop|short", from 1 on. */
static bool read_word(const char *list, const char *word, int *out) {
  for (int i = 1; *list; i++) {
    size_t len = strcspn(list, "|");
    if (strlen(word) == len && !strncmp(list, word, len)) return *out = i, true;
    list += len + (list[len] == '|');
  }
  return false;
}

/* Prints the list "pad|drop|short" as "pad, drop or short". */
static void print_words(FILE *out, const char *list) {
  const char *separator = "";
  while (*list) {
    size_t len = strcspn(list, "|");
    fprintf(out, "%s%.*s", separator, (int)len, list);
    list += len + (list[len] == '|');
    separator = strchr(list, '|') ? ", " : " or ";
  }
}

static bool list_add(TextList *list, const char *text) {
  if (list->count == WORDS_MAX) return false;
  list->items[list->count++] = text;
  return true;
}

/* Describes the values of a kind of flag; NULL: any value, or one of the words
 * of the row. */
static const char *const takes[] = {
    [COUNT] = "a whole number",
    [POSITIVE] = "a whole number, 1 or more",
    [COUNT32] = "a whole number up to 1000000000",
    [POSITIVE32] = "a whole number from 1 to 1000000000",
    [RUNS] = "a whole number from 1 to 1000000",
    [THREADS] = "a number from 1 to 1024",
    [SECONDS] = "seconds, such as 1.5",
    [LIMIT_BYTES] = "bytes, such as 512M, or none",
    [LIMIT_COUNT] = "a whole number, 1 or more, or none",
    [LIMIT_SECONDS] = "seconds, such as 1.5, or none",
    [NUMBER] = "a number above 0",
    [WRITE_FILE] = "the path of a file",
    [WRITE_STATE] = "the path of a file",
    [LIST] = "at most 1024 of these",
    [READ_FILES] = "at most 1024 of these",
    [WRITE_FILES] = "at most 1024 of these",
};

/* What a flag gives for `none`, where 0 says that it was not given. */
static const size_t NO_LIMIT = SIZE_MAX;

/* For a count and for seconds `none` is 0, as if the flag were not given, since
 * the command line has no other default for them: the library takes 0 for no
 * limit of steps and of time, and for its own limit of the depth of calls. */
static bool store_limit(FlagKind kind, void *at, const char *value) {
  bool none = !strcmp(value, "none");
  switch (kind) {
    case LIMIT_BYTES:
      if (none) *(size_t *)at = NO_LIMIT;
      return none || read_size(value, at);
    case LIMIT_COUNT:
      if (none) *(uint64_t *)at = 0;
      return none || (read_count(value, at) && *(uint64_t *)at > 0);
    default:
      if (none) *(double *)at = 0;
      return none || read_seconds(value, at);
  }
}

static bool store(const Flag *f, Cli *cli, const char *value) {
  void *at = (char *)cli + f->field;
  switch (f->kind) {
    case SET: *(bool *)at = true; return true;
    case LEVEL: *(const char **)at = f->text; return true;
    case TEXT:
    case READ_FILE:
    case READ_STATE:
    case WRITE_STREAM: *(const char **)at = value; return true;
    case WRITE_FILE:
    case WRITE_STATE:
      *(const char **)at = value;
      return strcmp(value, "-") != 0;
    case WORD:
    case LAST_WORD: return read_word(f->value, value, at);
    case FUNCTION: *(const char **)at = value + (*value == '@'); return true;
    case LIST:
    case READ_FILES:
    case WRITE_FILES: return list_add(at, value);
    case COUNT: return read_count(value, at);
    case POSITIVE: return read_count(value, at) && *(uint64_t *)at > 0;
    case COUNT32: return read_count32(value, 0, at);
    case POSITIVE32: return read_count32(value, 1, at);
    case RUNS: return read_runs(value, at);
    case THREADS: return read_threads(value, at);
    case SECONDS:
    case NUMBER: return read_seconds(value, at);
    case LIMIT_BYTES:
    case LIMIT_COUNT:
    case LIMIT_SECONDS: return store_limit(f->kind, at, value);
  }
  return false;
}

void limits_plain(rly_options *o) {
  if (o->max_memory == NO_LIMIT) o->max_memory = 0;
  if (o->tape_memory == NO_LIMIT) o->tape_memory = 0;
}

/* The row of limit number i; NULL: there are no more.  A limit has other rows
 * for commands where it is of something else; the prompt's row stands for it.
 */
static const Flag *limit_flag(int i) {
  for (const Flag *f = flags; f < flags + FLAG_COUNT; f++)
    if (f->kind >= LIMIT_BYTES && f->kind <= LIMIT_SECONDS &&
        f->commands & IN_REPL && i-- == 0)
      return f;
  return NULL;
}

static void *limit_of(const Flag *f, const rly_options *of) {
  return (char *)of + (f->field - offsetof(Cli, limits));
}

/* The first word of the flag's name, behind `max-` if it begins so. */
static void limit_name(const Flag *f, Limit *out) {
  const char *text = f->text + strlen("--");
  if (!strncmp(text, "max-", 4)) text += 4;
  snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(text, "-"), text);
}

static void limit_value(const Flag *f, const void *at, Limit *out) {
  char size[SIZE_TEXT];
  const size_t room = sizeof out->value;
  strcpy(out->value, "none");
  if (f->kind == LIMIT_BYTES && *(const size_t *)at)
    snprintf(out->value, room, "%s", size_text(*(const size_t *)at, size));
  else if (f->kind == LIMIT_COUNT && *(const uint64_t *)at)
    snprintf(out->value, room, "%llu",
             (unsigned long long)*(const uint64_t *)at);
  else if (f->kind == LIMIT_SECONDS && *(const double *)at > 0)
    snprintf(out->value, room, "%g", *(const double *)at);
}

bool limit_at(int i, const rly_options *of, Limit *out) {
  const Flag *f = limit_flag(i);
  if (!f) return false;
  limit_name(f, out);
  out->takes = f->value;
  limit_value(f, limit_of(f, of), out);
  return true;
}

bool read_limit(const char *name, const char *value, rly_options *to) {
  Limit limit;
  for (int i = 0; limit_at(i, to, &limit); i++) {
    const Flag *f = limit_flag(i);
    if (strcmp(limit.name, name) && strcmp(f->text + strlen("--"), name))
      continue;
    bool read = store_limit(f->kind, limit_of(f, to), value);
    limits_plain(to);
    return read;
  }
  return false;
}

/* --- Parsing ------------------------------------------------------------ */

/* A list holds words of the command line, so that each gets as many places as
 * there are words, after the Cli; those of flags at most WORDS_MAX.  Lists
 * with room for WORDS_MAX made every start clear 74 KB. */
Cli *cli_new(int argc) {
  size_t each = argc < WORDS_MAX ? (size_t)argc : WORDS_MAX;
  size_t places_count = FLAG_COUNT * each + (size_t)argc;
  Cli *cli = calloc(1, sizeof *cli + places_count * sizeof(char *));
  if (!cli) return NULL;
  const char **places = (const char **)(cli + 1);
  for (int i = 0; i < FLAG_COUNT; i++)
    if (is_list(flags[i].kind))
      ((TextList *)((char *)cli + flags[i].field))->items = places + each * i;
  cli->words.items = places + each * FLAG_COUNT;
  return cli;
}

/* Finds the flag that a word names, as `--flag` or `--flag=value`: that of the
 * command, or else another's.  `=` splits long flags only, since a short one
 * has no `=` form: `-e=1` is unknown rather than an entry "=1". */
static const Flag *find_flag(int command, const char *word,
                             const char **value) {
  const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
  size_t len = equals ? (size_t)(equals - word) : strlen(word);
  *value = equals ? equals + 1 : NULL;
  const Flag *found = NULL;
  for (int i = 0; i < FLAG_COUNT; i++) {
    const Flag *f = &flags[i];
    bool named = strlen(f->text) == len && !strncmp(f->text, word, len);
    if (named && (!found || f->commands & command)) found = f;
  }
  return found;
}

static bool usage(const char *command, const char *problem, const char *word) {
  complain("rly: %s `%s`; see `rly help %s`", problem, word, command);
  return false;
}

/* Suggests the nearest flag that the command takes. */
static bool unknown_flag(int command, const char *name, const char *word) {
  Suggestion near = suggestion_for(word);
  for (int i = 0; i < FLAG_COUNT; i++)
    if (flags[i].commands & command) suggestion_offer(&near, flags[i].text);
  if (!near.best) return usage(name, "unknown flag", word);
  complain("rly: unknown flag `%s`; did you mean `%s`?", word, near.best);
  return false;
}

/* A count that was given as 0 is as one that was not. */
static bool is_given(const Flag *f, const Cli *cli) {
  const void *at = (const char *)cli + f->field;
  if (is_path(f->kind)) return *(const char *const *)at != NULL;
  if (is_list(f->kind)) return ((const TextList *)at)->count > 0;
  switch (f->kind) {
    case SET: return *(const bool *)at;
    case LEVEL:
    case TEXT:
    case FUNCTION: return *(const char *const *)at != NULL;
    case WORD:
    case LAST_WORD:
    case THREADS: return *(const int *)at != 0;
    case SECONDS:
    case NUMBER:
    case LIMIT_SECONDS: return *(const double *)at > 0;
    case LIMIT_BYTES: return *(const size_t *)at != 0;
    case COUNT:
    case POSITIVE:
    case COUNT32:
    case POSITIVE32:
    case RUNS:
    case LIMIT_COUNT: return *(const uint64_t *)at != 0;
    default: return false;
  }
}

/* A flag with a text, a file name or a WORD may be given once, since the first
 * of two values would be lost silently.  Other flags are settings, of which the
 * last one counts. */
static bool is_there(const Flag *f, const Cli *cli) {
  bool once = f->kind == WORD || f->kind == TEXT || f->kind == FUNCTION ||
              is_path(f->kind);
  return once && is_given(f, cli);
}

/* Reads the flag at argv[*i] and moves *i past its value. */
static bool parse_flag(int command, const char *name, int argc, char **argv,
                       int *i, Cli *cli) {
  const char *word = argv[*i], *value;
  const Flag *f = find_flag(command, word, &value);
  if (!f) return unknown_flag(command, name, word);
  if (!(f->commands & command))
    return usage(name, "this command does not take", word);
  if (!f->value && value) return usage(name, "no value goes with", word);
  if (f->value && !value) {
    if (*i + 1 == argc) return usage(name, "a value is missing after", word);
    value = argv[++*i];
  }
  if (is_there(f, cli)) return usage(name, "there can be only one", f->text);
  if (store(f, cli, value)) return true;
  fprintf(stderr, "rly: `%s` takes ", f->text);
  if (takes[f->kind]) fputs(takes[f->kind], stderr);
  else print_words(stderr, f->value);
  complain(", not `%s`", value);
  return false;
}

/* A negative number is an argument, not a flag. */
static bool is_flag(const char *word) {
  return word[0] == '-' && word[1] && strchr("0123456789.", word[1]) == NULL;
}

int flags_before(int argc, char **argv) {
  int i = 0;
  while (i < argc && is_flag(argv[i]) && strcmp(argv[i], "--")) {
    const char *value;
    const Flag *f = find_flag(IN_ALL, argv[i++], &value);
    if (f && f->value && !value) i++;
  }
  return i < argc ? i : argc;
}

bool flags_parse(int command, const char *name, int argc, char **argv,
                 Cli *cli) {
  bool only_words = false;
  cli->command = command;
  for (int i = 0; i < argc; i++) {
    if (!only_words && !strcmp(argv[i], "--")) {
      only_words = true;
    } else if (!only_words && is_flag(argv[i])) {
      if (!parse_flag(command, name, argc, argv, &i, cli)) return false;
    } else {
      cli->words.items[cli->words.count++] = argv[i];
    }
  }
  return true;
}

/* Flags that say more about another one, and nothing without it. */
static const struct {
  int commands;
  const char *flag, *with, *other; /* `other` NULL: there is no other choice */
} needs[] = {
    {IN_OPT | IN_CHECK | IN_DUMP, "--entry", "--bind", "--bind-shape"},
    {IN_OPT, "--trial-timeout", "--reduce", NULL},
    {IN_OPT, "--rule", "--rules", NULL},
    {IN_OPT, "--saturate", "--rules", NULL},
    {IN_OPT, "--cost", "--saturate", NULL},
};

/* Flags of which only one would have its effect. */
static const struct {
  int commands;
  const char *flag, *other;
} clashes[] = {
    {IN_FMT, "--functional", "--stateful"},
    {IN_FMT, "--functional", "--relay"},
    {IN_FMT, "--functional", "--pass"},
    {IN_FMT, "--stateful", "--relay"},
    {IN_FMT, "--stateful", "--pass"},
    {IN_FMT, "--relay", "--pass"},
    {IN_OPS | IN_DOC, "--markdown", "--json"},
    {IN_OPT, "--dump-pipeline", "--html"},
    {IN_OPT, "--dump-pipeline", "--rewrites"},
    {IN_OPT, "--dump-pipeline", "--verify"},
    {IN_OPT, "--dump-pipeline", "--bisect"},
    {IN_OPT, "--dump-pipeline", "--reduce"},
};

static bool has(int command, const Cli *cli, const char *text) {
  const char *value;
  return text && is_given(find_flag(command, text, &value), cli);
}

static bool flags_clash(int command, const Cli *cli, char *why, size_t size) {
  for (size_t i = 0; i < sizeof clashes / sizeof *clashes; i++) {
    if (!(clashes[i].commands & command) ||
        !has(command, cli, clashes[i].flag) ||
        !has(command, cli, clashes[i].other))
      continue;
    snprintf(why, size, "%s and %s do not go together", clashes[i].flag,
             clashes[i].other);
    return true;
  }
  return false;
}

bool flags_misfit(int command, const Cli *cli, char *why, size_t size) {
  if (flags_clash(command, cli, why, size)) return true;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    const char *with = needs[i].with, *other = needs[i].other;
    if (!(needs[i].commands & command) || !has(command, cli, needs[i].flag) ||
        has(command, cli, with) || has(command, cli, other))
      continue;
    snprintf(why, size, "%s needs %s%s%s", needs[i].flag, with,
             other ? " or " : "", other ? other : "");
    return true;
  }
  return false;
}

/* --- Files -------------------------------------------------------------- */

const char *named_value(const char *text, size_t *len) {
  static const char letters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  size_t n = strspn(text, letters);
  bool named = n && *text != '.' && text[n] == '=';
  *len = named ? n : 0;
  return named ? text + n + 1 : text;
}

int flags_files(const Cli *cli, int (*visit)(void *data, const FlagFile *file),
                void *data) {
  int status = 0;
  for (const Flag *f = flags; !status && f < flags + FLAG_COUNT; f++) {
    const void *at = (const char *)cli + f->field;
    FlagFile file = {.flag = f->text,
                     .written = f->kind == WRITE_FILE ||
                                f->kind == WRITE_STATE ||
                                f->kind == WRITE_FILES,
                     .state = f->kind == READ_STATE || f->kind == WRITE_STATE};
    if (!(f->commands & cli->command)) continue;
    if (is_path(f->kind) && (file.path = *(const char *const *)at))
      status = visit(data, &file);
    const TextList *list = f->kind > LIST && is_list(f->kind) ? at : NULL;
    for (int i = 0; list && !status && i < list->count; i++) {
      file.path = strchr(f->value, '=')
                      ? named_value(list->items[i], &(size_t){0})
                      : list->items[i];
      status = visit(data, &file);
    }
  }
  return status;
}

void help_print(FILE *out, int printed, int column, const char *help) {
  if (printed >= column) {
    fputc('\n', out);
    printed = 0;
  }
  fprintf(out, "%*s%s\n", column - printed, "", help);
}

void flags_print(FILE *out, int command) {
  for (int i = 0; i < FLAG_COUNT; i++) {
    const Flag *f = &flags[i];
    if (!(f->commands & command)) continue;
    int n = fprintf(out, "  %s %s", f->text, f->value ? f->value : "");
    help_print(out, n, 24, f->help);
  }
}
