/* What is shown of a text: hovers, signatures, hints of types, lenses. */
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

json_t *markdown(const StrBuf *text) {
  json_t *value = json_stringn(strbuf_text(text), text->len);
  return json_pack("{ssso}", "kind", "markdown", "value", value);
}

json_t *text_edit(const Text *t, size_t lo, size_t hi, const char *text,
                  size_t len) {
  return json_pack("{soso}", "range", text_range(t, lo, hi), "newText",
                   json_stringn(text, len));
}

/* --- Hover --------------------------------------------------------------- */

static void add_type(const Analysis *a, StrBuf *out, const Type *t) {
  if (t) type_print(a->program->ir->types, out, t, TYPE_TEXT_MOST);
}

/* The doc comment of a definition, whose name has its sigil. */
static void add_doc(const Analysis *a, StrBuf *out, const char *sigil,
                    const char *name) {
  DefinitionText d;
  char text[256];
  int n = snprintf(text, sizeof text, "%s%s", sigil, name);
  if (n >= (int)sizeof text || !program_definition(a->program, text, &d))
    return;
  if (!d.doc_len) return;
  strbuf_add(out, "\n");
  doc_print(out, &d, "");
}

/* What the text's rules say of an operator, as code. */
static void add_rules(const Analysis *a, StrBuf *out, const char *name) {
  StrBuf rules;
  strbuf_init(&rules, a->program->mem);
  program_print_rules(a->program, &rules, name, "");
  if (rules.len) strbuf_addf(out, "\n```rly\n%s```\n", strbuf_text(&rules));
  strbuf_done(&rules);
}

static void add_global(const Analysis *a, StrBuf *out, const Global *g) {
  const Program *p = a->program->ir;
  strbuf_addf(out, "```rly\n%s%s : ", global_sigil(g), g->name->text);
  global_type_print(p, g, out);
  strbuf_add(out, "\n```\n");
  if (g->scheme || (g->type && g->type->kind == TY_FN)) {
    strbuf_add(out, "effects: ");
    effects_print(out, g->effects);
    strbuf_add_char(out, '\n');
  }
  add_doc(a, out, global_sigil(g), g->name->text);
  if (global_of_text(g)->op) {
    char name[256];
    snprintf(name, sizeof name, "@%s", g->name->text);
    add_rules(a, out, name);
  }
}

/* A type by its text, with the doc comment; a constructor with its own type
 * before. */
static void add_definition(const Analysis *a, StrBuf *out, const char *name,
                           const Type *of_ctor) {
  DefinitionText d;
  strbuf_add(out, "```rly\n");
  if (of_ctor) {
    strbuf_addf(out, "%s : ", name);
    add_type(a, out, of_ctor);
    strbuf_add(out, "\n");
  }
  if (program_definition(a->program, name, &d)) definition_print_head(out, &d);
  strbuf_add(out, "\n```\n");
  add_doc(a, out, "", name);
}

static void add_operator(const Analysis *a, StrBuf *out, const OpInfo *op) {
  char *text = NULL;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  if (!to) return;
  operator_put_entry(to, op);
  if (!fclose(to)) strbuf_add_len(out, text, len);
  free(text);
  add_rules(a, out, op->name);
}

static void add_use(const Analysis *a, StrBuf *out, const Use *use) {
  switch (use->kind) {
    case NAME_VAR:
      strbuf_addf(out, "```rly\n%%%s : ", ((const Var *)use->what)->name->text);
      add_type(a, out, use->type);
      strbuf_add(out, "\n```\n");
      return;
    case NAME_GLOBAL: add_global(a, out, use->what); return;
    case NAME_TYPE:
      add_definition(a, out, ((const Adt *)use->what)->name->text, NULL);
      return;
    case NAME_CTOR:
      add_definition(a, out, ((const Ctor *)use->what)->name->text, use->type);
      return;
    case NAME_OPERATOR: add_operator(a, out, use->what); return;
  }
}

/* Where no name stands, the innermost expression has a type. */
static json_t *hover_expr(const Document *d, size_t offset, StrBuf *out) {
  Analysis *a;
  uint32_t at;
  size_t lo, hi;
  if (!document_look(d, offset, 0, &a, &at)) return json_null();
  const Expr *e = expr_at(a->program->ir, at);
  if (!e || !analysis_offset(a, e->span, &lo, &hi)) return json_null();
  strbuf_add(out, "```rly\n");
  add_type(a, out, e->type);
  strbuf_add(out, "\n```\n");
  return json_pack("{soso}", "contents", markdown(out), "range",
                   text_range(&d->text, lo, hi));
}

/* The range of the name, where it still stands in the text as it is now. */
static json_t *name_range(const Document *d, const Analysis *a, const Use *use,
                          size_t offset) {
  size_t n = use->span.hi - use->span.lo;
  const char *text = strbuf_text(&d->text.bytes);
  const char *name = a->source->text + (use->span.lo - a->source->base);
  for (size_t back = 0; back <= n && back <= offset; back++)
    if (!strncmp(text + offset - back, name, n))
      return text_range(&d->text, offset - back, offset - back + n);
  return NULL;
}

json_t *serve_hover(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Analysis *a;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  StrBuf out;
  strbuf_init(&out, &s->mem);
  const Use *use = use_at(d, offset, &a);
  json_t *hover;
  if (use) {
    add_use(a, &out, use);
    hover = json_pack("{so}", "contents", markdown(&out));
    json_t *range = name_range(d, a, use, offset);
    if (range) json_object_set_new(hover, "range", range);
  } else {
    hover = hover_expr(d, offset, &out);
  }
  strbuf_done(&out);
  return hover;
}

/* --- Signatures ---------------------------------------------------------- */

