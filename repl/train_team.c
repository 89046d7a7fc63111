/* `rly train` as one of several processes that mpirun started.
 *
 * All have the whole program and the same weights.  Of a batch's shards each
 * computes some, reading those examples only; the gradients are added by a tree
 * over shards (team/team.h) and every process does the step with the sum.  The
 * tree is the program's own (@tree_sum), so a run may go on with any number of
 * processes.  The batches of validation are computed and added in the same way.
 * Process 0 shows how it goes and keeps the run.
 *
 * A process that cannot go on ends all: what was kept stays whole. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "repl/train.h"
#include "repl/user.h"

/* --- Joining -------------------------------------------------------------- */

/* How many processes mpirun started: Open MPI tells it in the first, MPICH and
 * others in the second. */
static long started(void) {
  const char *said = getenv("OMPI_COMM_WORLD_SIZE");
  if (!said) said = getenv("PMI_SIZE");
  return said ? strtol(said, NULL, 10) : 1;
}

/* The plug-in lies beside the program, or in lib/rly/ of where both are
 * installed. */
static void *open_plugin(void) {
  static const char *const places[] = {"rly-mpi.so", "../lib/rly/rly-mpi.so"};
  char folder[USER_PATH_MAX], path[USER_PATH_MAX + 32];
  if (!own_folder(folder)) return NULL;
  void *file = NULL;
  for (size_t i = 0; !file && i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, places[i]);
    /* MPI loads parts of its own, which use its symbols. */
    file = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  }
  return file;
}

int train_join(Training *t) {
  long size = started();
  if (size <= 1 || t->h->cli->print) return 0;
  void *file = open_plugin();
  if (!file)
    return host_usage(t->h,
                      "mpirun started %ld processes, but rly was built without "
                      "MPI (rly-mpi.so): make deps-mpi all",
                      size);
  TeamJoin *join;
  *(void **)&join = dlsym(file, "rly_team");
  t->team = join ? join() : NULL;
  return t->team ? 0 : host_usage(t->h, "MPI does not start");
}

int train_check_team(const Training *t) {
  int size = t->team ? t->team->size : 1;
  if (t->h->cli->shards >= (uint64_t)size) return 0;
  return host_usage(
      t->h,
      "%d processes need as many shards or more: --shards %d; the "
      "number of shards decides the bits, that of processes does "
      "not",
      size, size);
}

bool train_leads(const Training *t) { return !t->team || !t->team->rank; }

int64_t train_agree(const Training *t, int64_t mine) {
  return t->team ? team_most(t->team, mine) : mine;
}

/* --- Are all alike? ------------------------------------------------------- */

/* By a sum of 63 bits: both it and its negative are numbers to agree on, and
 * the largest of each are opposite where all say the same. */
static bool all_have(const Training *t, const char *text, size_t len) {
  int64_t sum = (int64_t)(XXH3_64bits(text, len) >> 1);
  int64_t most = train_agree(t, sum), least = -train_agree(t, -sum);
  return most == least;
}

/* What its author and `rly train` wrote, imports included. */
static void put_program(const Training *t, StrBuf *out) {
  const SourceMap *sources = t->h->program->ir->sources;
  for (size_t i = 0; i < sources->files.len; i++) {
    const SourceFile *f = sources->files.data[i];
    if (!f->library) strbuf_add_len(out, f->text, f->len);
  }
}

/* Says it once.  All know it, so none has to end the others. */
static int differ(const Training *t, const char *what) {
  if (!train_leads(t)) return EXIT_REFUSED;
  return host_usage(t->h,
                    "the processes of this team differ in %s: mpirun has to "
                    "start all of them alike",
                    what);
}

/* Each process asks the same questions in the same order.  That of weights and
 * examples comes last, for it reads them all. */
int train_check_alike(Training *t) {
  const StrBuf *settings = &t->settings;
  int64_t lengths[] = {t->steps, t->per_epoch, (int64_t)t->h->cli->patience};
  if (!all_have(t, strbuf_text(settings), settings->len))
    return differ(t, "settings");
  if (!all_have(t, (const char *)lengths, sizeof lengths))
    return differ(t, "--epochs, --patience or how many examples they have");
  StrBuf program;
  strbuf_init(&program, t->h->program->mem);
  put_program(t, &program);
  bool same = all_have(t, strbuf_text(&program), program.len);
  strbuf_done(&program);
  if (!same) return differ(t, "programs");
  int code = train_leads(t) ? 0 : train_sum_inputs(t);
  if (!code) code = train_sum_weights(t);
  code = (int)train_agree(t, code);
  if (code) return code;
  return all_have(t, strbuf_text(&t->sums), t->sums.len)
             ? 0
             : differ(t, "examples, params or weights");
}

