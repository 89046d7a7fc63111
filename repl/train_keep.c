/* Runs of `rly train` in files.
 *
 * A run has a folder, NAME.train, and in it
 *
 *   step-400.safetensors  all cells after 400 steps: weights, optimiser, order,
 *                         counts.  The newest --keep are there
 *   best.safetensors      the weights that were best when validated
 *   weights.safetensors   the weights at the end, or where it was stopped
 *
 * Each is written beside and renamed, so that a process that is killed leaves
 * whole files.  A state has the settings of its run and checksums of what the
 * run read, as text in a cell: a line of settings, and one for each input
 * (older states have no checksums).  A run goes on with the same settings and
 * inputs only, for others would not give its bits.  A state that is damaged is
 * left out, and the one before it taken. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/files.h"
#include "repl/guard.h"
#include "repl/train.h"

enum { PATH_ROOM = 4096 };

static bool path_of(const Training *t, char *out, const char *name) {
  int n = snprintf(out, PATH_ROOM, "%s/%s", t->folder, name);
  if (n < PATH_ROOM) return true;
  host_usage(t->h, "the path of %s is too long", t->folder);
  return false;
}

static bool path_of_step(const Training *t, char *out, int64_t step) {
  char name[64];
  snprintf(name, sizeof name, "step-%lld.safetensors", (long long)step);
  return path_of(t, out, name);
}

/* The step of a checkpoint's name; -1: it is none. */
static int64_t step_of(const char *name) {
  char *end;
  if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9') return -1;
  long long step = strtoll(name + 5, &end, 10);
  return strcmp(end, ".safetensors") ? -1 : step;
}

/* --- What a folder holds ------------------------------------------------- */

/* Calls `see` with each checkpoint's step; false where there is no folder. */
static bool each_step(const Training *t, void (*see)(void *data, int64_t step),
                      void *data) {
  DIR *d = opendir(t->folder);
  if (!d) return false;
  for (struct dirent *e; (e = readdir(d));) {
    int64_t step = step_of(e->d_name);
    if (step >= 0) see(data, step);
  }
  closedir(d);
  return true;
}

/* The newest step that is kept, of those before a given one; -1: none is. */
typedef struct Newest {
  int64_t before, step;
} Newest;

static void see_newest(void *data, int64_t step) {
  Newest *n = data;
  if (step < n->before && step > n->step) n->step = step;
}

static int64_t newest_before(const Training *t, int64_t step) {
  Newest n = {step, -1};
  each_step(t, see_newest, &n);
  return n.step;
}

/* The oldest step that is kept, of those up to a given one, and how many of
 * these there are. */
typedef struct Oldest {
  int64_t most, step, count;
} Oldest;

static void see_oldest(void *data, int64_t step) {
  Oldest *o = data;
  if (step > o->most) return;
  if (!o->count++ || step < o->step) o->step = step;
}

/* --- Settings ------------------------------------------------------------ */

static const char cell[] = "@train.settings";

/* The text in that cell of a state, to be freed; NULL: the state has no such
 * cell, or, where *found, memory is out. */
static char *settings_of(const rly_tensors *ts, bool *found) {
  *found = false;
  for (size_t i = 0; i < rly_tensors_count(ts); i++) {
    const char *name = rly_tensors_name(ts, i);
    if (strncmp(name, cell, sizeof cell - 1)) continue;
    *found = true;
    rly_tensor *tensor = rly_tensors_get(ts, name);
    size_t n = tensor ? (size_t)rly_tensor_count(tensor) : 0;
    char *text = tensor ? malloc(n + 1) : NULL;
    if (text) {
      memcpy(text, rly_tensor_data(tensor), n);
      text[n] = '\0';
    }
    rly_tensor_free(tensor);
    return text;
  }
  return NULL;
}

/* The first flag, with its value, of `a` that is another in `b`. */
static size_t differing(const char *a, const char *b, size_t *from) {
  *from = 0;
  for (size_t i = 0; a[i] && a[i] == b[i]; i++)
    if (a[i] == ' ' && a[i + 1] == '-' && a[i + 2] == '-') *from = i + 1;
  const char *next = strstr(a + *from + 1, " --");
  return next ? (size_t)(next - a) - *from : strlen(a + *from);
}

/* The name of the first input whose checksum is another than in the text of a
 * state; NULL: all that both have are the same. */
static const char *other_input(const Training *t, const char *was,
                               size_t *len) {
  const char *now = strbuf_text(&t->sums);
  for (; *now; now = strchr(now, '\n') + 1) {
    size_t all = strcspn(now, "\n");
    *len = strcspn(now, " ");
    for (const char *at = was; (at = strchr(at, '\n'));) {
      at++;
      if (!strncmp(at, now, *len + 1) && strncmp(at, now, all)) return now;
    }
  }
  return NULL;
}

