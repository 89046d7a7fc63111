/* attrs: hostile numbers for every operator.
 *
 *   attrs [--seed S] [--count N] [--show] [NAME...]
 *
 * The example in an operator's row is taken apart: its operands, its
 * attributes, the integers in both.  Each trial puts one or two numbers from
 * around 0, 2^31, 2^32, 2^62 and 2^63 in their places, or adds an integer
 * attribute that the example leaves out.  Every second trial hides what is
 * known before the program runs: operands become parameters of shape (?, ...,
 * ?), attributes that may be expressions become parameters, too.
 *
 * A program may be refused or run; it may not crash, and what it gives is the
 * same with every instruction set.  Each operator has a process of its own.
 * Memory is limited, so that large shapes are refused, and so is time: what a
 * program that takes too long would give is not compared.
 *
 * How a program is made, for example of  take(data, indices, axis=0):
 *
 *   example    take([[1f, 2f], [3f, 4f]], [1, 0], axis=0)
 *   parts      [[1f, 2f], [3f, 4f]]    [1, 0]    axis=0
 *   spoilt     [[1f, 2f], [3f, 4f]]    [1i64, 4294967297i64]    axis=0
 *   hidden     def @f(%p0: Tensor[(?, ?), float32], ...) { take(%p0, ...) }
 *              @f([[1f, 2f], [3f, 4f]], ...);
 *
 * The reference kernels are the oracle: a value or a run-time error that they
 * give, every instruction set must give. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "include/rly.h"
#include "kernels/isa.h"
#include "ops/ops.h"

enum { PARTS_MAX = 24, TEXT_MAX = 1 << 14 };
static const rly_options limits = {
    .max_memory = 16 << 20, .timeout = 0.3, .threads = 2};

static const int64_t around[] = {
    0,
    (int64_t)1 << 31,
    -((int64_t)1 << 31),
    (int64_t)1 << 32,
    -((int64_t)1 << 32),
    (int64_t)1 << 62,
    -((int64_t)1 << 62),
    INT64_MAX - 2,
    INT64_MIN + 2,
};

typedef struct Random {
  uint64_t state;
} Random;

/* From 0 to n - 1. */
static int64_t below(Random *r, int64_t n) {
  return (int64_t)(splitmix64(&r->state) % (uint64_t)n);
}

/* A number from the list, give or take two: the places where 32 or 64 bits
 * overflow, where a product of two lengths does, and 0. */
static int64_t hostile_number(Random *r) {
  int64_t near = around[below(r, sizeof around / sizeof *around)];
  int64_t beside = below(r, 5) - 2;
  return near + beside;
}

/* --- An example taken apart ---------------------------------------------- */

/* An argument of the call.  Its i-th integer is replaced by `numbers[i]`. */
typedef struct Part {
  char text[512];
  const AttrSpec *spec; /* NULL for an operand */
  bool spoilt;          /* its integers are replaced, and written as int64 */
  int count;
  int64_t numbers[32];
} Part;

/* The example as text: before ( part, ..., part ) after.  Everything but the
 * parts stays as it is in the row, so a trial is wrong in one place or two. */
typedef struct Example {
  char before[512], behind[256];
  int count;
  Part parts[PARTS_MAX];
} Example;

/* The length of the integer literal at `p`; 0 when there is none, or when the
 * digits are part of a name, a float or a string.  A suffix such as i64 belongs
 * to it. */
static size_t integer_at(const char *text, const char *p) {
  const char *q = p + (*p == '-');
  if (!isdigit((unsigned char)*q)) return 0;
  if (p > text && (isalnum((unsigned char)p[-1]) || strchr("_.%@\"", p[-1])))
    return 0;
  while (isdigit((unsigned char)*q)) q++;
  if (*q == 'i' && isdigit((unsigned char)q[1]))
    for (q++; isdigit((unsigned char)*q);) q++;
  else if (isalpha((unsigned char)*q) || *q == '.') return 0;
  return (size_t)(q - p);
}

/* NULL: the row has no such attribute. */
static const AttrSpec *spec_named(const OpInfo *op, const char *name,
                                  size_t len) {
  for (int i = 0; i < op->attr_count; i++) {
    const char *own = attr_name_text(op->attrs[i].name);
    if (strlen(own) == len && memcmp(own, name, len) == 0) return &op->attrs[i];
  }
  return NULL;
}

