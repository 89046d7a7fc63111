/* rly opt --reduce: a smaller program for which a command still fails, by delta
 * debugging (Zeller and Hildebrandt 2002) over the checked program.
 *
 * The command gets the name of a file, in the place of `{}` or behind its last
 * word; a program is of interest when the command ends with the same status,
 * not 0, as for the whole program.  Tried are, until nothing helps:
 *
 *   items       runs of them are dropped, halves first
 *   nodes       each is replaced by the plainest value of its type, by a node
 *               within it or a parameter that has its type, and a block by
 *               itself without one of its bindings, whose value may go where
 *               its name is used
 *   numbers     one that stands in the text becomes 1 or 2 everywhere, which
 *               shrinks shapes
 *
 * Whatever comes of it is printed and checked; what the checker refuses is of
 * no interest, so nothing here has to know about scopes.  What is kept is read
 * anew, with its types.
 *
 * Nodes are counted as the walk meets them, without callees that are names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/opt_command.h"

enum { PARTS_MAX = 24, LEVELS = 6, ELEMENTS_MAX = 1024 };

typedef VEC(const Expr *) Exprs;

typedef struct Reduce {
  Opt *o;
  const char *command; /* with the file's name in it */
  const char *file;
  int status; /* of the command, when it fails as it should */
  Version v;
  StrBuf text;    /* of v */
  StrBuf tried;   /* the candidate at hand */
  NameTable seen; /* candidates */
  int trials;
  bool changed;
} Reduce;

/* --- Is a text of interest? ----------------------------------------------- */

static bool write_file(const char *path, const StrBuf *text) {
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  bool ok = fwrite(strbuf_text(text), 1, text->len, f) == text->len;
  return fclose(f) == 0 && ok;
}

/* True when the candidate is smaller in some way and the command fails for it;
 * then it is the program.  A text is tried once. */
static bool holds(Reduce *r) {
  Version made;
  Host *h = r->o->h;
  Diags *diags = h->program->ir->diags;
  size_t known = r->seen.len;
  name_intern(&r->seen, strbuf_text(&r->tried), r->tried.len);
  if (r->seen.len == known || mem_exhausted(r->tried.mem)) return false;
  DiagsMark mark = diags_mark(diags);
  bool checks = version_of_text(h, "candidate", strbuf_text(&r->tried),
                                r->tried.len, &made);
  diags_return(diags, mark);
  if (!checks) return false;
  r->trials++;
  if (!write_file(r->file, &r->tried) ||
      exec_status(h, r->command) != r->status) {
    version_done(h, &made);
    return false;
  }
  version_done(h, &r->v);
  r->v = made;
  VEC_CLEAR(&r->text);
  version_print(&r->v, &r->text);
  return r->changed = true;
}

/* The program as it was changed in memory, printed. */
static void print_tried(Reduce *r) {
  VEC_CLEAR(&r->tried);
  version_print(&r->v, &r->tried);
}

/* --- Items ---------------------------------------------------------------- */

static bool is_step(const Item *item) {
  return item->kind == ITEM_LET_GLOBAL || item->kind == ITEM_LET_LOCAL ||
         item->kind == ITEM_EXPR;
}

/* Without the items [from, to).  The unit's own arrays come back after it has
 * been printed. */
static bool try_without(Reduce *r, int from, int to) {
  Unit *u = r->v.unit, whole = *u;
  Item *items = ARENA_ARRAY(&u->arena, Item, (size_t)u->item_count + 1);
  Step *steps = ARENA_ARRAY(&u->arena, Step, (size_t)u->step_count + 1);
  if (!items || !steps) return false;
  int n = 0, m = 0, step = 0;
  for (int i = 0; i < u->item_count; i++) {
    bool kept = i < from || i >= to;
    if (kept) items[n++] = u->items[i];
    if (!is_step(&u->items[i])) continue;
    if (kept) steps[m++] = u->steps[step];
    step++;
  }
  u->items = items;
  u->item_count = n;
  u->steps = steps;
  u->step_count = m;
  print_tried(r);
  u->items = whole.items;
  u->item_count = whole.item_count;
  u->steps = whole.steps;
  u->step_count = whole.step_count;
  return holds(r);
}

/* From the last to the first, since later items use earlier ones. */
static void drop_items(Reduce *r) {
  for (int size = (r->v.unit->item_count + 1) / 2; size > 0; size /= 2)
    for (int to = r->v.unit->item_count; to > 0; to -= size)
      try_without(r, to > size ? to - size : 0, to);
}

/* --- Plain values --------------------------------------------------------- */

static const Expr *plain(Reduce *r, const Type *t, int levels);

