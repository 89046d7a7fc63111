/* Values as text: the display form and JSON; equality.  All walks use explicit
 * stacks, so depth does not matter, and poll whether to stop.
 *
 * Printing keeps a stack of pieces that are still to write: a value is popped,
 * and pushes its brackets, commas and fields in reverse.  Of Cons(1, Nil):
 *
 *   out                stack, next piece first
 *                      Cons(1, Nil)
 *   Cons               "("  1  ", "  Nil  ")"
 *   Cons(1             ", "  Nil  ")"
 *   Cons(1, Nil)
 *
 * A ref met inside itself is shown by its distance in refs outward, the nearest
 * being 1, so that the text stays finite and says which ref is meant: a ref
 * that holds itself is ref(<cycle 1>). */
#include <string.h>

#include "value/show.h"

/* A piece left to write: a text, a value, or the end of a ref. */
typedef struct Piece {
  const char *text; /* NULL for a value */
  const Type *type; /* NULL as well: the end of the ref `value` */
  Value value;
  bool object; /* is the value one?  As value_plain() has it */
} Piece;

typedef struct Show {
  Store *s;
  StrBuf *out;
  int width, digits;
  size_t limit, shown;
  VEC(Piece) stack; /* the next piece on top */
  PtrMap open;      /* refs being written that may lead back -> their depth */
  uintptr_t depth;  /* refs around the current place */
} Show;

static void push_text(Show *w, const char *text) {
  VEC_PUSH(&w->stack, (Piece){.text = text});
}

static void push_value(Show *w, const Type *type, Value v, bool object) {
  Piece p = {.type = type, .value = v, .object = object};
  VEC_PUSH(&w->stack, p);
}

static const Ctor *ctor_of(const Type *type, Value v) {
  return &type->adt->ctors[v.obj->tag];
}

static int field_count(const Type *type, Value v) {
  switch (type->kind) {
    case TY_TUPLE: return type->count;
    case TY_ADT: return ctor_of(type, v)->field_count;
    case TY_REF: return 1;
    default: return 0;
  }
}

/* Pushes `open`, the fields and `close` in reverse, for popping in order. */
static void push_fields(Show *w, const Type *type, Value v, const char *open,
                        const char *close) {
  push_text(w, close);
  for (int i = field_count(type, v); i-- > 0;) {
    const Type *field;
    Value f = value_field(w->s, type, v, i, &field);
    push_value(w, field, f, value_field_counted(type, v, i));
    push_text(w, i ? ", " : open);
  }
}

/* The distance outward to the ref `v` that surrounds this place, from 1; 0 when
 * it does not. */
static size_t cycle_of(const Show *w, Value v) {
  uintptr_t at = (uintptr_t)ptrmap_get(&w->open, v.obj);
  return at ? (size_t)(w->depth - at + 1) : 0;
}

/* The ref is open until its end is popped.  Only a ref that may be part of a
 * cycle is entered in the map, which spares the others the look-up's cost. */
static void push_ref(Show *w, const Type *type, Value v, const char *open,
                     const char *close) {
  w->depth++;
  if (v.obj->mask & REF_CYCLIC) ptrmap_put(&w->open, v.obj, (void *)w->depth);
  VEC_PUSH(&w->stack, (Piece){.value = v});
  push_fields(w, type, v, open, close);
}

static void close_ref(Show *w, Value v) {
  w->depth--;
  if (v.obj->mask & REF_CYCLIC) ptrmap_remove(&w->open, v.obj);
}

typedef void (*ShowFn)(Show *w, const Type *type, Value v);

/* The loop of both forms: `one` writes what a node itself says and pushes the
 * rest.  Beyond the limit every value left becomes "...", so brackets still
 * balance and the cost is bounded by what is on the stack. */
static void show_all(Show *w, const Type *type, Value v, ShowFn one) {
  VEC_INIT(&w->stack, w->s->heap.mem);
  ptrmap_init(&w->open, w->s->heap.mem);
  push_value(w, type, v, false);
  while (w->stack.len && !store_should_stop(w->s)) {
    Piece p = VEC_POP(&w->stack);
    if (p.text) {
      strbuf_add(w->out, p.text);
    } else if (!p.type) {
      close_ref(w, p.value);
    } else if (w->limit && w->shown >= w->limit) {
      strbuf_add(w->out, "...");
    } else {
      w->shown++;
      one(w, p.type, value_plain(p.type, p.value, p.object));
    }
  }
  VEC_DONE(&w->stack);
  ptrmap_done(&w->open);
}

/* --- Display form ------------------------------------------------------- */