/* False for an example that is not of the form that is understood; the operator
 * is then left out of the hunt. */
static bool add_part(Example *e, const OpInfo *op, const char *from,
                     const char *to) {
  while (from < to && isspace((unsigned char)*from)) from++;
  Part *p = &e->parts[e->count];
  size_t len = (size_t)(to - from), name = 0;
  if (len == 0) return true;
  if (e->count == PARTS_MAX || len >= sizeof p->text) return false;
  *p = (Part){0};
  while (isalnum((unsigned char)from[name]) || from[name] == '_') name++;
  if (from[name] == '=') {
    p->spec = spec_named(op, from, name);
    if (!p->spec) return false;
  }
  memcpy(p->text, from, len);
  for (const char *q = p->text; *q;) {
    size_t n = integer_at(p->text, q);
    if (n && p->count < 32) p->numbers[p->count++] = strtoll(q, NULL, 10);
    q += n ? n : 1;
  }
  e->count++;
  return true;
}

/* Parses the example; false when it does not call the operator by its name.
 * Commas count only outside of brackets and strings. */
static bool take_apart(const OpInfo *op, Example *e) {
  char call[128];
  snprintf(call, sizeof call, "%s(", op->name);
  const char *at = op->example ? strstr(op->example, call) : NULL;
  if (!at) return false;
  const char *from = at + strlen(call), *p = from;
  *e = (Example){0};
  snprintf(e->before, sizeof e->before, "%.*s", (int)(from - op->example),
           op->example);
  bool quoted = false;
  for (int depth = 0; *p && depth >= 0; p++) {
    if (*p == '"') quoted = !quoted;
    if (quoted) continue;
    if (strchr("([{", *p)) depth++;
    if (strchr(")]}", *p)) depth--;
    if (depth < 0 || (depth == 0 && *p == ',')) {
      if (!add_part(e, op, from, p)) return false;
      from = p + 1;
    }
  }
  snprintf(e->behind, sizeof e->behind, "%s", p - 1);
  return true;
}

/* --- Trials -------------------------------------------------------------- */

/* One of its integers. */
static void spoil_part(Random *r, Part *p) {
  p->spoilt = true;
  p->numbers[below(r, p->count)] = hostile_number(r);
}

static bool takes_integers(const AttrSpec *a) {
  return a->type == AT_INT || a->type == AT_INTS || a->type == AT_LISTS ||
         a->type == AT_INT_OR_INTS;
}

/* At least one hostile number, and others that are small: an attribute of
 * several numbers should not fail at the first. */
static void append_numbers(Random *r, char *text, size_t size, int n) {
  for (int i = 0; i < n; i++) {
    size_t len = strlen(text);
    int64_t v = i == 0 || below(r, 2) ? hostile_number(r) : below(r, 3);
    snprintf(text + len, size - len, "%s%lld", i ? ", " : "", (long long)v);
  }
}

/* Adds an integer attribute that the example lacks, if there is one. */
static void add_attribute(Random *r, const OpInfo *op, Example *e) {
  if (op->attr_count == 0 || e->count == PARTS_MAX) return;
  const AttrSpec *a = &op->attrs[below(r, op->attr_count)];
  for (int i = 0; i < e->count; i++)
    if (e->parts[i].spec == a) return;
  if (!takes_integers(a)) return;
  Part *p = &e->parts[e->count];
  char list[256] = "";
  append_numbers(r, list, sizeof list,
                 a->type == AT_INT ? 1 : 1 + (int)below(r, 3));
  *p = (Part){.spec = a};
  const char *form = a->type == AT_INT     ? "%s=%s"
                     : a->type == AT_LISTS ? "%s=[[%s]]"
                                           : "%s=[%s]";
  snprintf(p->text, sizeof p->text, form, attr_name_text(a->name), list);
  e->count++;
}

/* One argument more than there are stands for an attribute that is added. */
static void spoil(Random *r, const OpInfo *op, Example *e) {
  int i = (int)below(r, e->count + 1);
  if (i < e->count && e->parts[i].count > 0) spoil_part(r, &e->parts[i]);
  else add_attribute(r, op, e);
}

/* --- Texts --------------------------------------------------------------- */

/* Writes the argument with its new integers; `wide` writes them as int64, so
 * that any fits.  A float or a name that contains digits stays as it is
 * (integer_at). */