static const Expr *plain_tensor(Reduce *r, const Type *t) {
  Program *p = r->v.program->ir;
  int64_t shape[RANK_MAX], count = 1;
  for (int i = 0; i < t->rank; i++) {
    if (!dim_is_number(t->dims[i])) return NULL;
    shape[i] = dim_value(t->dims[i]);
    if (shape[i] > ELEMENTS_MAX || (count *= shape[i]) > ELEMENTS_MAX)
      return NULL;
  }
  Tensor *zeros = tensor_new(p->heap, (DType)t->dtype, t->rank, shape);
  if (!zeros) return NULL;
  memset(zeros->data, 0, (size_t)count * (size_t)dtype_size((DType)t->dtype));
  zeros = program_constant_take(p, zeros);
  return zeros ? expr_const(&r->v.unit->arena, SPAN_NONE, zeros) : NULL;
}

static bool plain_all(Reduce *r, int count, const Type *const *types,
                      int levels, const Expr **out) {
  for (int i = 0; out && i < count; i++)
    if (!(out[i] = plain(r, types[i], levels))) return false;
  return out;
}

static const Expr *plain_adt(Reduce *r, const Type *t, int levels) {
  Arena *arena = &r->v.unit->arena;
  const Adt *adt = t->adt;
  for (int i = 0; i < adt->ctor_count && !adt->is_extern; i++) {
    const Ctor *c = &adt->ctors[i];
    size_t count = (size_t)c->field_count;
    const Type **types = ARENA_ARRAY(arena, const Type *, count + 1);
    const Expr **fields = ARENA_ARRAY(arena, const Expr *, count + 1);
    for (int k = 0; types && k < c->field_count; k++)
      types[k] = type_substitute(r->v.program->ir->types, c->fields[k],
                                 adt->param_count, adt->params, t->args, NULL);
    if (!types || !plain_all(r, c->field_count, types, levels, fields))
      continue;
    Expr *ctor = expr_new(arena, EX_CTOR, SPAN_NONE);
    ctor->ctor = c;
    Expr *call = expr_call(arena, SPAN_NONE, ctor, c->field_count, fields);
    call->sugar = count ? SUGAR_NONE : SUGAR_CTOR;
    return call;
  }
  return NULL;
}

/* The plainest value of a type, without variables; NULL: there is none. */
static const Expr *plain(Reduce *r, const Type *t, int levels) {
  Arena *arena = &r->v.unit->arena;
  Expr *e = NULL;
  if (!t || levels == 0) return NULL;
  if (t->kind == TY_TENSOR) {
    e = (Expr *)plain_tensor(r, t);
  } else if (t->kind == TY_ADT) {
    e = (Expr *)plain_adt(r, t, levels - 1);
  } else if (t->kind == TY_TUPLE || t->kind == TY_REF) {
    const Expr **args = ARENA_ARRAY(arena, const Expr *, (size_t)t->count + 1);
    if (!plain_all(r, t->count, t->args, levels - 1, args)) return NULL;
    e = expr_new(arena, t->kind == TY_REF ? EX_REF : EX_TUPLE, SPAN_NONE);
    e->count = t->count;
    e->args = args;
  }
  if (e) e->type = t;
  return e;
}

/* --- Nodes ---------------------------------------------------------------- */

static bool is_name(const Expr *e) {
  return e->kind == EX_OP || e->kind == EX_GLOBAL || e->kind == EX_CTOR ||
         e->kind == EX_VAR;
}

/* Each expression of the program stands in a slot: the value of a definition,
 * or a step. */
static const Expr **slot_of(Reduce *r, int i, int *step) {
  const Item *item = &r->v.unit->items[i];
  Step *s = is_step(item) ? &r->v.unit->steps[(*step)++] : NULL;
  if (item->kind == ITEM_EXPR) return &s->expr;
  Global *g = s ? s->global : item_global(r->v.program->ir, item);
  return g && !g->scheme && g->value ? &g->value : NULL;
}

static void add_nodes(Mem *mem, const Expr *root, Exprs *out) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, root);
  while (expr_walk_next(&w))
    if (w.role != ROLE_CALLEE || !is_name(w.at)) VEC_PUSH(out, w.at);
  expr_walk_end(&w);
}

static void all_nodes(Reduce *r, Exprs *out) {
  int step = 0;
  VEC_CLEAR(out);
  for (int i = 0; i < r->v.unit->item_count; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (slot) add_nodes(r->text.mem, *slot, out);
  }
}

