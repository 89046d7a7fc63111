/* Values as text: the display form and JSON.  Both walk with a stack of their
 * own, so depth does not matter. */
#include <string.h>

#include "interp/vm.h"

/* A piece still to be written: text, or a value. */
typedef struct Piece {
  const char *text;  /* NULL: the value */
  const Type *type;
  Value value;
} Piece;

typedef struct Show {
  Session *s;
  StrBuf *out;
  int width;
  size_t limit, shown;
  VEC(Piece) stack;  /* the next piece on top */
} Show;

static void push_text(Show *w, const char *text) {
  VEC_PUSH(&w->stack, (Piece){.text = text});
}

static void push_value(Show *w, const Type *type, Value v) {
  VEC_PUSH(&w->stack, (Piece){.type = type, .value = v});
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

/* Pushes what stands between `open` and `close`, last field first. */
static void push_fields(Show *w, const Type *type, Value v, const char *open,
                        const char *close) {
  push_text(w, close);
  for (int i = field_count(type, v); i-- > 0;) {
    const Type *field;
    Value f = value_field(w->s, type, v, i, &field);
    push_value(w, field, f);
    push_text(w, i ? ", " : open);
  }
}

typedef void (*ShowFn)(Show *w, const Type *type, Value v);

static void show_all(Show *w, const Type *type, Value v, ShowFn one) {
  VEC_INIT(&w->stack, w->s->mem);
  push_value(w, type, v);
  while (w->stack.len && !mem_exhausted(w->s->mem)) {
    Piece p = VEC_POP(&w->stack);
    if (p.text) {
      strbuf_add(w->out, p.text);
    } else if (w->limit && w->shown >= w->limit) {
      strbuf_add(w->out, "...");
    } else {
      w->shown++;
      one(w, p.type, p.value);
    }
  }
  VEC_DONE(&w->stack);
}

/* --- Display form ------------------------------------------------------- */

static void show_tensor(Show *w, const Tensor *t) {
  tensor_print_type(w->out, t);
  StrBuf block;
  strbuf_init(&block, w->s->mem);
  tensor_print_block(&block, t, w->width, 0);
  bool lines = memchr(strbuf_text(&block), '\n', block.len) != NULL;
  strbuf_add_char(w->out, lines ? '\n' : ' ');
  strbuf_add(w->out, strbuf_text(&block));
  strbuf_done(&block);
}

static void show_function(Show *w, const Type *type) {
  strbuf_add_char(w->out, '<');
  type_print(w->s->code->program->types, w->out, type, 200);
  strbuf_add_char(w->out, '>');
}

static void show_one(Show *w, const Type *type, Value v) {
  switch (type->kind) {
    case TY_TENSOR:
      if (type->rank == 0) {
        scalar_print_literal(w->out, (DType)type->dtype, v);
      } else {
        show_tensor(w, v.tensor);
      }
      break;
    case TY_TUPLE:
      if (type->count == 0) {
        strbuf_add(w->out, "()");
      } else {
        push_fields(w, type, v, "(", type->count == 1 ? ",)" : ")");
      }
      break;
    case TY_ADT:
      strbuf_add(w->out, ctor_of(type, v)->name->text);
      if (field_count(type, v)) push_fields(w, type, v, "(", ")");
      break;
    case TY_REF: push_fields(w, type, v, "ref(", ")"); break;
    case TY_FN: show_function(w, type); break;
    default: strbuf_add(w->out, "_"); break;
  }
}

void value_print(Session *s, StrBuf *out, const Type *type, Value v,
                 int width, size_t limit) {
  Show w = {.s = s, .out = out, .width = width, .limit = limit};
  show_all(&w, type, v, show_one);
}

/* --- JSON --------------------------------------------------------------- */

static void json_ctor(Show *w, const Type *type, Value v) {
  const Name *name = ctor_of(type, v)->name;
  strbuf_add(w->out, "{\"constructor\": \"");
  strbuf_add_escaped(w->out, name->text, name->len);
  strbuf_add(w->out, "\", \"fields\": ");
  if (field_count(type, v)) {
    push_fields(w, type, v, "[", "]}");
  } else {
    strbuf_add(w->out, "[]}");
  }
}

static void json_tensor(Show *w, const Type *type, Value v) {
  if (type->rank > 0) {
    tensor_print_json(w->out, v.tensor);
    return;
  }
  Tensor t = tensor_on_bits((DType)type->dtype, &v);
  tensor_print_json(w->out, &t);
}

static void json_one(Show *w, const Type *type, Value v) {
  switch (type->kind) {
    case TY_TENSOR: json_tensor(w, type, v); break;
    case TY_TUPLE:
      if (type->count == 0) {
        strbuf_add(w->out, "{\"tuple\": []}");
      } else {
        push_fields(w, type, v, "{\"tuple\": [", "]}");
      }
      break;
    case TY_ADT: json_ctor(w, type, v); break;
    case TY_REF: push_fields(w, type, v, "{\"ref\": ", "}"); break;
    default: strbuf_add(w->out, "{\"closure\": true}"); break;
  }
}

void value_print_json(Session *s, StrBuf *out, const Type *type, Value v) {
  Show w = {.s = s, .out = out};
  show_all(&w, type, v, json_one);
}

/* --- Equality ----------------------------------------------------------- */

typedef struct Pair {
  const Type *type;
  Value a, b;
} Pair;

static bool same_node(const Type *type, Value a, Value b) {
  switch (type->kind) {
    case TY_TENSOR: {
      if (type->rank > 0) return tensor_same(a.tensor, b.tensor);
      Tensor x = tensor_on_bits((DType)type->dtype, &a);
      Tensor y = tensor_on_bits((DType)type->dtype, &b);
      return tensor_same(&x, &y);
    }
    case TY_ADT: return a.obj->tag == b.obj->tag;
    case TY_TUPLE: case TY_REF: return true;
    default: return a.bits == b.bits;
  }
}

bool value_equal(Session *s, const Type *type, Value a, Value b) {
  VEC(Pair) stack;
  VEC_INIT(&stack, s->mem);
  VEC_PUSH(&stack, (Pair){type, a, b});
  bool same = true;
  while (same && stack.len) {
    Pair p = VEC_POP(&stack);
    same = same_node(p.type, p.a, p.b);
    int n = same ? field_count(p.type, p.a) : 0;
    for (int i = n; i-- > 0;) {
      const Type *field;
      Value x = value_field(s, p.type, p.a, i, &field);
      Value y = value_field(s, p.type, p.b, i, &field);
      VEC_PUSH(&stack, (Pair){field, x, y});
    }
  }
  VEC_DONE(&stack);
  return same && !mem_exhausted(s->mem);
}
