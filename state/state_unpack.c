/* Builds cells from skeletons and named tensors (state_pack.c writes them).
 * All contents are read and built before the first cell is written, so a state
 * is set as a whole or not at all.
 *
 * The types of the running program direct the reading: at each place it is
 * known what must come, and the text may only say which constructor, how many
 * tensors, which cell.  A skeleton is untrusted input; whatever does not fit is
 * a message and never an assumption.
 *
 * Three phases:
 *
 *   match_all   which packed cell is which cell of the program, by path and
 *               type; what has no partner is a difference
 *   build_all   reads the content of each wanted cell into new values
 *   write_all   puts the contents into their cells
 *
 * A content is read by a machine with an explicit stack, since terms may be as
 * deep as lists are long.  `open` holds the terms whose fields are being read,
 * `values` the fields that are finished:
 *
 *   reading    Cons(#1, Cons(#2, |Nil))
 *   open       [Cons, 1 of 2] [Cons, 1 of 2]
 *   values     1  2
 *
 * Where `*k` is met for the first time, the skeleton at hand is suspended
 * (Waiting) and k's is read on the same stacks, from `base` on; a part that is
 * still being read when it is met again would be a cycle, which constructors
 * cannot form.
 *
 * Cells that only a content leads to, and the program does not have yet, are
 * made (create_cell) and their contents are wanted in turn: a worklist. */
#include "state/state.h"
#include "vm/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The destination of one packed cell. */
typedef struct Target {
  const PackedCell *packed;
  RefCell *cell;     /* owned; NULL until it is known */
  const Type *type;  /* the cell's type */
  const Type *holds; /* that of its content */
  bool created;      /* made here, because only some content refers to it */
  bool built;
  Value content;
} Target;

/* A tuple or constructor whose fields are being read. */
typedef struct Open {
  const Type *type;
  int tag, count, filled;
  const char *name; /* as in state_pack.c */
  bool numbered;
} Open;

/* A shared object: built when the first skeleton refers to it. */
typedef struct Part {
  const Type *type; /* NULL until it is built */
  Value value;      /* owned */
  bool open;        /* being built, so a reference to it is a cycle */
} Part;

/* A skeleton suspended while a shared one that it refers to is built. */
typedef struct Waiting {
  const char *at;
  size_t count, base;
  size_t part; /* the shared skeleton being built */
  Open head;
} Waiting;

typedef struct Builder {
  StateUnpacker *u;
  Session *s;
  StateList list; /* of the session before the change */
  Target *targets;
  const StateCell **by_path;
  VEC(size_t) wanted; /* indices of the targets to read */
  /* The state of reading one skeleton. */
  Target *now;
  const char *at;
  Arena names;
  VEC(Open) open;
  size_t base; /* entries of `open` below it belong to suspended skeletons */
  VEC(Waiting) waiting;
  Part *parts;
  VEC(Value) values; /* finished fields of the open entries */
  VEC(const Type *) types;
  PtrMap agreed; /* constructors that are declared as in the state */
  size_t count;
  char why[256]; /* why the content does not fit */
} Builder;

