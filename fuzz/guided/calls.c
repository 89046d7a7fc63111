/* Fuzzing by coverage of rly.h: the bytes are a sequence of calls, right ones
 * and wrong ones, over a few slots that hold what earlier calls gave.
 *
 *   each call is four bytes: which one, and three that choose its arguments
 *
 * A slot that is full is emptied before it is filled again, in whatever order
 * that makes owners and what they own go.  No sequence may crash, leak, hang or
 * be a race; where a call says RLY_MISUSE, rly_misuse() tells what was wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/rly.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- What calls choose from ---------------------------------------------- */

static const char *const texts[] = {
    "type Tree { Leaf, Node(Tree, int32, Tree) }\n"
    "let @n = ref(0); let @t = ref(Leaf); let @l = ref(List[1f, 2f]);\n"
    "def @step(%x: int32) -> int32 { ref_write(@n, ref_read(@n) + %x); "
    "ref_read(@n) }\n"
    "def @grow(%t: Tree) -> Tree { Node(%t, ref_read(@n), %t) }\n",
    "let @n = ref(1f); def @step(%x: Tensor[(?), float32]) { %x + @n^ }\n",
    "def @main(%x: int32) -> int32 { if (%x > 0) { @main(%x - 1) } "
    "else { %x } }\n",
    "def @loop(%x: int32) -> int32 { @loop(%x + 1) }\n@loop(0);\n",
    "def @pick[A](%x: (A, A)) -> A { %x.0 }\n(1, [2f, 3f]);\n",
    "type Pair { Pair(left: int32, right: Tensor[(2), float32]) }\n"
    "param @p: Pair; def @sum(%q: Pair) { %q.left }\n",
    "let @ring = ref(fn (%x: int32) -> int32 { %x });\n"
    "ref_write(@ring, fn (%x: int32) -> int32 { ref_read(@ring)(%x) });\n",
    "print(1); fail(\"no\");\n",
    "def @f(%x: int32) -> fn (int32) -> int32 { fn (%y: int32) -> int32 "
    "{ %x + %y } }\n",
    "def @cost(%x: float32) -> float32 { %x * %x }\ngrad(@cost);\n",
    "1 + ",
    "def @broken(",
};
static const char *const names[] = {
    "step", "grow", "main", "pick",  "sum", "f",        "cost",
    "loop", "n",    "@n",   "@l",    "p",   "p.left",   "Node",
    "Leaf", "Cons", "",     "$mine", "%it", "@t.Node.0"};
static const char *const dtypes[] = {"int32",   "float32", "bool",
                                     "float16", "uint4",   "custom"};
static const char *const bindings[] = {"x=3",       "x=[1f, 2f]", "p.left=1",
                                       "7",         "q=nothing",  "=",
                                       "x=@absent", "p=(1, 2)"};
enum { SLOTS = 4 };
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CHOOSE(array, byte) (array)[(byte) % COUNT(array)]

/* What there is, each in a slot or NULL. */
typedef struct Slots {
  rly_context *context[2]; /* of programs; of some tensors */
  rly_program *program[SLOTS];
  rly_session *session[SLOTS];
  rly_value *value[SLOTS * 2];
  rly_tensor *tensor[SLOTS];
  rly_tensors *tensors[SLOTS];
  rly_state *state[SLOTS];
  rly_snapshot *snapshot[SLOTS];
  rly_layout *layout[SLOTS];
  char path[64];
} Slots;

/* put_value(s, byte, made) and its like put a new thing, or NULL, into a slot,
 * after what that held has gone; empty_value(s) empties all. */
#define SLOTS_OF(kind)                                               \
  static void put_##kind(Slots *s, uint8_t byte, rly_##kind *made) { \
    rly_##kind *old = CHOOSE(s->kind, byte);                         \
    CHOOSE(s->kind, byte) = made;                                    \
    rly_##kind##_free(old);                                          \
  }                                                                  \
  static void empty_##kind(Slots *s) {                               \
    for (size_t i = 0; i < COUNT(s->kind); i++)                      \
      put_##kind(s, (uint8_t)i, NULL);                               \
  }
SLOTS_OF(program)
SLOTS_OF(session)
SLOTS_OF(value)
SLOTS_OF(tensor)
SLOTS_OF(tensors)
SLOTS_OF(state)
SLOTS_OF(snapshot)
SLOTS_OF(layout)