/* --- Leaving -------------------------------------------------------------- */

static void shared_done(Shared *x) {
  team_sum_free(x->sum);
  free(x->parts);
  rly_value_free(x->form);
  *x = (Shared){0};
}

void train_leave(Training *t, int code) {
  shared_done(&t->shards);
  shared_done(&t->checks);
  if (!t->team) return;
  if (!t->agreed) t->team->abort(code);
  t->team->leave();
  t->team = NULL;
}

/* --- Values as bytes ----------------------------------------------------- */

/* Only floats are added; what else is in a gradient is 0 everywhere. */
static bool is_added(rly_value *tensor, DType *dtype) {
  const char *name = rly_value_dtype(tensor);
  *dtype = name ? dtype_find(name, strlen(name)) : DTYPE_COUNT;
  return *dtype == DT_FLOAT64 || *dtype == DT_FLOAT32 || *dtype == DT_FLOAT16 ||
         *dtype == DT_BFLOAT16;
}

/* The parts of the sum, counted and then filled in. */
typedef struct Parts {
  TeamPart *items;
  size_t count, bytes;
} Parts;

static bool see_part(void *data, rly_value *tensor) {
  Parts *p = data;
  DType dtype;
  if (!is_added(tensor, &dtype)) return true;
  size_t n = (size_t)rly_value_count(tensor), size = dtype_size(dtype);
  if (p->items) p->items[p->count] = (TeamPart){p->bytes, n, dtype};
  p->count++;
  p->bytes += (n * size + TEAM_ALIGN - 1) / TEAM_ALIGN * TEAM_ALIGN;
  return true;
}

/* Bytes on their way, and the part that comes next. */
typedef struct Copy {
  const TeamPart *parts;
  uint8_t *bytes;
  size_t at;
} Copy;

static bool see_copy(void *data, rly_value *tensor) {
  Copy *c = data;
  DType dtype;
  if (!is_added(tensor, &dtype)) return true;
  const void *from = rly_value_elements(tensor);
  const TeamPart *p = &c->parts[c->at++];
  if (from && p->count == (size_t)rly_value_count(tensor))
    memcpy(c->bytes + p->offset, from, p->count * dtype_size(dtype));
  return from && p->count == (size_t)rly_value_count(tensor);
}

/* Of a value with the form that all sums have: room for them. */
static bool make_sum(const Training *t, Shared *x, rly_value *form) {
  Parts p = {0};
  if (!train_each_tensor(t, form, see_part, &p)) return false;
  x->parts = p.items = malloc((p.count + 1) * sizeof *p.items);
  if (!p.items) return false;
  p.count = p.bytes = 0;
  if (!train_each_tensor(t, form, see_part, &p)) return false;
  x->sum = team_sum_new(t->team, x->parts, p.count, p.bytes);
  x->form = rly_value_keep(form);
  return x->sum && x->form;
}

/* --- Bytes as values ----------------------------------------------------- */

/* A value whose fields are made one by one. */
typedef struct Making {
  rly_value *form;
  int count;
  TrainValues fields;
} Making;

typedef VEC(Making) Makings;

static bool begin_making(const Training *t, Makings *all, rly_value *form) {
  Making m = {.form = form};
  if (!form || !VEC_RESERVE(all, 1)) return rly_value_free(form), false;
  if (rly_value_kind(form) != RLY_TENSOR) m.count = rly_value_field_count(form);
  VEC_INIT(&m.fields, t->h->program->mem);
  VEC_PUSH(all, m);
  return true;
}

/* The value that is made: of bytes, of fields, or the form itself. */
static rly_value *finish_making(rly_session *s, Copy *c, const Making *m) {
  DType dtype;
  rly_kind kind = rly_value_kind(m->form);
  if (kind == RLY_TENSOR && is_added(m->form, &dtype)) {
    const TeamPart *p = &c->parts[c->at++];
    int64_t shape[8];
    int rank = rly_value_rank(m->form);
    for (int k = 0; k < rank; k++) shape[k] = rly_value_dim(m->form, k);
    return rly_value_of_elements(s, rly_value_dtype(m->form), rank, shape,
                                 c->bytes + p->offset);
  }
  if (!m->count) return rly_value_keep(m->form);
  rly_value *const *fields = m->fields.data;
  if (kind == RLY_TUPLE) return rly_value_tuple(s, m->count, fields);
  return rly_value_construct(s, rly_value_type(m->form),
                             rly_value_constructor(m->form), m->count, fields);
}

static void making_done(Making *m) {
  train_values_free(&m->fields);
  rly_value_free(m->form);
}