/* A block of several lines begins on a line of its own, under its type. */
static void show_tensor(Show *w, const Tensor *t) {
  tensor_print_type(w->out, t);
  StrBuf block;
  strbuf_init(&block, w->s->heap.mem);
  tensor_print_block(&block, t, w->width, 0, w->digits);
  bool lines = memchr(strbuf_text(&block), '\n', block.len) != NULL;
  strbuf_add_char(w->out, lines ? '\n' : ' ');
  strbuf_add(w->out, strbuf_text(&block));
  strbuf_done(&block);
}

static void show_function(Show *w, const Type *type) {
  strbuf_add_char(w->out, '<');
  type_print(w->s->shared->types, w->out, type, TYPE_TEXT_LINE);
  strbuf_add_char(w->out, '>');
}

static void show_ref(Show *w, const Type *type, Value v) {
  size_t cycle = cycle_of(w, v);
  if (cycle) strbuf_addf(w->out, "<cycle %zu>", cycle);
  else push_ref(w, type, v, "ref(", ")");
}

static void show_one(Show *w, const Type *type, Value v) {
  switch (type->kind) {
    case TY_TENSOR:
      if (type->any_rank && v.tensor->rank == 0)
        scalar_print_rounded(w->out, (DType)type->dtype,
                             tensor_bits_at(v.tensor, 0), w->digits);
      else if (type->rank == 0)
        scalar_print_rounded(w->out, (DType)type->dtype, v, w->digits);
      else show_tensor(w, v.tensor);
      break;
    case TY_TUPLE:
      if (type->count == 0) strbuf_add(w->out, "()");
      else push_fields(w, type, v, "(", type->count == 1 ? ",)" : ")");
      break;
    case TY_ADT:
      strbuf_add(w->out, ctor_of(type, v)->name->text);
      if (field_count(type, v)) push_fields(w, type, v, "(", ")");
      break;
    case TY_REF: show_ref(w, type, v); break;
    case TY_FN: show_function(w, type); break;
    default: strbuf_add(w->out, "_"); break;
  }
}

void value_print(Store *s, StrBuf *out, const Type *type, Value v, int width,
                 int digits, size_t limit) {
  Show w = {
      .s = s, .out = out, .width = width, .digits = digits, .limit = limit};
  show_all(&w, type, v, show_one);
}

/* --- JSON --------------------------------------------------------------- */

static void json_ctor(Show *w, const Type *type, Value v) {
  const Name *name = ctor_of(type, v)->name;
  strbuf_add(w->out, "{\"constructor\": \"");
  strbuf_add_escaped(w->out, name->text, name->len);
  strbuf_add(w->out, "\", \"fields\": ");
  if (field_count(type, v)) push_fields(w, type, v, "[", "]}");
  else strbuf_add(w->out, "[]}");
}

static bool should_stop(const void *store) { return store_should_stop(store); }

/* A scalar's header is made here, on the C stack, over its bits. */
static void json_tensor(Show *w, const Type *type, Value v) {
  if (type->rank > 0) {
    tensor_print_json(w->out, v.tensor, &(GiveUp){should_stop, w->s});
    return;
  }
  Tensor t = tensor_on_bits((DType)type->dtype, &v);
  tensor_print_json(w->out, &t, NULL);
}

static void json_ref(Show *w, const Type *type, Value v) {
  size_t cycle = cycle_of(w, v);
  if (cycle) strbuf_addf(w->out, "{\"cycle\": %zu}", cycle);
  else push_ref(w, type, v, "{\"ref\": ", "}");
}

static void json_one(Show *w, const Type *type, Value v) {
  switch (type->kind) {
    case TY_TENSOR: json_tensor(w, type, v); break;
    case TY_TUPLE:
      if (type->count == 0) strbuf_add(w->out, "{\"tuple\": []}");
      else push_fields(w, type, v, "{\"tuple\": [", "]}");
      break;
    case TY_ADT: json_ctor(w, type, v); break;
    case TY_REF: json_ref(w, type, v); break;
    default: strbuf_add(w->out, "{\"closure\": true}"); break;
  }
}

void value_print_json(Store *s, StrBuf *out, const Type *type, Value v) {
  Show w = {.s = s, .out = out};
  show_all(&w, type, v, json_one);
}

/* --- Equality ----------------------------------------------------------- */

typedef struct Pair {
  const Type *type;
  Value a, b;
} Pair;

/* Equality as two walks in step.  Refs that may form a cycle, and objects
 * shared on both sides, are merged into one class when they meet, as if equal.
 * A pair within a class is not entered again, so cycles end and shared parts
 * are compared once; a real difference is still found elsewhere (Hopcroft and
 * Karp's test of two automata, 1971). */