/* A call that is refused for misuse tells why. */
static void told(rly_status status) {
  if (status == RLY_MISUSE && !rly_misuse()) abort();
}

/* --- Calls ---------------------------------------------------------------- */

static void show(void *data, rly_value *v) {
  Slots *s = data;
  put_value(s, 7, rly_value_keep(v));
}

static void add_text(rly_program *p, uint8_t text, uint8_t flags) {
  const char *t = CHOOSE(texts, text);
  told(rly_program_add_text(p, "a.rly", t, strlen(t), flags % 8));
}

static void new_tensor(Slots *s, uint8_t slot, uint8_t dtype, uint8_t rank) {
  int64_t shape[3] = {rank % 3, 2, rank & 64 ? -1 : 1};
  double elements[8] = {0, 1.5, -2};
  put_tensor(s, slot,
             rly_tensor_new(s->context[rank >> 7], CHOOSE(dtypes, dtype),
                            rank % 4, shape, elements));
}

static void call(Slots *s, rly_session *session, uint8_t name, uint8_t args) {
  rly_value *given[2] = {CHOOSE(s->value, args), CHOOSE(s->value, args / 8)};
  rly_value *result = NULL;
  rly_status status = rly_session_call(session, CHOOSE(names, name),
                                       args >> 6 & 1, given, &result);
  told(status);
  if (status == RLY_OK) put_value(s, args, result);
}

static void look_at_value(Slots *s, rly_value *v) {
  rly_context *cx = s->context[0];
  if (!v) return;
  rly_text_free(cx, rly_value_text(v));
  rly_text_free(cx, rly_value_json(v));
  rly_text_free(cx, rly_value_type_text(v));
  rly_array array;
  if (rly_value_array(v, &array) && array.rank > 8) abort();
  if (rly_value_kind(v) == RLY_TENSOR && rly_value_count(v) < 0) abort();
}

static void split_and_build(Slots *s, rly_layout *l, rly_session *session,
                            rly_value *v) {
  rly_value *parts[16] = {0};
  if (!l || !v || rly_layout_count(l) > COUNT(parts)) return;
  if (rly_layout_split(l, v, parts) == RLY_OK)
    put_value(s, 5, rly_layout_build(l, session, parts));
  for (size_t i = 0; i < COUNT(parts); i++) rly_value_free(parts[i]);
}

static void new_layout(Slots *s, rly_program *p, uint8_t name, uint8_t slot) {
  const rly_function *f = rly_program_function(p, CHOOSE(names, name));
  rly_layout *l = NULL;
  if (f)
    told(rly_layout_new(p, rly_function_result_type(f), "v",
                        slot & 1 ? RLY_TENSORS : RLY_PIECES, &l));
  put_layout(s, slot, l);
}

static void look_at_state(rly_state *st) {
  for (size_t i = 0; st && i < rly_state_count(st); i++) {
    rly_state_path(st, i);
    rly_state_type(st, i);
    for (size_t k = 0; k < rly_state_alias_count(st, i); k++)
      rly_state_alias(st, i, k);
  }
}

static void construct(Slots *s, rly_session *session, uint8_t value,
                      uint8_t name) {
  rly_value *fields[3] = {CHOOSE(s->value, value), CHOOSE(s->value, name),
                          CHOOSE(s->value, value + 1)};
  rly_value *like = fields[0], *made = NULL;
  if (name & 1) made = rly_value_tuple(session, name % 4, fields);
  else if (like)
    made = rly_value_construct(session, rly_value_type(like),
                               CHOOSE(names, name), name % 4, fields);
  put_value(s, name, made);
}

static void limit(rly_session *session, uint8_t a, uint8_t b) {
  rly_options limits = {.max_memory = (size_t)1 << (12 + a % 14),
                        .max_steps = (uint64_t)1 << b % 16,
                        .max_depth = b,
                        .timeout = 1};
  told(rly_session_set_limits(session, &limits));
}

/* What stands behind a path is the session's own file. */
static void save_or_load(Slots *s, rly_session *session, uint8_t what) {
  char *report = NULL;
  if (what % 3 == 0) told(rly_session_save(session, s->path));
  else if (what % 3 == 1) told(rly_session_load(session, s->path));
  else told(rly_session_carry_file(session, s->path, &report));
  rly_text_free(s->context[0], report);
}