static bool misfit(Builder *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Notes why the content does not fit; who asked decides whether that is an
 * error or a line of the report. */
static bool misfit(Builder *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(b->why, sizeof b->why, format, args);
  va_end(args);
  return false;
}

static bool short_of_memory(Builder *b) {
  mem_raise_exhausted(b->u->mem);
  return misfit(b, "memory is short");
}

/* In an arena that is released with each content. */
static const char *type_text(Builder *b, const Type *type) {
  StrBuf text;
  strbuf_init(&text, b->u->mem);
  type_print(b->s->code->program->types, &text, type, TYPE_TEXT_MOST);
  const char *copy = arena_strndup(&b->names, strbuf_text(&text), text.len);
  strbuf_done(&text);
  return copy ? copy : "";
}

/* --- Tensors ------------------------------------------------------------ */

/* Dimensions that the type leaves open fit any length. */
static bool tensor_fits(Builder *b, const Tensor *t, const Type *type,
                        const char *name) {
  bool any = type->any_rank;
  bool fits = t->dtype == type->dtype && (any || t->rank == type->rank);
  for (int i = 0; !any && fits && i < t->rank; i++)
    fits = !dim_is_number(type->dims[i]) || dim_is(type->dims[i], t->shape[i]);
  if (fits) return true;
  StrBuf text;
  strbuf_init(&text, b->u->mem);
  tensor_print_type(&text, t);
  misfit(b, "`%s` is %s, not %s", name, strbuf_text(&text), type_text(b, type));
  strbuf_done(&text);
  return false;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bits that are no element are refused: a bool must be 0 or 1.  Counting
 * to 17 is how a number of too many digits is noticed. */
static bool read_bits(Builder *b, const Type *type, Value *out) {
  uint64_t bits = 0;
  int digits = 0;
  for (int d; (d = hex_digit(*++b->at)) >= 0 && digits < 17; digits++)
    bits = bits << 4 | (uint64_t)d;
  Value element = bits_load((DType)type->dtype, &bits);
  if (digits < 1 || digits > 16 || element.bits != bits ||
      !bits_are_valid((DType)type->dtype, element))
    return misfit(b, "its skeleton has no %s there",
                  dtype_name((DType)type->dtype));
  *out = element;
  return true;
}

/* Copied: the file's tensors are not the session's to change. */
static bool read_tensor(Builder *b, const Type *type, const char *name,
                        Value *out) {
  if (*b->at++ != '_') return misfit(b, "its skeleton has no tensor there");
  const Tensor *t = name ? b->u->tensor(b->u->data, name) : NULL;
  if (!t) return misfit(b, "the tensor `%s` is missing", name ? name : "");
  if (!tensor_fits(b, t, type, name)) return false;
  if (type_is_scalar(type)) {
    *out = tensor_bits_at(t, 0);
    return true;
  }
  out->tensor = tensor_copy(&b->s->store.heap, t);
  return out->tensor || short_of_memory(b);
}

/* --- Cells within content ----------------------------------------------- */

/* Makes a cell that the program does not have yet.  The content is 0 until it
 * has been built; nobody looks into the cell before. */
static RefCell *create_cell(Builder *b, const Type *type) {
  return cell_of_type(b->s, type, (Value){.bits = 0});
}

/* All references to one packed cell give one cell, whatever was met first; they
 * must agree on its type. */
static bool read_ref(Builder *b, const Type *type, Value *out) {
  if (*b->at++ != '&' || !isdigit((unsigned char)*b->at))
    return misfit(b, "its skeleton has no cell there");
  char *end;
  unsigned long long i = strtoull(b->at, &end, 10);
  b->at = end;
  if (i >= b->u->count) return misfit(b, "its skeleton names no cell");
  Target *t = &b->targets[i];
  if (!t->cell) {
    if (strcmp(t->packed->type, type_text(b, type)))
      return misfit(b, "it leads to a cell of another type");
    t->cell = create_cell(b, type);
    if (!t->cell) return short_of_memory(b);
    t->type = type;
    t->holds = type->args[0];
    t->created = true;
    VEC_PUSH(&b->wanted, (size_t)i);
  }
  if (t->type != type) return misfit(b, "it leads to a cell of another type");
  obj_keep(&t->cell->obj);
  out->obj = &t->cell->obj;
  return true;
}

/* --- Tuples and constructors -------------------------------------------- */

static bool read_char(Builder *b, char c) {
  if (*b->at != c) return misfit(b, "its skeleton lacks a `%c`", c);
  b->at++;
  return true;
}

/* The declaration of a constructor of this name in the state that is like ours;
 * else the first; NULL: there is none.  At the prompt a data type may have been
 * declared twice. */
static const PackedCtor *told_of(Builder *b, const char *name,
                                 const char *fields) {
  const PackedCtor *first = NULL;
  for (size_t i = 0; i < b->u->ctor_count; i++) {
    const PackedCtor *c = &b->u->ctors[i];
    if (strcmp(c->name, name)) continue;
    if (!strcmp(c->fields, fields)) return c;
    if (!first) first = c;
  }
  return first;
}

static bool look_at_ctor(Builder *b, const Ctor *ctor) {
  StrBuf fields;
  strbuf_init(&fields, b->u->mem);
  state_ctor_print(b->s, &fields, ctor);
  const char *name =
      arena_printf(&b->names, "%s.%s", ctor->adt->name->text, ctor->name->text);
  const PackedCtor *told = name ? told_of(b, name, strbuf_text(&fields)) : NULL;
  bool agrees = !told || !strcmp(told->fields, strbuf_text(&fields));
  if (!agrees)
    misfit(b, "`%s` has the fields (%.80s), and had (%.80s)", name,
           strbuf_text(&fields), told->fields);
  strbuf_done(&fields);
  return agrees;
}

/* Is the constructor declared as it was?  Only those that disagree are looked
 * at again, for the message. */
static bool ctor_agrees(Builder *b, const Ctor *ctor) {
  if (!b->u->ctor_count || !state_tells_ctor(ctor)) return true;
  if (ptrmap_has(&b->agreed, ctor)) return true;
  if (!look_at_ctor(b, ctor)) return false;
  ptrmap_put(&b->agreed, ctor, b);
  return true;
}

/* The name ends where a term's text goes on. */
static bool read_ctor(Builder *b, const Type *type, int *tag) {
  size_t n = 0;
  while (b->at[n] && !strchr("(), ", b->at[n])) n++;
  const Adt *adt = type->adt;
  for (int i = 0; i < adt->ctor_count; i++) {
    const Name *name = adt->ctors[i].name;
    if (name->len != n || memcmp(name->text, b->at, n)) continue;
    b->at += n;
    *tag = i;
    return ctor_agrees(b, &adt->ctors[i]);
  }
  return misfit(b, "`%s` has no constructor `%.*s`", adt->name->text,
                (int)(n < 40 ? n : 40), b->at);
}

/* Reads the head of a tuple or constructor.  `*whole`: it has no fields, so
 * `*out` is the value.  Fields are then read one by one (add_field). */
static bool read_head(Builder *b, Open o, bool *whole, Value *out) {
  o.count = o.type->count;
  *whole = false;
  if (o.type->kind == TY_ADT) {
    if (!read_ctor(b, o.type, &o.tag)) return false;
    o.count = o.type->adt->ctors[o.tag].field_count;
    o.numbered = true;
  } else if (!o.count && (!read_char(b, '(') || !read_char(b, ')'))) {
    return false;
  }
  if (!o.count) {
    *whole = true;
    return value_cell(&b->s->store, o.tag, 0, NULL, NULL, out) ||
           short_of_memory(b);
  }
  if (!read_char(b, '(')) return false;
  VEC_PUSH(&b->open, o);
  return !mem_exhausted(b->u->mem) || short_of_memory(b);
}

/* A shared skeleton is complete: the suspended one continues.  It is kept as
 * the part's value, for whoever refers to it next. */
static bool end_part(Builder *b, const Type *type, Value v) {
  Waiting w = VEC_POP(&b->waiting);
  Part *part = &b->parts[w.part];
  part->open = false;
  bool whole = !*b->at;
  b->at = w.at;
  b->count = w.count;
  b->base = w.base;
  if (!whole) {
    value_drop(&b->s->store, type, v);
    return misfit(b, "a shared skeleton is too long");
  }
  /* built already at another type: this copy is not shared */
  if (part->type) return true;
  value_keep(type, v);
  part->type = type;
  part->value = v;
  return true;
}

/* Adds a field to the innermost open entry, and closes the entries that it
 * completes.  `*done`: the outermost one is complete.  A value is finished.  It
 * may be the last field of the innermost term, which is then a value itself,
 * and so on outwards: hence the loop.  At the bottom of a shared skeleton the
 * suspended one gets the value. */
static bool add_field(Builder *b, const Type *type, Value v, bool *done,
                      Value *out) {
  for (;;) {
    while (b->open.len == b->base && b->waiting.len)
      if (!end_part(b, type, v)) return false;
    if (!b->open.len) {
      *done = true;
      *out = v;
      return true;
    }
    if (!VEC_RESERVE(&b->values, 1) || !VEC_RESERVE(&b->types, 1)) {
      value_drop(&b->s->store, type, v);
      return short_of_memory(b);
    }
    VEC_PUSH(&b->values, v);
    VEC_PUSH(&b->types, type);
    Open *o = &VEC_LAST(&b->open);
    if (++o->filled < o->count) return read_char(b, ',') && read_char(b, ' ');
    if (!read_char(b, ')')) return false;
    size_t n = (size_t)o->count;
    b->values.len -= n;
    b->types.len -= n;
    if (!value_cell(&b->s->store, o->tag, o->count,
                    b->types.data + b->types.len,
                    b->values.data + b->values.len, &v))
      return short_of_memory(b);
    type = o->type;
    b->open.len--;
  }
}

/* The innermost open entry's next field, as the place to read.  Where a shared
 * skeleton begins, its head. */
static Open next_field(Builder *b) {
  if (b->open.len == b->base) return VEC_LAST(&b->waiting).head;
  const Open *o = &VEC_LAST(&b->open);
  Open field = {.name = o->name, .numbered = o->numbered};
  field.type = o->type->kind == TY_ADT
                   ? value_ctor_field(&b->s->store, o->type, o->tag, o->filled)
                   : o->type->args[o->filled];
  if (!field.numbered)
    field.name = arena_printf(&b->names, "%s.%d", o->name, o->filled);
  return field;
}

/* `*k`: the shared value if it is built; else suspends this skeleton and starts
 * on that one.  One object may be shared at two types, when its own is
 * polymorphic; then the skeleton is read once for each. */
static bool read_shared(Builder *b, const Type *type, bool *whole, Value *out) {
  if (!isdigit((unsigned char)b->at[1]))
    return misfit(b, "its skeleton shares nothing there");
  char *end;
  unsigned long long k = strtoull(b->at + 1, &end, 10);
  b->at = end;
  if (k >= b->u->shared_count)
    return misfit(b, "its skeleton shares what is missing");
  Part *part = &b->parts[k];
  if (part->type == type) {
    value_keep(type, part->value);
    *out = part->value;
    return true;
  }
  if (part->open) return misfit(b, "a shared skeleton leads back to itself");
  if (!*b->u->shared[k]) return misfit(b, "it held a function");
  if (!VEC_RESERVE(&b->waiting, 1)) return short_of_memory(b);
  Open head = {.type = type, .numbered = true};
  head.name = arena_printf(&b->names, "*%llu", k);
  VEC_PUSH(&b->waiting, (Waiting){.at = b->at,
                                  .count = b->count,
                                  .base = b->base,
                                  .part = (size_t)k,
                                  .head = head});
  part->open = true;
  b->at = b->u->shared[k];
  b->count = 0;
  b->base = b->open.len;
  *whole = false;
  return true;
}

/* --- One content -------------------------------------------------------- */

/* Reads a tensor or a cell, or the head of a tuple or constructor. */
static bool read_value(Builder *b, Open o, bool *whole, Value *out) {
  *whole = true;
  bool object = o.type->kind == TY_TUPLE || o.type->kind == TY_ADT;
  if (object && o.numbered && *b->at == '*')
    return read_shared(b, o.type, whole, out);
  switch (o.type->kind) {
    case TY_TENSOR:
      if (o.numbered && *b->at == '#' && type_is_scalar(o.type))
        return read_bits(b, o.type, out);
      if (o.numbered)
        o.name = arena_printf(&b->names, "%s#%zu", o.name, b->count++);
      return read_tensor(b, o.type, o.name, out);
    case TY_REF: return read_ref(b, o.type, out);
    case TY_TUPLE:
    case TY_ADT: return read_head(b, o, whole, out);
    default: return misfit(b, "it is to hold a function");
  }
}

/* Each round reads one value or one head; a stop is asked for in each, as the
 * text may be long. */
static bool read_all(Builder *b, Value *out) {
  const Target *t = b->now;
  if (!*b->at) return misfit(b, "it held a function");
  const Type *content = t->holds;
  Open o = {.type = content, .name = t->packed->path};
  if (content->kind != TY_TENSOR)
    o.name = arena_printf(&b->names, "%s^", t->packed->path);
  for (bool done = false; !done;) {
    bool whole;
    Value v;
    if (store_should_stop(&b->s->store)) return misfit(b, "time is over");
    if (!read_value(b, o, &whole, &v)) return false;
    if (whole && !add_field(b, o.type, v, &done, out)) return false;
    if (!done) o = next_field(b);
  }
  if (!*b->at) return true;
  value_drop(&b->s->store, content, *out);
  return misfit(b, "its skeleton is too long");
}

/* Whatever happened, the stacks are empty afterwards: fields that were read
 * before a misfit are dropped, and parts that were open can be begun again. */
static bool read_content(Builder *b, Target *t) {
  b->now = t;
  b->at = t->packed->skeleton;
  b->count = 0;
  t->built = read_all(b, &t->content);
  while (b->values.len)
    value_drop(&b->s->store, VEC_POP(&b->types), VEC_POP(&b->values));
  VEC_CLEAR(&b->open);
  while (b->waiting.len) b->parts[VEC_POP(&b->waiting).part].open = false;
  b->base = 0;
  arena_done(&b->names);
  return t->built;
}

/* --- Which cell is which ------------------------------------------------ */

static int by_path(const void *a, const void *b) {
  return strcmp((*(const StateCell *const *)a)->path,
                (*(const StateCell *const *)b)->path);
}

/* A file has thousands of cells, so paths are looked up by binary search. */
static bool sort_cells(Builder *b) {
  size_t n = b->list.cells.len;
  b->by_path = arena_array(&b->list.arena, n + 1, sizeof *b->by_path);
  if (!b->by_path) return false;
  for (size_t i = 0; i < n; i++) b->by_path[i] = &b->list.cells.data[i];
  qsort(b->by_path, n, sizeof *b->by_path, by_path);
  return true;
}

static const StateCell *find_cell(const Builder *b, const char *path) {
  StateCell key = {.path = path};
  const StateCell *p = &key;
  const StateCell **found =
      bsearch(&p, b->by_path, b->list.cells.len, sizeof *b->by_path, by_path);
  return found ? *found : NULL;
}

/* Three columns with tabs between them: what, path, why. */
static void report(Builder *b, const char *what, const char *path,
                   const char *why) {
  StrBuf *out = b->u->report;
  if (!out) return;
  strbuf_addf(out, "%s\t", what);
  strbuf_add_visible(out, path, strlen(path));
  strbuf_add_char(out, '\t');
  strbuf_add_visible(out, why, strlen(why));
  strbuf_add_char(out, '\n');
}

/* Reports a difference: an error in strict mode, otherwise a line of the
 * report. */
static bool differs(Builder *b, const char *what, const char *path,
                    const char *why) {
  report(b, what, path, why);
  if (b->u->report) return true;
  diag_error(b->u->diags, E0504, SPAN_NONE,
             "%s does not fit the program: "
             "cell `%s`: %s",
             b->u->label, path, why);
  return false;
}

/* A cell inside another one may be replaced by a new one with its content, so
 * it may come and go without being a difference. */
static bool is_nested(const char *path) { return strchr(path, '^'); }

/* The same path and the same type, as text: the file's types are from another
 * run of the program. */
static bool match_one(Builder *b, size_t i) {
  Target *t = &b->targets[i];
  const PackedCell *packed = t->packed = &b->u->cells[i];
  const StateCell *cell = find_cell(b, packed->path);
  const char *type = cell && cell->type ? type_text(b, cell->type) : "";
  if (cell && !strcmp(type, packed->type)) {
    obj_keep(&cell->cell->obj);
    t->cell = cell->cell;
    t->type = cell->type;
    t->holds = cell->type->args[0];
    VEC_PUSH(&b->wanted, i);
    return true;
  }
  if (is_nested(packed->path)) return true;
  char why[256];
  if (!cell)
    snprintf(why, sizeof why, "the program has none, of %s", packed->type);
  else snprintf(why, sizeof why, "it is %s, and was %s", type, packed->type);
  return differs(b, cell ? "changed" : "dropped", packed->path, why);
}

/* Handles the program's cells that the source does not have. */
static bool match_rest(Builder *b) {
  PtrMap found;
  ptrmap_init(&found, b->u->mem);
  bool ok = true;
  for (size_t i = 0; i < b->u->count; i++) {
    const StateCell *cell = find_cell(b, b->u->cells[i].path);
    if (cell) ptrmap_put(&found, cell, b);
  }
  for (size_t i = 0; ok && i < b->list.cells.len; i++) {
    const StateCell *cell = &b->list.cells.data[i];
    if (!cell->nested && !ptrmap_has(&found, cell))
      ok = differs(b, "added", cell->path, "it was not there before");
  }
  ptrmap_done(&found);
  return ok;
}

/* First the source's cells, then the program's own that are left. */
static bool match_all(Builder *b) {
  for (size_t i = 0; i < b->u->count; i++)
    if (!match_one(b, i)) return false;
  return match_rest(b);
}

/* --- All of it ---------------------------------------------------------- */

/* Strict: the first misfit is an error.  Otherwise it is a line of the report,
 * and that cell keeps what it had. */
static bool build_all(Builder *b) {
  /* the loop's body may append to it */
  for (size_t i = 0; i < b->wanted.len; i++) {
    Target *t = &b->targets[b->wanted.data[i]];
    bool fits = read_content(b, t);
    bool top = !is_nested(t->packed->path);
    if (store_should_stop(&b->s->store)) return false;
    if (fits && top) report(b, "kept", t->packed->path, t->packed->type);
    /* A new cell cannot exist without a content. */
    if (!fits && (!b->u->report || t->created)) {
      diag_error(b->u->diags, E0504, SPAN_NONE,
                 "%s does not fit the program: "
                 "cell `%s`: %s",
                 b->u->label, t->packed->path, b->why);
      return false;
    }
    if (!fits && top) report(b, "changed", t->packed->path, b->why);
  }
  return !store_should_stop(&b->s->store);
}

/* Cannot fail.  The old contents are dropped. */
static void write_all(Builder *b) {
  for (size_t i = 0; i < b->u->count; i++) {
    Target *t = &b->targets[i];
    if (t->built) cell_set_take(b->s, t->cell, t->content);
    t->built = false;
  }
}

/* After write_all() no target is `built`, so contents that were moved are not
 * dropped. */
static void builder_done(Builder *b) {
  for (size_t i = 0; b->targets && i < b->u->count; i++) {
    Target *t = &b->targets[i];
    if (t->built) value_drop(&b->s->store, t->holds, t->content);
    if (t->cell) obj_drop(&b->s->store, &t->cell->obj);
  }
  for (size_t i = 0; b->parts && i < b->u->shared_count; i++) {
    const Part *part = &b->parts[i];
    if (part->type) value_drop(&b->s->store, part->type, part->value);
  }
  mem_free(b->u->mem, b->parts, b->u->shared_count * sizeof *b->parts);
  mem_free(b->u->mem, b->targets, b->u->count * sizeof *b->targets);
  VEC_DONE(&b->waiting);
  VEC_DONE(&b->wanted);
  VEC_DONE(&b->open);
  VEC_DONE(&b->values);
  VEC_DONE(&b->types);
  ptrmap_done(&b->agreed);
  arena_done(&b->names);
}

/* False: memory ran out; builder_done() is due in any case. */
static bool builder_init(Builder *b, StateUnpacker *u) {
  *b = (Builder){.u = u, .s = u->session};
  Mem *mem = u->mem;
  VEC_INIT(&b->wanted, mem);
  VEC_INIT(&b->open, mem);
  VEC_INIT(&b->waiting, mem);
  VEC_INIT(&b->values, mem);
  VEC_INIT(&b->types, mem);
  arena_init(&b->names, mem);
  ptrmap_init(&b->agreed, mem);
  size_t bytes = 0;
  bool ok = size_mul(u->count, sizeof *b->targets, &bytes);
  b->targets = ok ? mem_alloc_zeroed(mem, bytes) : NULL;
  ok = ok && size_mul(u->shared_count, sizeof *b->parts, &bytes);
  b->parts = ok ? mem_alloc_zeroed(mem, bytes) : NULL;
  return b->targets && b->parts;
}

bool state_unpack(StateUnpacker *u) {
  Builder b;
  bool ok = builder_init(&b, u);
  ok = state_list(b.s, true, &b.list) && ok;
  ok = ok && sort_cells(&b) && match_all(&b) && build_all(&b);
  if (ok) write_all(&b);
  builder_done(&b);
  state_list_done(&b.list);
  return ok;
}

bool state_unpack_value(StateUnpacker *u, const Type *type, Value *out) {
  Builder b;
  bool ok = builder_init(&b, u) && u->count == 1;
  if (ok) {
    Target *t = &b.targets[0];
    t->packed = u->cells;
    t->holds = type;
    ok = read_content(&b, t);
    *out = t->content;
    t->built = false; /* it is the caller's */
  }
  builder_done(&b);
  return ok;
}
