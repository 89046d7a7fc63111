/* What a file that is trained has (train_text.c tells what each is for), and
 * what is wrong with it. */
#include <string.h>

#include "repl/train_plan.h"

static const Optimiser optimisers[] = {
    {"adam", "adam", 0.001},      {"adamw", "adam", 0.001},
    {"sgd", "sgd", 0.001},        {"rmsprop", "rmsprop", 0.01},
    {"adagrad", "adagrad", 0.01},
};
enum { OPTIMISERS = sizeof optimisers / sizeof *optimisers };

static const Schedule schedules[] = {
    {"constant", "", "", .total = false},
    {"cosine", "@cosine_rate(%step, %total, ", ", 0f64)", .total = true},
    {"one-cycle", "@one_cycle_rate(%step, %total, ", ")", .total = true},
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

const Optimiser *optimiser_named(const char *name) {
  for (int i = 0; i < OPTIMISERS; i++)
    if (!strcmp(optimisers[i].name, name)) return &optimisers[i];
  return NULL;
}

const Schedule *schedule_named(const char *name) {
  for (int i = 0; i < SCHEDULES; i++)
    if (!strcmp(schedules[i].name, name)) return &schedules[i];
  return NULL;
}

static const rly_function *function_of(Plan *p, const char *name, int count) {
  const rly_function *f = rly_program_function(p->p, name);
  return f && rly_function_param_count(f) == count ? f : NULL;
}

/* A name that is not found may be one for which there was no memory: then that
 * has been reported, and nothing else. */
int plan_if_out(const Plan *p) {
  Host *h = p->t->h;
  if (mem_exhausted(p->p->mem)) return host_out_of_memory(h);
  bool out = rly_diagnostic_count(h->cx) > 0;
  host_report(h);
  return out ? EXIT_LIMIT : 0;
}

/* Reports what is wrong with a function of the file; the exit status. */
static int refuse(Plan *p, const char *function, const char *why) {
  const rly_function *f = rly_program_function(p->p, function);
  char *type = f ? rly_function_type_text(p->p, f) : NULL;
  int status = host_usage(p->t->h, "%s: `@%s` %s%s%s", p->t->file, function,
                          why, type ? "; it is " : "", type ? type : "");
  rly_text_free(p->t->h->cx, type);
  return status;
}

static bool is_float_scalar(const rly_type *t) {
  const char *dtype = rly_type_dtype(t);
  return dtype && strstr(dtype, "float") && rly_type_rank(t) == 0;
}

static int find_loss(Plan *p) {
  p->loss = p->t->loss = p->cli->loss ? p->cli->loss : "loss";
  p->loss_fn = rly_program_function(p->p, p->loss);
  int out = plan_if_out(p);
  if (out) return out;
  if (!p->loss_fn)
    return host_usage(p->t->h,
                      "%s has no function `@%s(weights, examples...)` to make "
                      "small",
                      p->t->file, p->loss);
  int n = rly_function_param_count(p->loss_fn);
  const rly_type *r = rly_function_result_type(p->loss_fn);
  p->weighted = rly_type_kind(r) == RLY_TUPLE && rly_type_field_count(r) == 2 &&
                is_float_scalar(rly_type_field(r, 0)) &&
                is_float_scalar(rly_type_field(r, 1));
  if (n < 1 || (!p->weighted && !is_float_scalar(r)))
    return refuse(p, p->loss,
                  "must take weights and give a float, or a float and how much "
                  "it counts");
  p->weights = rly_function_param_type(p->loss_fn, 0);
  p->inputs = n - 1;
  return 0;
}

/* The types that a search for floats has met. */
typedef struct Met {
  const rly_type *types[64];
  int count;
  bool full; /* there may be more */
} Met;

static void meet(Met *m, const rly_type *t) {
  for (int i = 0; i < m->count; i++)
    if (m->types[i] == t) return;
  m->full = m->count == sizeof m->types / sizeof *m->types;
  if (!m->full) m->types[m->count++] = t;
}

static void meet_fields(const Plan *p, Met *m, const rly_type *t) {
  bool tuple = rly_type_kind(t) == RLY_TUPLE;
  for (int k = 0; tuple && k < rly_type_field_count(t); k++)
    meet(m, rly_type_field(t, k));
  for (int i = 0; i < rly_type_constructor_count(t); i++)
    for (int k = 0; k < rly_constructor_field_count(t, i); k++)
      meet(m, rly_constructor_field(p->p, t, i, k));
}

/* May a value of the type hold a tensor of floats?  Only where it surely holds
 * none is it false, so the checker may still refuse what this lets pass. */
static bool may_hold_floats(const Plan *p, const rly_type *type) {
  Met m = {.types = {type}, .count = 1};
  for (int i = 0; i < m.count && !m.full; i++) {
    const char *dtype = rly_type_dtype(m.types[i]);
    if (rly_type_kind(m.types[i]) == RLY_UNKNOWN) return true;
    if (dtype && strstr(dtype, "float")) return true;
    meet_fields(p, &m, m.types[i]);
  }
  return m.full;
}

/* Otherwise each function of the library that maps the weights would refuse
 * them, at a place of its own text. */
static int check_weights(Plan *p) {
  if (may_hold_floats(p, p->weights)) return 0;
  char *type = rly_type_text(p->p, p->weights);
  int status = host_usage(p->t->h,
                          "%s: the weights of `@%s` are %s, which holds no "
                          "float to learn",
                          p->t->file, p->loss, type ? type : "a type");
  rly_text_free(p->t->h->cx, type);
  return status;
}

/* The param of the weights' type: the only one, or what @init gives. */
static int find_weights(Plan *p) {
  p->init = function_of(p, "init", 1);
  int found = 0;
  for (int i = 0; i < rly_program_param_count(p->p); i++) {
    if (rly_program_param_type(p->p, i) != p->weights) continue;
    p->param = rly_program_param_name(p->p, i);
    found++;
  }
  int out = plan_if_out(p);
  if (out) return out;
  if (found > 1) p->param = NULL;
  p->t->weights = p->param ? p->param : "";
  if (p->init || p->param) return 0;
  if (found)
    return host_usage(
        p->t->h,
        "%s: %d params have the type of the weights; `@init(key)` "
        "says how they begin",
        p->t->file, found);
  return host_usage(p->t->h,
                    "%s has neither `@init(key)` nor a param of the weights' "
                    "type",
                    p->t->file);
}

static int find_examples(Plan *p) {
  p->batch = function_of(p, "batch", 2);
  p->data = function_of(p, "data", 0);
  p->validation = function_of(p, "validation", 0);
  p->order = function_of(p, "order", 3);
  int out = plan_if_out(p);
  if (out) return out;
  if (p->batch && p->data)
    return host_usage(p->t->h, "%s has `@batch` and `@data`: which is meant?",
                      p->t->file);
  if (p->cli->epoch_steps && !p->batch)
    return host_usage(p->t->h,
                      "--epoch-steps counts what `@batch` draws, and %s has "
                      "none",
                      p->t->file);
  if (p->batch && p->cli->validate > 0)
    return host_usage(p->t->h,
                      "--validate holds a part of the data out, but `@batch` "
                      "draws it: a function `@validation()` gives examples");
  if (p->cli->validate >= 1)
    return host_usage(p->t->h, "--validate takes a part, such as 0.1");
  if (p->inputs > 0 || p->batch || p->data) return 0;
  return refuse(p, p->loss, "takes no examples");
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* `NAME=VALUE, ...` or nothing, in one line.  A value is of the characters of
 * numbers and words: the text goes into a program, and is to be nothing else
 * there. */
static bool are_settings(const char *text) {
  text += strspn(text, " ");
  if (!*text) return true;
  for (;;) {
    size_t name = strspn(text, LETTERS DIGITS);
    text += name;
    text += strspn(text, " ");
    if (!name || *text++ != '=') return false;
    text += strspn(text, " ");
    size_t value = strspn(text, LETTERS DIGITS ".+-");
    text += value;
    text += strspn(text, " ");
    if (!value || !*text) return value > 0;
    if (*text++ != ',') return false;
    text += strspn(text, " ");
  }
}

static bool is_own(const char *name) {
  return *name == '@' && name[1] &&
         !name[1 + strspn(name + 1, LETTERS DIGITS ".")];
}

void plan_put_weights(const Plan *p, const char *key, StrBuf *out) {
  if (p->init) strbuf_addf(out, "@init(@subkey(%s, 0))", key);
  else strbuf_addf(out, "@%s", p->param);
}

static void look_at_none(void *data, const Expr *e) {
  (void)data;
  (void)e;
}

/* Are there such functions, and do they take the weights and the settings?  A
 * step of them is checked alone, in a line of its own, so that what is wrong is
 * told of the flag and not of the program in which the step will stand.  What
 * is wrong with the weights that program tells. */
static int check_optimizer(Plan *p, const char *text) {
  const Optimiser *o = optimiser_named(p->optimizer);
  Diags *diags = p->p->ir->diags;
  DiagsMark mark = diags_mark(diags);
  const char *name = o ? o->name : p->optimizer + 1;
  StrBuf step;
  strbuf_init(&step, p->p->mem);
  strbuf_add(&step, "{ let %w = ");
  plan_put_weights(p, "random.threefry_key(0)", &step);
  strbuf_addf(&step, ";\n@%s_step(@%s(%%w), %%w, %%w, %s%s%s) }", name,
              o ? o->begin : name, o ? "rate=0.1f64" : "0.1f64",
              *p->given ? ", " : "", p->given);
  rly_status status =
      program_look_at(p->p, strbuf_text(&step), step.len, look_at_none, NULL);
  strbuf_done(&step);
  const Diag *d = diags_at(diags, mark.count);
  if (status != RLY_REFUSED || !d) {
    host_report(p->t->h);
    return exit_status(status);
  }
  bool flag = sources_place(p->p->ir->sources, d->span).line == 2;
  const char *why = arena_strndup(&p->p->arena, d->message, strlen(d->message));
  diags_return(diags, mark);
  if (!why) return host_out_of_memory(p->t->h);
  return flag ? host_usage(p->t->h, "--optimizer %s: %s", text, why) : 0;
}

/* `name(...)` is the name and what is said of it. */
static int find_optimizer(Plan *p) {
  const char *text = p->cli->optimizer ? p->cli->optimizer : "adam";
  Arena *arena = &p->p->arena;
  size_t len = strcspn(text, "("), all = strlen(text);
  bool closed = !text[len] || text[all - 1] == ')';
  p->optimizer = arena_strndup(arena, text, len);
  p->given = text[len] && closed
                 ? arena_strndup(arena, text + len + 1, all - len - 2)
                 : "";
  if (!p->optimizer || !p->given) return host_out_of_memory(p->t->h);
  const Optimiser *o = optimiser_named(p->optimizer);
  p->lr = p->cli->lr > 0 ? p->cli->lr : o ? o->rate : 0.001;
  if (closed && (o || is_own(p->optimizer))) {
    if (!p->cli->optimizer) return 0;
    if (are_settings(p->given)) return check_optimizer(p, text);
    return host_usage(p->t->h,
                      "--optimizer %s: settings are NAME=VALUE, with commas "
                      "between them, and a value is a number, True or False",
                      text);
  }
  Suggestion near = suggestion_for(p->optimizer);
  StrBuf names;
  strbuf_init(&names, p->p->mem);
  for (int i = 0; i < OPTIMISERS; i++) {
    suggestion_offer(&near, optimisers[i].name);
    strbuf_addf(&names, "%s, ", optimisers[i].name);
  }
  int status = host_usage(
      p->t->h,
      "--optimizer %s: %seach perhaps with (NAME=VALUE, ...), or @NAME of the "
      "file%s%s%s",
      text, strbuf_text(&names), near.best ? "; did you mean `" : "",
      near.best ? near.best : "", near.best ? "`?" : "");
  strbuf_done(&names);
  return status;
}

static int find_schedule(Plan *p) {
  p->schedule = p->cli->schedule ? p->cli->schedule : "constant";
  if (*p->schedule == '@' || schedule_named(p->schedule)) return 0;
  StrBuf names;
  strbuf_init(&names, p->p->mem);
  for (int i = 0; i < SCHEDULES; i++)
    strbuf_addf(&names, "%s, ", schedules[i].name);
  int status = host_usage(p->t->h,
                          "--schedule is %sor @NAME, a function (step, steps, "
                          "rate) of the file; not %s",
                          strbuf_text(&names), p->schedule);
  strbuf_done(&names);
  return status;
}

/* A function that gives the examples gives as many as the loss takes. */
static int check_examples(Plan *p) {
  const rly_function *gives = p->batch ? p->batch : p->data;
  const rly_type *r = gives ? rly_function_result_type(gives) : NULL;
  int parts = rly_type_kind(r) == RLY_TUPLE ? rly_type_field_count(r) : 1;
  if (!gives || parts == p->inputs) return 0;
  return refuse(p, p->batch ? "batch" : "data",
                "must give as many tensors as the loss takes beside the "
                "weights");
}

int plan_find(Plan *p) {
  int status = find_loss(p);
  if (!status) status = check_weights(p);
  if (!status) status = find_weights(p);
  if (!status) status = find_examples(p);
  if (!status) status = find_optimizer(p);
  if (!status) status = check_examples(p);
  return status ? status : find_schedule(p);
}
