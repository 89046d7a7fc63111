/* The printer's entry points: units with their items, resolved definitions,
 * single expressions and patterns.
 *
 * Three texts come from here:
 *
 *   unit_print            a parsed unit, as `rly fmt` writes it: with comments,
 *                         sugar and the order of its source
 *   unit_print_checked    a checked one, as `rly dump --ir`: names of the
 *                         printer's own, types at binders, imports in place
 *   expr_print            one expression of either
 *
 * All read back as the same program.  A unit that a pass has made may have its
 * items in another order than its source, and items of the library; comments
 * move with their items (print_window), and linked items have none. */
#include <string.h>

#include "ir/printer.h"
#include "ir/walk.h"

/* --- Types ---------------------------------------------------------------- */

static void print_ctor(Printer *p, const CtorDecl *c) {
  print_comments(p, c->span.lo);
  doc_text(&p->doc, c->name->text);
  if (c->field_count == 0 && !c->parens) return;
  print_list_open(p, "(");
  for (int i = 0; i < c->field_count; i++) {
    print_comma(p, i == 0);
    if (c->labels) {
      print_comments(p, c->labels[i].span.lo);
      doc_textf(&p->doc, "%s: ", c->labels[i].name->text);
    }
    print_type_expr(p, c->fields[i]);
  }
  print_list_close(p, ")", 0);
}

static void print_ctors(Printer *p, const AdtDecl *adt, uint32_t end) {
  print_braces_open(p, adt->ctor_count);
  for (int i = 0; i < adt->ctor_count; i++) {
    print_comma(p, i == 0);
    print_ctor(p, &adt->ctors[i]);
  }
  print_braces_close(p, adt->ctor_count, end);
}

/* `type T` and `type T {}` differ as written. */
static void print_adt(Printer *p, const Item *item) {
  const AdtDecl *adt = item->adt;
  doc_open(&p->doc);
  doc_text(&p->doc, adt->is_extern ? "extern type " : "type ");
  doc_text(&p->doc, adt->name->text);
  print_type_params(p, adt->param_count, adt->params);
  if (adt->meaning) {
    doc_word(&p->doc, "=");
    doc_hang(&p->doc);
    print_type_expr(p, adt->meaning);
    doc_unhang(&p->doc);
  }
  if (adt->braces || adt->ctor_count > 0) print_ctors(p, adt, item->span.hi);
  doc_close(&p->doc);
}

/* --- Items ---------------------------------------------------------------- */

static void print_def(Printer *p, const Item *item) {
  doc_open(&p->doc);
  doc_textf(&p->doc, "%s @%s", item->own ? "op" : "def", item->name->text);
  if (item->own) print_operator_rest(p, item->expr, item->span.hi);
  else print_fn_rest(p, item->expr, item->span.hi);
  doc_close(&p->doc);
}

/* `gradient op(...) -> (%y, %g) {...}`. */
static void print_gradient(Printer *p, const Item *item) {
  doc_open(&p->doc);
  doc_textf(&p->doc, "gradient %s%s", item->own ? "@" : "", item->name->text);
  print_rule_rest(p, item->expr, item->span.hi);
  doc_close(&p->doc);
}

/* `rule @r(...) : real when e {...} => {...}`. */
static void print_rule(Printer *p, const Item *item) {
  doc_open(&p->doc);
  doc_textf(&p->doc, "rule @%s", item->name->text);
  print_sides(p, item, item->span.hi);
  doc_close(&p->doc);
}

/* `let @x: T = e` and its like. */
static void print_named(Printer *p, const Item *item, const char *keyword,
                        char sigil) {
  doc_textf(&p->doc, "%s %c%s", item->continues ? "and" : keyword, sigil,
            item->name->text);
  print_annotation(p, item->annotation, NULL);
  if (item->expr) print_bound(p, item->expr);
}

/* An expression after graph bindings needs no parentheses; other sequences
 * do. */
static void print_expr_item(Printer *p, const Expr *e) {
  const Block *b =
      e->kind == EX_BLOCK && e->sugar == SUGAR_NONE ? e->block : NULL;
  bool bare =
      b && b->count > 0 &&
      (b->bindings[0].kind == BIND_GRAPH || b->bindings[0].kind == BIND_FREE);
  for (int i = 0; bare && i < b->count; i++)
    bare = b->bindings[i].kind != BIND_ITEM;
  if (bare) print_block(p, b, false);
  else print_expr(p, e);
}

static void print_item(Printer *p, const Item *item) {
  switch (item->kind) {
    case ITEM_DEF: print_def(p, item); break;
    case ITEM_TYPE: print_adt(p, item); break;
    case ITEM_GRADIENT: print_gradient(p, item); break;
    case ITEM_RULE: print_rule(p, item); break;
    case ITEM_PARAM: print_named(p, item, "param", '@'); break;
    case ITEM_LET_GLOBAL: print_named(p, item, "let", '@'); break;
    case ITEM_LET_LOCAL: print_named(p, item, "let", '%'); break;
    case ITEM_EXPR: print_expr_item(p, item->expr); break;
    case ITEM_IMPORT:
      doc_text(&p->doc, "import ");
      print_string(p, item->path, strlen(item->path));
      break;
  }
}

