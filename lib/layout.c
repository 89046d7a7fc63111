/* Layouts: values of tuples and data types as the parts that they are made of,
 * named by path (path.c), for hosts that hand them over one by one.
 *
 *   A tensor                       part `x`
 *   (A, B)                         `x.0`, `x.1`
 *   Pair(left: A, right: B)        `x.left`, `x.right`
 *   Option[A]                      `x`, which may be missing
 *
 * A layout is a tree in one array, each node before its fields, made once for a
 * type.  Making or taking apart a value goes over that array: no name and no
 * type is looked up for a value. */
#include <string.h>

#include "lib/path.h"

enum {
  NODES_MAX = 10000, /* a type's tree may be larger than the type */
};

typedef enum NodeKind { NODE_PART, NODE_FIELDS, NODE_OPTION } NodeKind;

typedef struct Node {
  NodeKind kind;
  const Type *type;
  const Ctor *ctor;      /* NODE_FIELDS of a data type; Some of NODE_OPTION */
  int count;             /* fields; 1 of an option */
  const Type **fields;   /* their types */
  size_t part, part_end; /* the parts below: [part, part_end) */
} Node;

typedef struct Part {
  const char *path;
  const Type *type;
  bool optional;
} Part;

struct rly_layout {
  rly_program *program;
  Arena arena;
  VEC(Node) nodes;
  VEC(Part) parts;
};

/* --- Making one ---------------------------------------------------------- */

typedef struct Maker {
  rly_program *p;
  rly_layout *l;
  rly_parts what;
  int depth;
  bool optional; /* below an option */
} Maker;

static bool refuse_type(Maker *m, const char *path, const Type *t,
                        const char *why) {
  StrBuf out;
  strbuf_init(&out, m->p->mem);
  type_print(m->p->ir->types, &out, t, TYPE_TEXT_LINE);
  diag_error(m->p->ir->diags, E0504, SPAN_NONE, "`%.200s` is of type %s: %s",
             *path ? path : "the value", strbuf_text(&out), why);
  strbuf_done(&out);
  return false;
}

static bool make(Maker *m, const char *path, const Type *t);

static bool make_part(Maker *m, const char *path, const Type *t) {
  rly_layout *l = m->l;
  VEC_PUSH(&l->nodes,
           (Node){.kind = NODE_PART, .type = t, .part = l->parts.len});
  VEC_PUSH(&l->parts, (Part){path, t, m->optional});
  return !mem_exhausted(m->p->mem);
}

static bool make_fields(Maker *m, const char *path, const Type *t,
                        const Ctor *ctor) {
  rly_layout *l = m->l;
  int n = ctor ? ctor->field_count : t->count;
  bool option = ctor && path_some_of(ctor->adt) == ctor;
  const Type **fields = ARENA_ARRAY(&l->arena, const Type *, (size_t)n + 1);
  if (!fields) return false;
  size_t at = l->nodes.len;
  VEC_PUSH(&l->nodes, (Node){.kind = option ? NODE_OPTION : NODE_FIELDS,
                             .type = t,
                             .ctor = ctor,
                             .count = n,
                             .fields = fields,
                             .part = l->parts.len});
  bool optional = m->optional, ok = !mem_exhausted(m->p->mem);
  m->optional |= option;
  m->depth++;
  for (int i = 0; ok && i < n; i++) {
    fields[i] = ctor ? path_field_type(m->p, t, ctor, i) : t->args[i];
    const char *below = ctor ? path_of_field(&m->p->arena, path, ctor, i)
                             : path_join_index(&m->p->arena, path, i);
    ok = make(m, below, fields[i]);
  }
  m->depth--;
  m->optional = optional;
  if (ok) l->nodes.data[at].part_end = l->parts.len;
  return ok;
}

/* Of parts that need not be tensors, options are such as they are: a list or a
 * choice has no fixed number of tensors. */