typedef struct Compare {
  Store *s;
  VEC(Pair) stack;
  /* union-find: ref -> another of its class; absent for the leader */
  PtrMap leader;
} Compare;

/* Are the two equal but for their fields?  Tensors by type, shape and bits;
 * constructors by tag; functions by identity. */
static bool same_node(const Type *type, Value a, Value b) {
  switch (type->kind) {
    case TY_TENSOR: {
      if (type->rank > 0) return tensor_same(a.tensor, b.tensor);
      Tensor x = tensor_on_bits((DType)type->dtype, &a);
      Tensor y = tensor_on_bits((DType)type->dtype, &b);
      return tensor_same(&x, &y);
    }
    case TY_ADT: return a.obj->tag == b.obj->tag;
    case TY_TUPLE:
    case TY_REF: return true;
    default: return a.bits == b.bits;
  }
}

/* Follows the links to the leader.  No ranks: joined() keeps paths short by
 * pointing both ends at the new leader. */
static const Obj *leader_of(const Compare *c, const Obj *o) {
  for (const Obj *up; (up = ptrmap_get(&c->leader, o));) o = up;
  return o;
}

/* Are the two in one class?  If not, merges their classes. */
static bool joined(Compare *c, const Obj *a, const Obj *b) {
  const Obj *x = leader_of(c, a), *y = leader_of(c, b);
  if (x == y) return true;
  ptrmap_put(&c->leader, y, (void *)(uintptr_t)x);
  if (b != y) ptrmap_put(&c->leader, b, (void *)(uintptr_t)x);
  return false;
}

/* A pair that may be cyclic or shared is entered only once; the same object on
 * both sides is equal to itself.  A tuple or constructor with one reference on
 * either side cannot be met again by another way, so it is not worth an entry
 * in the map. */
static bool is_settled(Compare *c, Pair p) {
  if (!type_is_counted(p.type)) return false;
  const Obj *a = p.a.obj, *b = p.b.obj;
  if (a == b) return true;
  switch (p.type->kind) {
    case TY_REF: return a->mask & REF_CYCLIC && joined(c, a, b);
    case TY_TUPLE:
    case TY_ADT: return a->count > 1 && b->count > 1 && joined(c, a, b);
    default: return false;
  }
}

static void compare_fields(Compare *c, Pair p) {
  for (int i = field_count(p.type, p.a); i-- > 0;) {
    const Type *field;
    Value x = value_field(c->s, p.type, p.a, i, &field);
    Value y = value_field(c->s, p.type, p.b, i, &field);
    VEC_PUSH(&c->stack, (Pair){field, x, y});
  }
}

/* Pops pairs until one differs.  Both sides have the same static type, so one
 * walk over the type serves both. */
bool value_equal(Store *s, const Type *type, Value a, Value b) {
  Compare c = {.s = s};
  VEC_INIT(&c.stack, s->heap.mem);
  ptrmap_init(&c.leader, s->heap.mem);
  VEC_PUSH(&c.stack, (Pair){type, a, b});
  bool same = true;
  while (same && c.stack.len && !store_should_stop(s)) {
    Pair p = VEC_POP(&c.stack);
    if (is_settled(&c, p)) continue;
    same = same_node(p.type, p.a, p.b);
    if (same) compare_fields(&c, p);
  }
  VEC_DONE(&c.stack);
  ptrmap_done(&c.leader);
  return same && !store_should_stop(s);
}

/* --- Messages ------------------------------------------------------------ */

/* A line break and what indents the next line become one blank. */
static void add_on_one_line(StrBuf *out, const char *text) {
  for (; *text; text++) {
    bool breaks = *text == '\n';
    strbuf_add_char(out, breaks ? ' ' : *text);
    while (breaks && text[1] == ' ') text++;
  }
}

/* Cuts at the beginning of a character. */
static void cut(StrBuf *out) {
  if (out->len <= MESSAGE_MOST) return;
  out->len = utf8_begin(out->data, MESSAGE_MOST);
  strbuf_add(out, "...");
}

void message_fill(StrBuf *out, const char *text, int count,
                  void (*print)(void *of, StrBuf *out, int i), void *of) {
  for (int i = 0; i < count && out->len <= MESSAGE_MOST; i++) {
    const char *place = strstr(text, "{}");
    if (!place) break;
    StrBuf value;
    strbuf_init(&value, out->mem);
    print(of, &value, i);
    strbuf_add_len(out, text, (size_t)(place - text));
    add_on_one_line(out, strbuf_text(&value));
    strbuf_done(&value);
    text = place + 2;
  }
  strbuf_add(out, text);
  cut(out);
}