/* Does it end in a brace that closes a body? */
static bool has_body(const Item *item) {
  return item->kind == ITEM_DEF || item->kind == ITEM_GRADIENT ||
         item->kind == ITEM_RULE;
}

/* Definitions stand apart; other items as in the source. */
static void print_gap(Printer *p, const Item *before, const Item *item) {
  if (has_body(before) || has_body(item)) doc_line(&p->doc, LINE_BLANK);
  else print_line_between(p, item->span.lo);
}

/* The members of a group share the one after the last. */
static bool takes_semicolon(const Unit *u, int i) {
  const Item *item = &u->items[i];
  if (has_body(item)) return item->kind == ITEM_DEF && item->own;
  if (item->kind == ITEM_TYPE && !item->adt->meaning) return false;
  return i + 1 == u->item_count || !item[1].continues;
}

/* Comments move with an item that a pass has moved. */
static bool is_in_order(const Unit *u) {
  uint32_t end = 0;
  for (int i = 0; i < u->item_count; i++) {
    if (u->items[i].linked) continue;
    if (u->items[i].span.lo < end) return false;
    end = u->items[i].span.hi;
  }
  return true;
}

/* The comments between the item before this one in the source and this. */
static void open_window(Printer *p, const Unit *u, Span own) {
  uint32_t lo = 0, next = UINT32_MAX;
  for (int i = 0; i < u->item_count; i++) {
    Span span = u->items[i].span;
    if (u->items[i].linked) continue;
    if (span.hi <= own.lo && span.hi > lo) lo = span.hi;
    if (span.lo >= own.hi && span.lo < next) next = span.lo;
  }
  print_window(p, lo, own.hi, next);
}

/* The item comes from another text than the comments. */
static void print_linked(Printer *p, const Unit *u, int i) {
  const SourceFile *source = p->source;
  const Item *item = &u->items[i];
  int comments = p->comment_count;
  p->source = NULL;
  p->comment_count = 0;
  if (i > 0) print_gap(p, item - 1, item);
  print_item(p, item);
  if (takes_semicolon(u, i)) print_semicolon(p, item->span);
  p->source = source;
  p->comment_count = comments;
}

/* In the order of the source one pass over the comments will do.  Otherwise
 * each item opens the window of its own, and after the last one the rest. */
static void print_items(Printer *p, const Unit *u) {
  bool moved = !is_in_order(u);
  for (int i = 0; i < u->item_count && !mem_exhausted(p->mem); i++) {
    const Item *item = &u->items[i];
    if (item->linked) {
      print_linked(p, u, i);
      continue;
    }
    if (moved && i > 0) print_comments(p, UINT32_MAX);
    if (moved) open_window(p, u, item->span);
    if (i > 0) print_gap(p, item - 1, item);
    if (i == 0 && u->version_header) print_line_between(p, item->span.lo);
    print_comments(p, item->span.lo);
    print_item(p, item);
    if (takes_semicolon(u, i)) print_semicolon(p, item->span);
  }
  if (!moved) return;
  print_comments(p, UINT32_MAX);
  open_window(p, u, (Span){UINT32_MAX, UINT32_MAX});
}

/* --- Units ---------------------------------------------------------------- */

static void print_header(Printer *p, const Unit *u) {
  uint32_t first = u->item_count > 0 && is_in_order(u) ? u->items[0].span.lo
                                                       : p->source->base;
  print_comments(p, print_find(p, p->source->base, first, '#'));
  doc_text(&p->doc, "#[version = \"0.0.5\"]");
  doc_line(&p->doc, LINE_HARD);
}

/* The metadata section is one JSON document up to the end of the text. */
static void print_metadata(Printer *p, Span span) {
  const char *text = p->source->text + (span.lo - p->source->base);
  size_t len = span.hi - span.lo;
  while (len > 0 && strchr(" \t\r\n", text[len - 1])) len--;
  doc_line(&p->doc, LINE_BLANK);
  doc_text_len(&p->doc, text, len);
}

static void print_meta_text(Printer *p, const char *text) {
  doc_line(&p->doc, LINE_BLANK);
  doc_text(&p->doc, text);
}

void unit_print(const Program *program, const Unit *u, StrBuf *out) {
  Printer p;
  printer_init(&p, out->mem, program);
  p.source = u->source;
  p.comments = u->comments;
  p.comment_count = p.all_comments = u->comment_count;
  p.plain = u->plain;
  if (u->version_header) print_header(&p, u);
  print_items(&p, u);
  print_comments(&p, UINT32_MAX);
  if (span_exists(u->meta_span)) print_metadata(&p, u->meta_span);
  if (u->meta_text) print_meta_text(&p, u->meta_text);
  doc_line_closing(&p.doc, LINE_HARD);
  doc_render(&p.doc, PRINT_WIDTH, out);
  printer_done(&p);
}