static int compare_settings(Training *t, const char *was) {
  const char *now = strbuf_text(&t->settings);
  size_t len = strcspn(was, "\n");
  if (len != t->settings.len || strncmp(was, now, len)) {
    char *line = arena_strndup(&t->h->program->arena, was, len);
    if (!line) return host_out_of_memory(t->h);
    size_t at, from, a = differing(line, now, &at),
                     b = differing(now, line, &from);
    return host_usage(t->h,
                      "%s was begun with `%.*s`, not `%.*s`: a run goes on "
                      "with the settings that it has",
                      t->folder, (int)a, line + at, (int)b, now + from);
  }
  const char *input = other_input(t, was, &len);
  if (!input) return 0;
  return host_usage(t->h,
                    "%s was begun with other values of `%.*s`: a run goes on "
                    "with the data that it has; -o FOLDER begins another",
                    t->folder, (int)len, input);
}

/* Reads the settings of a state into *was, to be freed.  0; 1 where the file is
 * no state, or a damaged one, with the reason as the last diagnostic; else the
 * exit status after reporting. */
static int read_settings(Training *t, const char *path, char **was) {
  rly_tensors *ts;
  rly_status status = rly_tensors_read(t->h->cx, path, &ts);
  if (status == RLY_REFUSED) return EXIT_REFUSED;
  if (status != RLY_OK) {
    host_report(t->h);
    return exit_status(status);
  }
  bool found;
  const char *fault = tensors_state_fault(ts);
  *was = fault ? NULL : settings_of(ts, &found);
  rly_tensors_free(ts);
  if (*was) return 0;
  if (!fault && found) return host_out_of_memory(t->h);
  char why[PATH_ROOM + 128];
  snprintf(why, sizeof why, "%s is no valid state file: %s", path,
           fault ? fault : "it is that of another program");
  rly_diagnostic_add(t->h->cx, "E0502", why);
  return EXIT_REFUSED;
}

/* Says why a state is left out, and what is taken instead. */
static void leave_out(Training *t, int64_t before) {
  rly_context *cx = t->h->cx;
  rly_diagnostic d = {.message = ""};
  rly_diagnostic_get(cx, rly_diagnostic_count(cx) - 1, &d);
  if (before < 0) complain("rly: %s; there is no state before it", d.message);
  else
    complain("rly: %s; the state of step %lld is taken instead", d.message,
             (long long)before);
  rly_diagnostics_clear(cx);
}

/* Finds the newest state that is whole, *step at the latest, and compares its
 * settings; 0 or an exit status. */
static int find_whole(Training *t, int64_t *step) {
  for (int64_t before; *step >= 0; *step = before) {
    char path[PATH_ROOM], *was;
    if (!path_of_step(t, path, *step)) return EXIT_REFUSED;
    int code = read_settings(t, path, &was);
    if (!code) {
      code = compare_settings(t, was);
      free(was);
      return code;
    }
    if (code != EXIT_REFUSED) return code;
    before = newest_before(t, *step);
    leave_out(t, before);
  }
  return host_usage(t->h,
                    "%s has no state to go on with; -o FOLDER begins another "
                    "run",
                    t->folder);
}

/* Writes the settings and the checksums into the cell, as an older state has
 * no checksums. */
static int note_settings(Training *t) {
  StrBuf text;
  strbuf_init(&text, t->h->program->mem);
  strbuf_addf(&text, "%s\n%s", strbuf_text(&t->settings),
              strbuf_text(&t->sums));
  int64_t len = (int64_t)text.len;
  rly_value *v =
      rly_value_of_elements(t->session, "uint8", 1, &len, strbuf_text(&text));
  strbuf_done(&text);
  if (!v) return host_out_of_memory(t->h);
  rly_status status = rly_session_set(t->session, cell, v);
  rly_value_free(v);
  host_report(t->h);
  return exit_status(status);
}

/* --- Going on ------------------------------------------------------------ */

rly_status train_load(Training *t, rly_session *s, int64_t step) {
  char path[PATH_ROOM];
  if (!path_of_step(t, path, step)) return RLY_REFUSED;
  guard_begin(t->h->cli, "loading");
  rly_status status = rly_session_load(s, path);
  guard_end();
  return status;
}

/* Can files be written to the folder?  One is made there and removed, since
 * access() does not know whether a disk takes writes. */
static int try_folder(Training *t) {
  char path[PATH_ROOM];
  if (!path_of(t, path, ".rly-XXXXXX")) return EXIT_REFUSED;
  int file = mkstemp(path);
  if (file < 0)
    return host_unwritable(t->h,
                           "cannot write to the folder %s: %s; -o FOLDER names "
                           "another",
                           t->folder, strerror(errno));
  close(file);
  remove(path);
  return 0;
}