static void part_text(const Part *p, bool wide, char *out, size_t size) {
  size_t n = 0;
  int number = 0;
  for (const char *q = p->text; *q && n + 32 < size;) {
    size_t len = p->spoilt || wide ? integer_at(p->text, q) : 0;
    if (len && number < p->count) {
      n += (size_t)snprintf(out + n, size - n, "%lld%s",
                            (long long)p->numbers[number++],
                            p->spec && !wide ? "" : "i64");
      q += len;
    } else {
      out[n++] = *q++;
    }
  }
  out[n] = 0;
}

/* The type of a literal with its dims replaced by `?`; false when it has none.
 * The dtype is found by the suffix of any element; brackets tell the rank. */
static bool hidden_type(const char *literal, char *out, size_t size) {
  static const struct {
    const char *mark, *dtype;
  } marks[] = {{"f64", "float64"}, {"f16", "float16"}, {"True", "bool"},
               {"False", "bool"},  {"u8", "uint8"},    {"i8", "int8"},
               {"i16", "int16"},   {"u64", "uint64"},  {"u32", "uint32"},
               {"i64", "int64"},   {"f", "float32"},   {".", "float32"}};
  const char *dtype = "int32";
  int rank = (int)strspn(literal, "[");
  if (rank == 0 || strpbrk(literal, "%@(\"")) return false;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (strstr(literal, marks[i].mark)) {
      dtype = marks[i].dtype;
      break;
    }
  snprintf(out, size, "Tensor[(?%s), %s]",
           &", ?, ?, ?, ?, ?, ?, ?"[3 * (8 - (rank > 8 ? 8 : rank))], dtype);
  return true;
}

/* Writes def @f(%p0: ..., ...) { before ... after }  @f(...);  With `hide`,
 * the call's arguments become parameters of a function, so that their shapes,
 * or for attributes their values, are known only at run time. */
static void program_text(const Example *e, bool hide, char *out, size_t size) {
  char call[4096] = "", params[2048] = "", args[4096] = "";
  int hidden = 0;
  for (int i = 0; i < e->count; i++) {
    const Part *p = &e->parts[i];
    char text[1024], type[128];
    part_text(p, false, text, sizeof text);
    const char *value = p->spec ? strchr(text, '=') + 1 : text;
    bool by_name = hide && !p->spec && hidden_type(value, type, sizeof type);
    if (hide && p->spec && attr_may_be_computed(p->spec->type) &&
        p->count > 0) {
      by_name = true;
      part_text(p, true, text, sizeof text);
      value = strchr(text, '=') + 1;
      if (*value != '[') snprintf(type, sizeof type, "int64");
      else if (value[1] == '[')
        snprintf(type, sizeof type, "Tensor[(%d, 2), int64]", p->count / 2);
      else snprintf(type, sizeof type, "Tensor[(%d), int64]", p->count);
    }
    size_t len = strlen(call);
    snprintf(call + len, sizeof call - len, "%s", i ? ", " : "");
    len = strlen(call);
    if (!by_name) {
      snprintf(call + len, sizeof call - len, "%s", text);
      continue;
    }
    snprintf(call + len, sizeof call - len, "%.*s%%p%d", (int)(value - text),
             text, hidden);
    len = strlen(params);
    snprintf(params + len, sizeof params - len, "%s%%p%d: %s",
             hidden ? ", " : "", hidden, type);
    len = strlen(args);
    snprintf(args + len, sizeof args - len, "%s%s", hidden ? ", " : "", value);
    hidden++;
  }
  if (hidden)
    snprintf(out, size, "def @f(%s) { %s%s%s }\n@f(%s);\n", params, e->before,
             call, e->behind, args);
  else snprintf(out, size, "%s%s%s;\n", e->before, call, e->behind);
}

/* --- Running ------------------------------------------------------------- */

/* The result of a program, with its values as text. */
typedef struct Outcome {
  rly_context *cx;
  rly_status status;
  char text[TEXT_MAX];
} Outcome;

static void show_value(void *data, rly_value *v) {
  Outcome *o = data;
  size_t len = strlen(o->text);
  char *text = rly_value_text(v);
  snprintf(o->text + len, sizeof o->text - len, "%s\n", text ? text : "?");
  rly_text_free(o->cx, text);
}

/* Each program has a context of its own with the limits above; what it leaves
 * is freed. */