/* --- Parts of resolved programs ------------------------------------------- */

static const char *const global_keywords[] = {
    [GLOBAL_DEF] = "def @",
    [GLOBAL_PARAM] = "param @",
    [GLOBAL_VALUE] = "let @",
    [GLOBAL_LOCAL] = "let %",
};

static void print_resolved_def(Printer *p, const Global *g) {
  doc_open(&p->doc);
  doc_textf(&p->doc, "%s @%s", g->op ? "op" : "def", g->name->text);
  if (g->op) print_operator_rest(p, g->value, 0);
  else print_fn_rest(p, g->value, 0);
  doc_close(&p->doc);
}

static void print_resolved_value(Printer *p, const Global *g, bool continues) {
  const char *keyword = continues ? "and @" : global_keywords[g->kind];
  if (continues && g->kind == GLOBAL_LOCAL) keyword = "and %";
  doc_textf(&p->doc, "%s%s", keyword, g->name->text);
  print_let_type(p, g->annotation, g->type, g->value);
  if (g->value) print_bound(p, g->value);
}

/* --- Checked programs ----------------------------------------------------- */

const Unit *unit_imported_by(const Program *program, const Item *item) {
  const Unit *u = program->units;
  while (u && !(u->importer && u->import.lo == item->span.lo)) u = u->next;
  return u;
}

typedef struct Checked {
  const Program *program;
  StrBuf *out;
  const Step *steps;       /* those that are still to be printed */
  bool after_def;          /* the item before is a definition */
  bool lets;               /* in the place of graph variables */
  const PrintMarks *marks; /* or NULL */
} Checked;

static void print_checked_item(Printer *p, const Item *item, const Step *step) {
  const Global *g = step ? step->global : item_global(p->program, item);
  p->beside_locals = step != NULL;
  p->resolved = !(g && g->scheme) && item->kind != ITEM_RULE;
  switch (item->kind) {
    case ITEM_RULE: print_rule(p, item); break;
    case ITEM_DEF:
      if (g->scheme) print_def(p, item);
      else print_resolved_def(p, g);
      break;
    case ITEM_TYPE: print_adt(p, item); break;
    case ITEM_EXPR: print_expr(p, step->expr); break;
    default: print_resolved_value(p, g, item->continues); break;
  }
}

/* Each item has a printer of its own, since names of locals begin afresh in
 * each. */
static void add_checked_item(Checked *c, const Unit *u, int i) {
  const Item *item = &u->items[i];
  bool def = has_body(item);
  if ((def || c->after_def) && c->out->len > 0) strbuf_add_char(c->out, '\n');
  c->after_def = def;
  Printer p;
  printer_init(&p, c->out->mem, c->program);
  p.resolved = true;
  p.lets = c->lets;
  p.marks = c->marks;
  if (c->marks) p.doc.ranges = c->marks->found;
  print_checked_item(&p, item, item_is_step(item) ? c->steps++ : NULL);
  if (takes_semicolon(u, i)) doc_text(&p.doc, ";");
  doc_line(&p.doc, LINE_HARD);
  doc_render(&p.doc, PRINT_WIDTH, c->out);
  printer_done(&p);
}

/* Imports are written out where they stood, so a dump is one text. */
static void add_checked_items(Checked *c, const Unit *u) {
  for (int i = 0; i < u->item_count && !mem_exhausted(c->out->mem); i++) {
    bool import = u->items[i].kind == ITEM_IMPORT;
    const Unit *from =
        import ? unit_imported_by(c->program, &u->items[i]) : NULL;
    if (from) add_checked_items(c, from);
    else if (!import && u->items[i].kind != ITEM_GRADIENT)
      add_checked_item(c, u, i);
  }
}

void unit_print_checked(const Program *program, const Unit *u, StrBuf *out) {
  unit_print_marked(program, u, NULL, out);
}

void unit_print_marked(const Program *program, const Unit *u,
                       const PrintMarks *marks, StrBuf *out) {
  Checked c = {program, out, u->steps, .marks = marks};
  add_checked_items(&c, u);
}

void unit_print_lets(const Program *program, const Unit *u, StrBuf *out) {
  add_checked_items(&(Checked){program, out, u->steps, .lets = true}, u);
}

/* Is there a name in it that is not bound to its variable? */
static bool is_parsed(Mem *mem, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_LOCAL || w.at->kind == EX_GRAPH;
  expr_walk_end(&w);
  return found;
}

void expr_print(const Program *program, const Expr *e, StrBuf *out) {
  Printer p;
  printer_init(&p, out->mem, program);
  p.resolved = !is_parsed(out->mem, e);
  print_expr(&p, e);
  doc_render(&p.doc, PRINT_WIDTH, out);
  printer_done(&p);
}

void pattern_print(const Program *program, const Pattern *pattern,
                   StrBuf *out) {
  Printer p;
  printer_init(&p, out->mem, program);
  print_pattern(&p, pattern);
  doc_render(&p.doc, 0, out);
  printer_done(&p);
}