static void carry(Slots *s, rly_session *from, rly_session *to) {
  char *report = NULL;
  told(rly_session_carry(from, to, &report));
  rly_text_free(s->context[0], report);
}

static void tensors(Slots *s, uint8_t slot, uint8_t tensor, uint8_t name) {
  rly_tensors *all = CHOOSE(s->tensors, slot);
  if (all)
    told(rly_tensors_add(all, CHOOSE(names, name), CHOOSE(s->tensor, tensor)));
  else put_tensors(s, slot, rly_tensors_new(s->context[0]));
  if (all && name & 32)
    put_tensor(s, tensor, rly_tensors_get(all, CHOOSE(names, name)));
}

/* One row a call.  A session, a program and a value are chosen by the first
 * byte that says which. */
static void one_call(Slots *s, const uint8_t *d) {
  uint8_t a = d[1], b = d[2], c = d[3];
  rly_program *p = CHOOSE(s->program, a);
  rly_session *session = CHOOSE(s->session, a);
  rly_value *v = CHOOSE(s->value, b);
  switch (d[0] % 28) {
    case 0: put_program(s, a, rly_program_new(s->context[0])); break;
    case 1:
      put_session(s, a, rly_session_new(CHOOSE(s->program, b), NULL));
      break;
    case 2: add_text(p, b, c); break;
    case 3: told(rly_session_run(session, show, s)); break;
    case 4: call(s, session, b, c); break;
    case 5: told(rly_session_skip(session)); break;
    case 6: new_tensor(s, a, b, c); break;
    case 7:
      put_value(s, b, rly_value_of_tensor(session, CHOOSE(s->tensor, c)));
      break;
    case 8: put_tensor(s, a, v ? rly_value_tensor(v) : NULL); break;
    case 9: look_at_value(s, v); break;
    case 10: put_value(s, c, v ? rly_value_field(v, (int)c - 1) : NULL); break;
    case 11: construct(s, session, b, c); break;
    case 12: put_state(s, c, rly_session_state(session)); break;
    case 13: look_at_state(CHOOSE(s->state, c)); break;
    case 14: put_snapshot(s, c, rly_session_snapshot(session)); break;
    case 15: told(rly_session_restore(session, CHOOSE(s->snapshot, c))); break;
    case 16: put_session(s, c, rly_session_fork(session, NULL)); break;
    case 17: told(rly_session_reset(session)); break;
    case 18: save_or_load(s, session, b); break;
    case 19: carry(s, session, CHOOSE(s->session, b)); break;
    case 20: put_value(s, c, rly_session_get(session, CHOOSE(names, b))); break;
    case 21: told(rly_session_set(session, CHOOSE(names, c), v)); break;
    case 22: limit(session, b, c); break;
    case 23: new_layout(s, p, b, c); break;
    case 24: split_and_build(s, CHOOSE(s->layout, c), session, v); break;
    case 25: told(rly_program_bind_text(p, CHOOSE(bindings, b))); break;
    case 26: tensors(s, a, b, c); break;
    case 27: told(rly_session_add_cell(session, CHOOSE(names, c), v)); break;
  }
}

/* --- The whole ------------------------------------------------------------ */

static void empty(Slots *s, bool owners_first) {
  if (owners_first) {
    empty_program(s);
    empty_session(s);
  }
  empty_value(s);
  empty_layout(s);
  empty_snapshot(s);
  empty_state(s);
  empty_tensor(s);
  empty_tensors(s);
  empty_session(s);
  empty_program(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 5) return 0;
  Slots all = {0}, *s = &all;
  snprintf(s->path, sizeof s->path, "/tmp/rly-guided-%d.safetensors",
           (int)getpid());
  rly_options options = {.max_memory = 32 << 20,
                         .max_depth = 1000,
                         .max_steps = 100000,
                         .timeout = 1,
                         .safe = true,
                         .verify = true};
  for (int i = 0; i < 2; i++) s->context[i] = rly_context_new(&options);
  for (size_t at = 1; at + 4 <= size; at += 4) {
    one_call(s, data + at);
    for (int i = 0; i < 2; i++)
      if (s->context[i]) rly_diagnostics_clear(s->context[i]);
  }
  if (*data & 2) rly_context_free(s->context[1]);
  empty(s, *data & 1);
  if (~*data & 2) rly_context_free(s->context[1]);
  rly_context_free(s->context[0]);
  unlink(s->path);
  return 0;
}