static bool make(Maker *m, const char *path, const Type *t) {
  bool tensors = m->what == RLY_TENSORS;
  if (m->depth > PATH_DEPTH_MAX || m->l->nodes.len >= NODES_MAX)
    return refuse_type(m, path, t, "it has too many parts");
  if (t->kind == TY_TUPLE) return make_fields(m, path, t, NULL);
  const Adt *adt = t->kind == TY_ADT ? t->adt : NULL;
  if (adt && adt->ctor_count == 1) return make_fields(m, path, t, adt->ctors);
  const Ctor *some = adt && tensors ? path_some_of(adt) : NULL;
  if (some) return make_fields(m, path, t, some);
  if (t->kind == TY_TENSOR || !tensors) return make_part(m, path, t);
  return refuse_type(m, path, t, "it is not made of a fixed number of tensors");
}

static void layout_free(rly_layout *l) {
  rly_program *p = l->program;
  VEC_DONE(&l->nodes);
  VEC_DONE(&l->parts);
  arena_done(&l->arena);
  mem_free(p->mem, l, sizeof *l);
  program_drop(p);
}

static rly_layout *layout_new(rly_program *p, const char *name, const Type *t,
                              rly_parts what) {
  rly_layout *l = mem_alloc(p->mem, sizeof *l);
  if (!l) {
    mem_raise_exhausted(p->mem);
    return NULL;
  }
  *l = (rly_layout){.program = p};
  atomic_fetch_add(&p->refs, 1);
  arena_init(&l->arena, p->mem);
  VEC_INIT(&l->nodes, p->mem);
  VEC_INIT(&l->parts, p->mem);
  Maker m = {.p = p, .l = l, .what = what};
  const char *path = arena_strndup(&p->arena, name, strlen(name));
  if (path && make(&m, path, t)) return l;
  layout_free(l);
  return NULL;
}

rly_status rly_layout_new(rly_program *p, const rly_type *t, const char *name,
                          rly_parts what, rly_layout **out) {
  if (!require(program_has_type(p, t), "it is no type of the program") ||
      !require(name, "the name is NULL") ||
      !require(what == RLY_TENSORS || what == RLY_PIECES,
               "there are no such parts") ||
      !require(out, "the result is NULL") || !program_enter(p))
    return RLY_MISUSE;
  rly_layout *l = layout_new(p, name, (const Type *)t, what);
  rly_status status = l ? RLY_OK : program_failed(p, RLY_REFUSED);
  if (l) *out = l;
  program_leave(p);
  return status;
}

void rly_layout_free(rly_layout *l) {
  if (l) layout_free(l);
}

size_t rly_layout_count(const rly_layout *l) { return l ? l->parts.len : 0; }

const char *rly_layout_path(const rly_layout *l, size_t i) {
  return i < rly_layout_count(l) ? l->parts.data[i].path : NULL;
}

const rly_type *rly_layout_type(const rly_layout *l, size_t i) {
  return i < rly_layout_count(l) ? (const rly_type *)l->parts.data[i].type
                                 : NULL;
}

bool rly_layout_optional(const rly_layout *l, size_t i) {
  return i < rly_layout_count(l) && l->parts.data[i].optional;
}

/* --- Values from parts ---------------------------------------------------- */

/* A value in the making: `at` is the next node. */
typedef struct Build {
  rly_session *s;
  const rly_layout *l;
  rly_value *const *parts;
  size_t at;
} Build;

static bool refuse_part(const Build *b, const Part *part, const char *why) {
  StrBuf out;
  strbuf_init(&out, b->s->mem);
  type_print(b->s->program->ir->types, &out, part->type, TYPE_TEXT_LINE);
  diag_error(&b->s->diags, E0504, SPAN_NONE, "`%.200s` %s %s",
             *part->path ? part->path : "the value", why, strbuf_text(&out));
  strbuf_done(&out);
  return false;
}

/* The machine looks at the shapes of arguments, but not at those of tensors
 * within them: it trusts the type of the whole. */
static bool build_part(Build *b, const Node *n, Value *out) {
  const Part *part = &b->l->parts.data[n->part];
  rly_value *v = b->parts[n->part];
  if (!v) return refuse_part(b, part, "is missing, of type");
  if (v->session != b->s || !passes_as(v->type, n->type) ||
      !value_fits(n->type, v->value))
    return refuse_part(b, part, "is given a value of another type than");
  value_keep(v->type, v->value);
  *out = v->value;
  return true;
}