/* Of what the run writes only the weights may be a file that it read, as
 * --params. */
static int check_weights(Training *t) {
  static const char *const names[] = {"weights.safetensors",
                                      "best.safetensors"};
  int status = 0;
  for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
    char path[PATH_ROOM];
    if (!path_of(t, path, names[i])) return EXIT_REFUSED;
    status = files_check_output(t->h, path, "a file of weights of this run");
  }
  return status;
}

static int make_folder(Training *t) {
  if (!mkdir(t->folder, 0777) || errno == EEXIST) return 0;
  return host_unwritable(
      t->h, "cannot make the folder %s: %s; -o FOLDER names another", t->folder,
      strerror(errno));
}

/* Two runs in one folder would drop each other's states.  The lock ends with
 * the process, however that ends.  A folder that is not there is not locked,
 * nor one of a file system without locks. */
static int lock_folder(Training *t) {
  if (t->lock < 0)
    t->lock = open(t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (t->lock < 0 || !flock(t->lock, LOCK_EX | LOCK_NB)) return 0;
  if (errno != EWOULDBLOCK) return 0;
  return host_usage(t->h,
                    "another rly train is at work in %s; -o FOLDER names "
                    "another folder",
                    t->folder);
}

/* FILE.rly has its runs in FILE.train, where the command is given. */
static int name_folder(Training *t) {
  t->folder = t->h->cli->output_path;
  if (t->folder) return 0;
  const char *slash = strrchr(t->file, '/');
  const char *base = slash ? slash + 1 : t->file, *dot = strrchr(base, '.');
  size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  t->made = malloc(stem + sizeof ".train");
  if (!t->made) return host_out_of_memory(t->h);
  sprintf(t->made, "%.*s.train", (int)stem, base);
  t->folder = t->made;
  return 0;
}

/* The process that leads has chosen the step. */
static int go_on_behind(Training *t) {
  t->saved = t->step;
  if (!t->step) return 0;
  rly_status loaded = train_load(t, t->session, t->step);
  host_report(t->h);
  return exit_status(loaded);
}

static int go_on_with(Training *t, int64_t step) {
  int status = find_whole(t, &step);
  if (status) return status;
  rly_status loaded = train_load(t, t->session, step);
  host_report(t->h);
  if (loaded != RLY_OK) return exit_status(loaded);
  t->saved = t->step = step;
  return 0;
}

int train_open(Training *t) {
  int status = name_folder(t);
  if (!status && train_leads(t)) status = lock_folder(t);
  if (status) return status;
  int64_t newest = newest_before(t, INT64_MAX);
  t->saved = -1;
  if (!train_leads(t)) return go_on_behind(t);
  if (newest >= 0 && !t->h->cli->resume)
    return host_usage(t->h,
                      "%s holds a run of %lld steps: --resume goes on with it, "
                      "-o FOLDER begins another",
                      t->folder, (long long)newest);
  if (newest < 0) status = make_folder(t);
  if (!status) status = lock_folder(t); /* it may have been made just now */
  if (!status) status = try_folder(t);
  if (!status) status = check_weights(t);
  if (!status) status = train_sum_inputs(t);
  if (!status && newest >= 0) status = go_on_with(t, newest);
  return status ? status : note_settings(t);
}

/* --- Keeping ------------------------------------------------------------- */

/* States of later steps do not count: they were left out when the run went on,
 * and it will write over them. */
static void drop_oldest(Training *t) {
  int64_t keep = (int64_t)t->h->cli->keep;
  for (;;) {
    char path[PATH_ROOM];
    Oldest o = {.most = t->step};
    each_step(t, see_oldest, &o);
    if (o.count <= keep || !path_of_step(t, path, o.step) || remove(path))
      return;
  }
}

int train_keep(Training *t) {
  char path[PATH_ROOM];
  if (t->saved == t->step || !train_leads(t)) return 0;
  if (!path_of_step(t, path, t->step)) return EXIT_REFUSED;
  rly_status status = rly_session_save(t->session, path);
  host_report(t->h);
  if (status != RLY_OK) return exit_status(status);
  t->saved = t->step;
  drop_oldest(t);
  return 0;
}

int train_write_weights(Training *t, const char *name) {
  char path[PATH_ROOM], file[64];
  snprintf(file, sizeof file, "%s.safetensors", name);
  if (!train_leads(t)) return 0;
  if (!path_of(t, path, file)) return EXIT_REFUSED;
  rly_value *w;
  rly_status status =
      rly_session_call(t->session, "train.learned", 0, NULL, &w);
  if (status == RLY_OK) {
    status = rly_value_write_as(w, t->weights, path);
    rly_value_free(w);
  }
  host_report(t->h);
  return exit_status(status);
}
