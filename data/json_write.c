/* A checked unit as a document of JSON: its tables, and its items, which refer
 * to their rows.
 *
 *   {"format": "rly", "version": 1,
 *    "files": [...], "types": [...], "nodes": [...], "items": [...]}
 *
 * Items are those that unit_print_checked() prints, in its order. */
#include <string.h>

#include "data/json.h"

typedef struct Items {
  Json *j;
  const Step *steps; /* those that are still to be written */
} Items;

static StrBuf *begin_item(Json *j, const char *kind) {
  if (j->item_count++ > 0) strbuf_add(&j->items, ",\n  ");
  strbuf_addf(&j->items, "{\"kind\": \"%s\"", kind);
  return &j->items;
}

static void end_item(Json *j, const Item *item) {
  data_span(j, &j->items, item->span);
  strbuf_add_char(&j->items, '}');
}

static void add_ctor(Json *j, StrBuf *out, const CtorDecl *c) {
  strbuf_add(out, "{\"name\": ");
  data_string(out, c->name->text);
  if (c->field_count > 0 || c->parens) {
    strbuf_add(out, ", \"fields\": [");
    for (int i = 0; i < c->field_count; i++)
      strbuf_addf(out, "%s%d", i ? ", " : "", data_type_expr(j, c->fields[i]));
    strbuf_add_char(out, ']');
  }
  if (c->labels) {
    strbuf_add(out, ", \"labels\": [");
    for (int i = 0; i < c->field_count; i++) {
      if (i > 0) strbuf_add(out, ", ");
      data_string(out, c->labels[i].name->text);
    }
    strbuf_add_char(out, ']');
  }
  data_span(j, out, c->span);
  strbuf_add_char(out, '}');
}

static void write_adt(Json *j, const Item *item) {
  const AdtDecl *adt = item->adt;
  StrBuf *out = begin_item(j, "type");
  data_member(out, "name", adt->name->text);
  if (adt->is_extern) strbuf_add(out, ", \"extern\": true");
  if (adt->param_count > 0) {
    strbuf_add(out, ", \"type_params\": [");
    data_type_params(out, adt->param_count, adt->params);
    strbuf_add_char(out, ']');
  }
  if (adt->meaning)
    data_number(out, "meaning", data_type_expr(j, adt->meaning));
  if (adt->braces || adt->ctor_count > 0) {
    strbuf_add(out, ", \"constructors\": [");
    for (int i = 0; i < adt->ctor_count; i++) {
      if (i > 0) strbuf_add(out, ", ");
      add_ctor(j, out, &adt->ctors[i]);
    }
    strbuf_add_char(out, ']');
  }
  end_item(j, item);
}

/* A definition whose parameters are solved by instance is as it was parsed. */
static void write_def(Json *j, const Item *item, const Global *g) {
  int value = data_expr(j, g->scheme ? item->expr : g->value);
  StrBuf *out = begin_item(j, "def");
  data_member(out, "name", item->name->text);
  if (g->op) strbuf_add(out, ", \"operator\": true");
  data_number(out, "fn", value);
  if (!g->scheme) {
    data_number(out, "type", data_type(j, g->type));
    data_effects(out, g->effects);
  }
  end_item(j, item);
}

/* As parsed: the types of a rule are those of its uses. */
static void write_rule(Json *j, const Item *item) {
  int sides = data_expr(j, item->expr);
  StrBuf *out = begin_item(j, "rule");
  data_member(out, "name", item->name->text);
  if (item->rule->grade.written) {
    data_member(out, "grade", grade_word(item->rule->grade.kind));
    if (item->rule->grade.kind == GRADE_ULP)
      data_number(out, "ulps", item->rule->grade.ulps);
  }
  data_number(out, "sides", sides);
  end_item(j, item);
}

static void write_value(Json *j, const Item *item, const Global *g) {
  static const char *const kinds[] = {
      [GLOBAL_DEF] = "def",
      [GLOBAL_PARAM] = "param",
      [GLOBAL_VALUE] = "let",
      [GLOBAL_LOCAL] = "local",
  };
  const Type *found = g->type;
  bool quantified = found && found->kind == TY_FN && found->param_count > 0;
  int value = g->value ? data_expr(j, g->value) : -1;
  int type =
      data_annotation(j, g->annotation, quantified && g->value ? NULL : found);
  StrBuf *out = begin_item(j, kinds[g->kind]);
  data_member(out, "name", g->name->text);
  if (item->continues) strbuf_add(out, ", \"continues\": true");
  if (type >= 0) data_number(out, "annotation", type);
  if (value >= 0) data_number(out, "value", value);
  end_item(j, item);
}

static void write_expr_item(Json *j, const Item *item, const Step *step) {
  int value = data_expr(j, step->expr);
  StrBuf *out = begin_item(j, "expr");
  data_number(out, "value", value);
  end_item(j, item);
}

/* Names of locals begin afresh in each item. */
static void write_item(Json *j, const Item *item, const Step *step) {
  const Global *g = step ? step->global : item_global(j->program, item);
  printer_init(&j->p, j->mem, j->program);
  j->p.beside_locals = step != NULL;
  j->p.resolved = !(g && g->scheme) && item->kind != ITEM_RULE;
  switch (item->kind) {
    case ITEM_DEF: write_def(j, item, g); break;
    case ITEM_TYPE: write_adt(j, item); break;
    case ITEM_RULE: write_rule(j, item); break;
    case ITEM_EXPR: write_expr_item(j, item, step); break;
    default: write_value(j, item, g); break;
  }
  printer_done(&j->p);
}

static void write_items(Items *w, const Unit *u) {
  Json *j = w->j;
  for (int i = 0; i < u->item_count && !mem_exhausted(j->mem); i++) {
    const Item *item = &u->items[i];
    bool import = item->kind == ITEM_IMPORT;
    const Unit *from = import ? unit_imported_by(j->program, item) : NULL;
    if (from) write_items(w, from);
    else if (!import && item->kind != ITEM_GRADIENT)
      write_item(j, item, item_is_step(item) ? w->steps++ : NULL);
  }
}

static void add_table(StrBuf *out, const char *name, StrBuf *rows) {
  strbuf_addf(out, ",\n \"%s\": [", name);
  if (rows->len > 0) strbuf_add(out, "\n  ");
  strbuf_add_len(out, strbuf_text(rows), rows->len);
  strbuf_add_char(out, ']');
  strbuf_done(rows);
}

void unit_json(const Program *program, const Unit *u, StrBuf *out) {
  Json j = {.program = program, .mem = out->mem};
  strbuf_init(&j.files, j.mem);
  strbuf_init(&j.types, j.mem);
  strbuf_init(&j.nodes, j.mem);
  strbuf_init(&j.items, j.mem);
  ptrmap_init(&j.file_at, j.mem);
  ptrmap_init(&j.type_at, j.mem);
  VEC_INIT(&j.parts, j.mem);
  write_items(&(Items){&j, u->steps}, u);
  strbuf_addf(out, "{\"format\": \"rly\", \"version\": %d", JSON_VERSION);
  add_table(out, "files", &j.files);
  add_table(out, "types", &j.types);
  add_table(out, "nodes", &j.nodes);
  add_table(out, "items", &j.items);
  strbuf_add(out, "}\n");
  ptrmap_done(&j.file_at);
  ptrmap_done(&j.type_at);
  VEC_DONE(&j.parts);
}