static bool any_given(const Build *b, const Node *n) {
  for (size_t i = n->part; i < n->part_end; i++)
    if (b->parts[i]) return true;
  return false;
}

/* A cell of these fields; false after raising `exhausted`. */
static bool take_cell(Build *b, int tag, int count, const Type *const *types,
                      const Value *fields, Value *out) {
  if (value_cell(store_of(b->s), tag, count, types, fields, out)) return true;
  mem_raise_exhausted(b->s->mem);
  return false;
}

static bool build(Build *b, Value *out);

/* On the stack, where all fields under way together are fewer than NODES_MAX: a
 * stream builds a value for each frame and asks the system for nothing. */
static bool build_fields(Build *b, const Node *n, Value *out) {
  Store *store = store_of(b->s);
  Value fields[n->count + 1];
  int made = 0;
  while (made < n->count && build(b, &fields[made])) made++;
  int tag = n->ctor ? n->ctor->tag : 0;
  if (made == n->count)
    return take_cell(b, tag, n->count, n->fields, fields, out);
  while (made-- > 0) value_drop(store, n->fields[made], fields[made]);
  return false;
}

/* The nodes below one whose parts are left out. */
static void skip(Build *b, const Node *n) {
  int left = n->count;
  while (left-- > 0) left += b->l->nodes.data[b->at++].count;
}

static bool build(Build *b, Value *out) {
  const Node *n = &b->l->nodes.data[b->at++];
  if (n->kind == NODE_PART) return build_part(b, n, out);
  if (n->kind == NODE_FIELDS || any_given(b, n)) return build_fields(b, n, out);
  skip(b, n);
  const Ctor *none = path_nullary_of(n->ctor->adt);
  return take_cell(b, none->tag, 0, NULL, NULL, out);
}

rly_value *rly_layout_build(const rly_layout *l, rly_session *s,
                            rly_value *const *parts) {
  if (!require(l, "the layout is NULL") || !require(s, "the session is NULL") ||
      !require(s->program == l->program, "the layout is another program's") ||
      !require(parts || !l->parts.len, "the list of parts is NULL") ||
      !session_hold(s))
    return NULL;
  Build b = {.s = s, .l = l, .parts = parts};
  Value v;
  rly_value *handle = NULL;
  if (!s->freed && build(&b, &v))
    session_give_take(s, l->nodes.data[0].type, v, &handle);
  else session_failed(s, RLY_REFUSED);
  session_release(s);
  return handle;
}

/* --- Parts of a value ----------------------------------------------------- */

static bool split(Build *b, Value v, rly_value **parts) {
  const Node *n = &b->l->nodes.data[b->at++];
  if (n->kind == NODE_PART) {
    value_keep(n->type, v);
    parts[n->part] = value_handle_take(b->s, n->type, v);
    return parts[n->part] != NULL;
  }
  if (n->kind == NODE_OPTION && v.obj->tag != n->ctor->tag) {
    skip(b, n);
    return true;
  }
  for (int i = 0; i < n->count; i++) {
    const Type *type;
    Value field = value_field(store_of(b->s), n->type, v, i, &type);
    if (!split(b, field, parts)) return false;
  }
  return true;
}

rly_status rly_layout_split(const rly_layout *l, rly_value *v,
                            rly_value **parts) {
  if (!require(l, "the layout is NULL") || !require(v, "the value is NULL") ||
      !require(parts || !l->parts.len, "the room for the parts is NULL") ||
      !require(v->type == l->nodes.data[0].type,
               "the value is not of the layout's type") ||
      !session_hold(v->session))
    return RLY_MISUSE;
  size_t n = l->parts.len;
  for (size_t i = 0; i < n; i++) parts[i] = NULL;
  Build b = {.s = v->session, .l = l};
  bool ok = split(&b, v->value, parts);
  session_release(v->session);
  for (size_t i = 0; !ok && i < n; i++) {
    rly_value_free(parts[i]);
    parts[i] = NULL;
  }
  return ok ? RLY_OK : RLY_LIMIT;
}