/* Puts `by` for the node, prints, and takes that back. */
static bool try_instead(Reduce *r, const Expr *node, const Expr *by) {
  Unit *u = r->v.unit;
  VEC(const Expr *) was;
  VEC_INIT(&was, r->text.mem);
  int step = 0;
  for (int i = 0; i < u->item_count; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (!slot) continue;
    VEC_PUSH(&was, *slot);
    ExprMap m;
    expr_map_start(&m, r->text.mem, &u->arena, *slot);
    while (expr_map_next(&m))
      if (m.walk.event == WALK_ENTER && m.walk.at == node) expr_map_put(&m, by);
    const Expr *made = expr_map_end(&m);
    if (made) *slot = made;
  }
  print_tried(r);
  step = 0;
  for (int i = 0, k = 0; i < u->item_count; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (slot) *slot = was.data[k++];
  }
  VEC_DONE(&was);
  return holds(r);
}

/* A block without binding `i`. */
static const Expr *without_binding(Reduce *r, const Expr *e, int i) {
  Arena *arena = &r->v.unit->arena;
  const Block *block = e->block;
  Binding *rest = ARENA_ARRAY(arena, Binding, (size_t)block->count);
  if (!rest || block->count == 1) return block->result;
  int n = 0;
  for (int k = 0; k < block->count; k++)
    if (k != i) rest[n++] = block->bindings[k];
  Expr *made = expr_block(arena, e->span, n, rest, block->result);
  made->type = e->type;
  made->sugar = e->sugar;
  return made;
}

/* A block in which the value of `let` i stands where its name is used. */
static const Expr *with_value(Reduce *r, const Expr *e, int i) {
  const Binding *b = &e->block->bindings[i];
  if (b->kind != BIND_LET || b->value->kind == EX_FN) return e;
  ExprMap m;
  expr_map_start(&m, r->text.mem, &r->v.unit->arena, without_binding(r, e, i));
  while (expr_map_next(&m))
    if (m.walk.event == WALK_ENTER && m.walk.at->kind == EX_VAR &&
        m.walk.at->var == b->var)
      expr_map_put(&m, b->value);
  const Expr *made = expr_map_end(&m);
  return made ? made : e;
}

static size_t nodes_in(Reduce *r, const Expr *e) {
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  add_nodes(r->text.mem, e, &nodes);
  size_t count = nodes.len;
  VEC_DONE(&nodes);
  return count;
}

/* Where it is used at most once: then there are fewer nodes. */
static bool try_value(Reduce *r, const Expr *e, int i) {
  const Expr *made = with_value(r, e, i);
  return made != e && nodes_in(r, made) < nodes_in(r, e) &&
         try_instead(r, e, made);
}

/* A parameter of a definition, where it has one of that type, in the place of a
 * node of several parts.  One of another definition is not bound there. */
static bool try_params(Reduce *r, const Expr *node) {
  Unit *u = r->v.unit;
  bool parts = node->count > 0 || node->kind == EX_BLOCK;
  int step = 0;
  for (int i = 0; i < u->item_count && parts; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (!slot || (*slot)->kind != EX_FN || *slot == node) continue;
    const Fn *fn = (*slot)->fn;
    for (int k = 0; k < fn->param_count && k < PARTS_MAX; k++) {
      Var *var = fn->params[k];
      if (var->type != node->type) continue;
      Expr *use = expr_new(&u->arena, EX_VAR, node->span);
      use->var = var;
      use->type = var->type;
      if (try_instead(r, node, use)) return true;
    }
  }
  return false;
}

/* True when something smaller stands in the node's place now: then `node` is no
 * node of the program any more. */
static bool simplify(Reduce *r, const Expr *node) {
  if (node->kind != EX_CONST || node->constant->rank > 0) {
    const Expr *by = node->kind == EX_FN ? NULL : plain(r, node->type, LEVELS);
    if (by && try_instead(r, node, by)) return true;
  }
  if (node->kind == EX_BLOCK)
    for (int i = node->block->count; i-- > 0;)
      if (try_instead(r, node, without_binding(r, node, i)) ||
          try_value(r, node, i))
        return true;
  Exprs parts;
  VEC_INIT(&parts, r->text.mem);
  add_nodes(r->text.mem, node, &parts);
  bool done = false;
  int tried = 0;
  for (size_t i = 1; i < parts.len && !done && tried < PARTS_MAX; i++) {
    if (parts.data[i]->type != node->type) continue;
    tried++;
    done = try_instead(r, node, parts.data[i]);
  }
  VEC_DONE(&parts);
  return done || try_params(r, node);
}

/* In the order of the text, so the largest nodes come before their parts.
 * After a change the nodes are new ones, and the node of the same number is
 * looked at again. */
static void simplify_nodes(Reduce *r) {
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  all_nodes(r, &nodes);
  for (size_t i = 0; i < nodes.len && !mem_exhausted(r->text.mem);)
    if (simplify(r, nodes.data[i])) all_nodes(r, &nodes);
    else i++;
  VEC_DONE(&nodes);
}