/* A value like the form, with the floats of the sum. */
static rly_value *value_of_sum(const Training *t, const Shared *x,
                               const uint8_t *sum) {
  Copy c = {x->parts, (uint8_t *)sum, 0};
  rly_value *made = NULL;
  Makings all;
  VEC_INIT(&all, t->h->program->mem);
  bool ok = begin_making(t, &all, rly_value_keep(x->form));
  while (ok && all.len) {
    Making *m = &VEC_LAST(&all);
    if ((int)m->fields.len < m->count) {
      int next = (int)m->fields.len;
      ok = begin_making(t, &all, rly_value_field(m->form, next));
      continue;
    }
    made = finish_making(t->session, &c, m);
    making_done(m);
    all.len--;
    ok = made;
    if (!ok || !all.len) break;
    ok = train_values_push(&VEC_LAST(&all).fields, made);
    made = NULL;
  }
  while (all.len) making_done(&all.data[--all.len]);
  VEC_DONE(&all);
  return made;
}

/* --- A step -------------------------------------------------------------- */

/* name(batch, k); name(k) where `batch` is NULL. */
static rly_status call_with(Training *t, const char *name, rly_value *batch,
                            int64_t k, rly_value **out) {
  int32_t n = (int32_t)k, count = 0;
  rly_value *number = rly_value_of_elements(t->session, "int32", 0, NULL, &n);
  rly_value *args[2];
  *out = NULL;
  if (!number) return RLY_LIMIT;
  if (batch) args[count++] = batch;
  args[count++] = number;
  rly_status status = rly_session_call(t->session, name, count, args, out);
  rly_value_free(number);
  return status;
}

static rly_status out_of_memory(Training *t) {
  host_out_of_memory(t->h);
  return RLY_LIMIT;
}

/* The numbers of part k go into the sum. */
static rly_status do_part(Training *t, const Shared *x, rly_value *batch,
                          int64_t k) {
  rly_value *v;
  rly_status status = call_with(t, x->part, batch, k, &v);
  if (status != RLY_OK) return status;
  Copy c = {x->parts, team_sum_room(x->sum), 0};
  bool ok = c.bytes && train_each_tensor(t, v, see_copy, &c);
  rly_value_free(v);
  if (!ok) return out_of_memory(t);
  team_sum_add(x->sum);
  return RLY_OK;
}

/* All parts have the same form.  Each process learns it from part 0 of the
 * first sum, since it may have no part of its own there; process 0 so computes
 * that one twice. */
static rly_status find_form(Training *t, Shared *x, rly_value *batch) {
  if (x->sum) return RLY_OK;
  rly_value *v;
  rly_status status = call_with(t, x->part, batch, 0, &v);
  if (status != RLY_OK) return status;
  bool ok = make_sum(t, x, v);
  rly_value_free(v);
  return ok ? RLY_OK : out_of_memory(t);
}

/* The sum of `count` parts, at least one. */
static rly_status sum_parts(Training *t, Shared *x, rly_value *batch,
                            int64_t count, rly_value **out) {
  int64_t from, to;
  rly_status status = find_form(t, x, batch);
  if (status != RLY_OK) return status;
  if (!team_sum_begin(x->sum, count, &from, &to)) return out_of_memory(t);
  for (int64_t k = from; status == RLY_OK && k < to; k++)
    status = do_part(t, x, batch, k);
  if (status != RLY_OK) return status;
  *out = value_of_sum(t, x, team_sum_end(x->sum));
  return *out ? RLY_OK : out_of_memory(t);
}

static rly_status sum_shards(Training *t, rly_value *batch, rly_value **out) {
  rly_value *count;
  rly_status status =
      rly_session_call(t->session, "train.shards", 1, &batch, &count);
  if (status != RLY_OK) return status;
  int64_t shards = *(const int32_t *)rly_value_elements(count);
  rly_value_free(count);
  t->shards.part = "train.shard";
  return sum_parts(t, &t->shards, batch, shards, out);
}

rly_status train_team_step(Training *t, rly_value **out) {
  rly_value *args[2] = {NULL, NULL};
  rly_status status = call_with(t, "train.batch", NULL, t->step, &args[1]);
  if (status == RLY_OK) status = sum_shards(t, args[1], &args[0]);
  if (status == RLY_OK)
    status = rly_session_call(t->session, "train.apply", 2, args, out);
  rly_value_free(args[0]);
  rly_value_free(args[1]);
  return status;
}

rly_status train_team_epoch(Training *t, int64_t checks, rly_value **out) {
  rly_value *sum = NULL;
  t->checks.part = "train.check";
  rly_status status = sum_parts(t, &t->checks, NULL, checks, &sum);
  if (status == RLY_OK)
    status = rly_session_call(t->session, "train.end", 1, &sum, out);
  rly_value_free(sum);
  return status;
}