static void run(const char *text, const char *isa, Outcome *o) {
  isa_select(isa);
  *o = (Outcome){.status = RLY_LIMIT};
  rly_context *cx = rly_context_new(&limits);
  rly_program *p = cx ? rly_program_new(cx) : NULL;
  o->cx = cx;
  if (p) o->status = rly_program_add_text(p, "trial", text, strlen(text), 0);
  if (p && o->status == RLY_OK) {
    rly_session *s = rly_session_new(p, NULL);
    o->status = s ? rly_session_run(s, show_value, o) : RLY_LIMIT;
    rly_session_free(s);
  }
  rly_program_free(p);
  rly_context_free(cx);
}

/* Runs the program with every instruction set and compares with the first.
 * Limits are not compared: one instruction set may be faster than another. */
static bool agrees(const char *text, Outcome *first, Outcome *other) {
  const Isa *sets[ISA_MAX];
  int count = isa_available(sets);
  run(text, "reference", first);
  if (first->status != RLY_OK && first->status != RLY_RUNTIME) return true;
  for (int i = 0; i < count; i++) {
    run(text, sets[i]->name, other);
    if (other->status == RLY_LIMIT) continue;
    if (other->status == first->status && !strcmp(other->text, first->text))
      continue;
    printf("not the same with %s:\n%s%s%s", sets[i]->name, text, first->text,
           other->text);
    return false;
  }
  return true;
}

/* --- The hunt ------------------------------------------------------------ */

typedef struct Options {
  uint64_t seed;
  long count;
  bool show;
} Options;

/* Memory shared with the children: sums, and what the parent reads when one has
 * crashed. */
typedef struct Shared {
  char text[TEXT_MAX];
  long trials, ran, refused, limited;
  bool differs;
} Shared;

/* The numbers follow from the seed and the operator alone, so a finding can be
 * repeated by its name. */
static void hunt(const OpInfo *op, const Options *options, Shared *shared) {
  static Outcome first, other;
  static Example whole, e;
  Random r = {options->seed * 1000003 + op_id(op)};
  if (!take_apart(op, &whole)) return;
  for (long i = 0; i < options->count; i++) {
    e = whole;
    spoil(&r, op, &e);
    if (below(&r, 2)) spoil(&r, op, &e);
    program_text(&e, below(&r, 2), shared->text, sizeof shared->text);
    if (options->show) printf("%s", shared->text);
    if (!agrees(shared->text, &first, &other)) shared->differs = true;
    shared->trials++;
    shared->ran += first.status == RLY_OK;
    shared->limited += first.status == RLY_LIMIT;
    shared->refused += first.status != RLY_OK && first.status != RLY_LIMIT;
  }
}

/* A child for each operator: after a crash the text of the program is still in
 * the shared memory, and the hunt goes on with the next operator. */
static bool hunt_apart(const OpInfo *op, const Options *options,
                       Shared *shared) {
  fflush(stdout);
  shared->differs = false;
  pid_t child = fork();
  if (child == 0) {
    hunt(op, options, shared);
    fflush(stdout);
    _exit(0);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ended) printf("%s: crashed on\n%s", op->name, shared->text);
  return ended && !shared->differs;
}

static bool is_wanted(const OpInfo *op, int argc, char **names) {
  for (int i = 0; i < argc; i++)
    if (!strcmp(op->name, names[i])) return true;
  return argc == 0;
}

int main(int argc, char **argv) {
  Options options = {.seed = 1, .count = 100};
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; at++) {
    bool more = at + 1 < argc;
    if (!strcmp(argv[at], "--show")) options.show = true;
    else if (more && !strcmp(argv[at], "--seed"))
      options.seed = strtoull(argv[++at], NULL, 10);
    else if (more && !strcmp(argv[at], "--count"))
      options.count = strtol(argv[++at], NULL, 10);
    else {
      fprintf(stderr,
              "usage: attrs [--seed S] [--count N] [--show] [NAME...]\n");
      return 2;
    }
  }
  Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  int bad = 0;
  for (int id = 0; id < OP_COUNT; id++)
    if (is_wanted(op_info(id), argc - at, argv + at))
      bad += !hunt_apart(op_info(id), &options, shared);
  printf(
      "%ld programs: %ld ran, %ld were refused, %ld passed a limit; %d "
      "operators failed\n",
      shared->trials, shared->ran, shared->refused, shared->limited, bad);
  return bad > 0;
}