/* The commas since the innermost parenthesis that is open before the byte. */
static int argument_at(const Document *d, size_t offset) {
  int commas[64] = {0}, depth = 0;
  for (size_t i = 0; i < d->tokens.len; i++) {
    const Token *t = &d->tokens.data[i];
    if (t->lo >= offset) break;
    if (t->look == LOOK_OPEN && depth < 63) commas[++depth] = 0;
    else if (t->look == LOOK_CLOSE && depth) depth--;
    else if (token_is(&d->text, t, ",")) commas[depth]++;
  }
  return commas[depth];
}

/* The parameters of a signature as ranges of code units: what the commas of its
 * first parentheses part. */
static json_t *parameters_of(const Text *label) {
  json_t *all = json_array();
  const char *s = strbuf_text(&label->bytes);
  size_t from = strcspn(s, "(");
  int depth = 0;
  if (!s[from]) return all;
  for (size_t i = ++from; s[i]; i++) {
    bool ends = !depth && (s[i] == ',' || s[i] == ')');
    if (ends && i > from)
      json_array_append_new(
          all,
          json_pack("{s[II]}", "label", (json_int_t)text_column(label, 0, from),
                    (json_int_t)text_column(label, 0, i)));
    if (ends) from = i + 1 + (s[i + 1] == ' ');
    if (!depth && s[i] == ')') break;
    depth += (strchr("([{", s[i]) != NULL) - (strchr(")]}", s[i]) != NULL);
  }
  return all;
}

json_t *serve_signature(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  char *head = complete_signature(program_for(s, d),
                                  strbuf_text(&d->text.bytes), offset);
  if (!head) return json_null();
  for (char *c = head; *c; c++)
    if (*c == '\n') *c = ' ';
  Text label;
  text_init(&label, &s->mem, false); /* so the protocol has it */
  text_set(&label, head, strlen(head));
  json_t *help =
      json_pack("{s[{ssso}]sisi}", "signatures", "label", head, "parameters",
                parameters_of(&label), "activeSignature", 0, "activeParameter",
                argument_at(d, offset));
  text_done(&label);
  free(head);
  return help;
}

/* --- Hints --------------------------------------------------------------- */

static void add_hint(json_t *all, const Document *d, const Analysis *a,
                     size_t at, const char *before, const Type *t) {
  StrBuf text;
  strbuf_init(&text, a->program->mem);
  strbuf_add(&text, before);
  add_type(a, &text, t);
  json_t *label = json_stringn(strbuf_text(&text), text.len);
  json_array_append_new(
      all, json_pack("{sososi}", "position", text_place(&d->text, at), "label",
                     label, "kind", 1));
  strbuf_done(&text);
}

/* A definition without a declared result shows it in front of its body. */
static void add_result_hint(json_t *all, const Document *d, const Analysis *a,
                            const Piece *p) {
  const Text *t = &d->text;
  char name[256];
  if (!p->name || !token_is(t, p->word, "def")) return;
  size_t n = p->name->hi - p->name->lo;
  if (n >= sizeof name) return;
  memcpy(name, t->bytes.data + p->name->lo, n);
  name[n] = '\0';
  const Program *ir = a->program->ir;
  const Global *g = scope_global(&ir->user, name_of(ir->names, name + 1));
  if (!g || !g->type || g->type->kind != TY_FN || !g->value ||
      g->value->kind != EX_FN || g->value->fn->result)
    return;
  for (size_t i = p->first, depth = 0; i < p->end; i++) {
    const Token *token = &d->tokens.data[i];
    if (!depth && token_is(t, token, "{")) {
      add_hint(all, d, a, d->tokens.data[i - 1].hi, " -> ", g->type->result);
      return;
    }
    if (token->look == LOOK_OPEN) depth++;
    else if (token->look == LOOK_CLOSE && depth) depth--;
  }
}

json_t *serve_hints(Server *s, const json_t *params, Failure *f) {
  size_t from, to, lo, hi;
  Document *d = range_of(s, params, &from, &to, f);
  if (!d) return NULL;
  json_t *all = json_array();
  Analysis *a = d->now;
  for (size_t i = 0; a && i < a->uses.len; i++) {
    const Use *use = &a->uses.data[i];
    if (!use->declares || !use->inferred || !use->type) continue;
    if (!analysis_offset(a, use->span, &lo, &hi) || hi < from || hi > to)
      continue;
    add_hint(all, d, a, hi, ": ", use->type);
  }
  for (size_t i = 0; a && i < d->pieces.len; i++) {
    const Piece *p = &d->pieces.data[i];
    if (p->hi >= from && p->lo <= to) add_result_hint(all, d, a, p);
  }
  return all;
}

/* --- Lenses -------------------------------------------------------------- */

static void add_lens(json_t *all, const Document *d, const Piece *p,
                     const char *title, const char *command) {
  json_array_append_new(
      all, json_pack("{sos{sssss[s]}}", "range",
                     text_range(&d->text, p->lo, p->lo), "command", "title",
                     title, "command", command, "arguments", d->uri));
}

/* At what `rly run` begins with: the first expression of a script, or @main.
 * The commands are the client's, as it has the terminals. */
json_t *serve_lenses(Server *s, const json_t *params, Failure *f) {
  Document *d = document_of(s, params, f);
  const Piece *start = NULL;
  if (!d) return NULL;
  for (size_t i = 0; i < d->pieces.len; i++) {
    const Piece *p = &d->pieces.data[i];
    bool main = p->name && token_is(&d->text, p->name, "@main") &&
                token_is(&d->text, p->word, "def");
    if (!p->word && (!start || start->word)) start = p;
    else if (main && !start) start = p;
  }
  json_t *all = json_array();
  if (start) add_lens(all, d, start, "run", "rly.run");
  if (start) add_lens(all, d, start, "step", "rly.step");
  return all;
}