/* --- Numbers -------------------------------------------------------------- */

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%';
}

/* The candidate: the text with `to` for each whole number `from`. */
static void put_number(Reduce *r, const char *from, size_t len, char to) {
  const char *text = strbuf_text(&r->text), *end = text + r->text.len;
  VEC_CLEAR(&r->tried);
  for (const char *p = text; p < end;) {
    bool whole = (p == text || !in_word(p[-1])) && !strncmp(p, from, len) &&
                 !in_word(p[len]);
    strbuf_add_char(&r->tried, whole ? to : *p);
    p += whole ? len : 1;
  }
}

static void shrink_numbers(Reduce *r) {
  char number[24];
  for (size_t at = 0; at < r->text.len; at++) {
    const char *text = strbuf_text(&r->text) + at;
    size_t len = strspn(text, "0123456789");
    bool whole = len > 0 && len < sizeof number && !in_word(text[len]) &&
                 (at == 0 || !in_word(text[-1]));
    if (!whole || (len == 1 && *text <= '1')) {
      at += len;
      continue;
    }
    memcpy(number, text, len);
    put_number(r, number, len, '1');
    if (holds(r) || (len == 1 && number[0] == '2')) continue;
    put_number(r, number, len, '2');
    holds(r);
  }
}

/* --- All of it ------------------------------------------------------------ */

/* The command with the file's name in the place of `{}`, or at the end. */
static void put_file(const char *command, const char *file, StrBuf *out) {
  const char *at = strstr(command, "{}");
  if (at) {
    strbuf_add_len(out, command, (size_t)(at - command));
    strbuf_addf(out, "%s%s", file, at + 2);
  } else {
    strbuf_addf(out, "%s %s", command, file);
  }
}

/* The first text is as the printer writes it, with the imports in place: if the
 * command does not fail for that, there is nothing to begin with. */
static bool begin(Reduce *r) {
  Host *h = r->o->h;
  version_print(&r->v, &r->text);
  if (!write_file(r->file, &r->text)) {
    diag_error(h->program->ir->diags, E0506, SPAN_NONE,
               "cannot write the candidate %s", r->file);
    return false;
  }
  r->status = exec_status(h, r->command);
  if (r->status > 0) {
    Version whole;
    bool ok = version_of_text(h, "candidate", strbuf_text(&r->text),
                              r->text.len, &whole);
    version_done(h, &r->v);
    if (ok) r->v = whole;
    return ok;
  }
  Diag *d = diag_error(h->program->ir->diags, E0506, SPAN_NONE,
                       "`%s` does not fail for the whole program", r->command);
  diag_hint(d,
            "it gets a file in the place of {}, and fails by an exit status "
            "that is not 0");
  return false;
}

static size_t node_count(Reduce *r) {
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  all_nodes(r, &nodes);
  size_t count = nodes.len;
  VEC_DONE(&nodes);
  return count;
}

static bool reduce(Reduce *r) {
  if (!begin(r)) return false;
  size_t before = node_count(r);
  do {
    r->changed = false;
    drop_items(r);
    simplify_nodes(r);
    shrink_numbers(r);
  } while (r->changed && !mem_exhausted(r->text.mem));
  fprintf(stderr, "%zu nodes of %zu are left, after %d trials\n", node_count(r),
          before, r->trials);
  strbuf_add_len(&r->o->out, strbuf_text(&r->text), r->text.len);
  return true;
}

bool opt_reduce(Opt *o, Version *v) {
  const char *folder = getenv("TMPDIR");
  StrBuf file, command;
  strbuf_init(&file, o->out.mem);
  strbuf_init(&command, o->out.mem);
  strbuf_addf(&file, "%s/rly-reduce-XXXXXX.rly", folder ? folder : "/tmp");
  char *path = (char *)strbuf_text(&file);
  int fd = mkstemps(path, 4);
  bool ok = fd >= 0;
  if (!ok)
    diag_error(o->h->program->ir->diags, E0506, SPAN_NONE,
               "no file can be made in %s", folder ? folder : "/tmp");
  if (ok) {
    close(fd);
    put_file(o->h->cli->reduce, path, &command);
    Reduce r = {
        .o = o, .command = strbuf_text(&command), .file = path, .v = *v};
    *v = (Version){0};
    strbuf_init(&r.text, o->out.mem);
    strbuf_init(&r.tried, o->out.mem);
    names_init(&r.seen, o->out.mem);
    ok = reduce(&r);
    names_done(&r.seen);
    strbuf_done(&r.tried);
    strbuf_done(&r.text);
    version_done(o->h, &r.v);
    unlink(path);
  }
  strbuf_done(&command);
  strbuf_done(&file);
  return ok;
}
