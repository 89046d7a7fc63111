/* A document of JSON as a program's text.
 *
 *   document --> types, nodes, items as a parsed tree --> canonical text
 *
 * The text is then parsed and checked like any other, so a document can say
 * nothing that a text cannot.  What the document says of nodes' types and of
 * effects is what was found when it was written; it is not read.  Where its
 * parts stood is kept for messages (json_place.c).
 * The annotations of binders are part of the program, and are.
 *
 * jansson makes a tree of its own, past the limit of memory, so its size is
 * bounded from the text and entered in the books beforehand. */
#include "data/json_read.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* --- Is it JSON? ---------------------------------------------------------- */

static const char *skip_blanks(const char *s) {
  return s + strspn(s, " \t\r\n");
}

/* `{ "name":` begins no program: a string is followed by no colon there. */
bool json_is_program(const char *text, size_t len) {
  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) text += 3;
  const char *s = skip_blanks(text);
  if (*s != '{') return false;
  s = skip_blanks(s + 1);
  if (*s != '"') return false;
  for (s++; *s && *s != '"'; s++)
    if (*s == '\\' && s[1]) s++;
  return *s == '"' && *skip_blanks(s + 1) == ':';
}

/* The document is the text before it in the source map. */
bool unit_is_of_json(const Program *p, const Unit *u) {
  const SourceMap *m = p->sources;
  size_t i = m->files.len;
  while (i > 1 && m->files.data[i - 1] != u->source) i--;
  const SourceFile *f = i > 1 ? m->files.data[i - 2] : NULL;
  return f && !strcmp(f->path, u->source->path) &&
         json_is_program(f->text, f->len);
}

/* --- Mistakes ------------------------------------------------------------- */

bool data_stopped(const Reader *r) {
  return r->failed || mem_exhausted(r->mem);
}

void data_enter(Reader *r, const char *key) {
  VEC_PUSH(&r->path, (PathStep){key, 0});
}

void data_enter_row(Reader *r, size_t index) {
  VEC_PUSH(&r->path, (PathStep){NULL, index});
}

void data_leave(Reader *r) {
  if (r->path.len > 0) r->path.len--;
}

static void add_path(const Reader *r, const char *key, StrBuf *out) {
  strbuf_add(out, "$");
  for (size_t i = 0; i < r->path.len; i++) {
    const PathStep *step = &r->path.data[i];
    if (step->key) strbuf_addf(out, ".%s", step->key);
    else strbuf_addf(out, "[%zu]", step->index);
  }
  if (key) strbuf_addf(out, ".%s", key);
}

/* When memory runs out the document is not blamed. */
void *data_wrong(Reader *r, const char *key, const char *format, ...) {
  if (data_stopped(r)) return NULL;
  r->failed = true;
  StrBuf place, what;
  strbuf_init(&place, r->mem);
  strbuf_init(&what, r->mem);
  add_path(r, key, &place);
  va_list args;
  va_start(args, format);
  strbuf_addv(&what, format, args);
  va_end(args);
  diag_error(r->program->diags, E0530, SPAN_NONE, "%s: %s: %s", r->source->path,
             strbuf_text(&place), strbuf_text(&what));
  strbuf_done(&place);
  strbuf_done(&what);
  return NULL;
}

/* --- Members -------------------------------------------------------------- */

static const json_t *member(Reader *r, const json_t *from, const char *key,
                            bool needed) {
  const json_t *x = json_object_get(from, key);
  if (!x && needed) data_wrong(r, NULL, "`%s` is missing", key);
  return x;
}

const char *data_text(Reader *r, const json_t *from, const char *key,
                      bool needed) {
  const json_t *x = member(r, from, key, needed);
  if (!x) return NULL;
  const char *text = json_string_value(x);
  return text ? text : data_wrong(r, key, "expected a string");
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Parts of letters, digits, `_` and `/`, with a dot between two of them, and a
 * `$` before that of an attribute variable; the scanner's words, and a bit
 * more, which it then refuses. */
static bool is_name(const char *s) {
  s += *s == '$';
  if (!is_letter(*s)) return false;
  for (; *s; s++) {
    bool joint = *s == '.' || *s == '/';
    if (!joint && !is_letter(*s) && !is_digit(*s)) return false;
    if (joint && !is_letter(s[1]) && !is_digit(s[1])) return false;
  }
  return true;
}

const Name *data_name(Reader *r, const json_t *from, const char *key) {
  const char *text = data_text(r, from, key, JSON_NEEDED);
  if (!text) return NULL;
  if (!is_name(text)) return data_wrong(r, key, "`%s` is no name", text);
  return name_of(r->program->names, text);
}

int64_t data_index(Reader *r, const json_t *from, const char *key, int64_t most,
                   bool needed) {
  const json_t *x = member(r, from, key, needed);
  if (!x) return -1;
  int64_t n = json_is_integer(x) ? json_integer_value(x) : -1;
  if (n < 0 || n > most) {
    data_wrong(r, key, "expected a number from 0 to %lld", (long long)most);
    return -1;
  }
  return n;
}

bool data_flag(Reader *r, const json_t *from, const char *key) {
  const json_t *x = json_object_get(from, key);
  if (x && !json_is_boolean(x)) data_wrong(r, key, "expected true or false");
  return json_is_true(x);
}

const json_t *data_list(Reader *r, const json_t *from, const char *key,
                        bool needed) {
  const json_t *x = member(r, from, key, needed);
  if (x && !json_is_array(x)) return data_wrong(r, key, "expected a list");
  return x;
}

/* --- Items ---------------------------------------------------------------- */

static bool read_labels(Reader *r, const json_t *row, CtorDecl *c) {
  const json_t *list = data_list(r, row, "labels", JSON_MAY_LACK);
  if (!list) return !data_stopped(r);
  if (json_array_size(list) != (size_t)c->field_count || !c->field_count)
    return data_wrong(r, "labels", "expected one for each field");
  FieldName *labels = ARENA_ARRAY(&r->arena, FieldName, (size_t)c->field_count);
  for (int i = 0; labels && i < c->field_count; i++) {
    const char *text = json_string_value(json_array_get(list, (size_t)i));
    if (!text || !is_name(text))
      return data_wrong(r, "labels", "expected names");
    labels[i].name = name_of(r->program->names, text);
  }
  c->labels = labels;
  return labels;
}

static void read_ctor(Reader *r, const json_t *row, CtorDecl *c) {
  c->name = data_name(r, row, "name");
  if (!c->name) return;
  c->parens = data_has(row, "fields");
  c->fields = data_types_at(r, row, "fields", &c->field_count);
  if (!data_stopped(r)) read_labels(r, row, c);
}

static void read_ctors(Reader *r, const json_t *row, AdtDecl *adt) {
  const json_t *list = data_list(r, row, "constructors", JSON_MAY_LACK);
  size_t n = json_array_size(list);
  CtorDecl *ctors = ARENA_ARRAY(&r->arena, CtorDecl, n);
  if (!list || !ctors) return;
  data_enter(r, "constructors");
  for (size_t i = 0; i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    read_ctor(r, json_array_get(list, i), &ctors[i]);
    data_leave(r);
  }
  data_leave(r);
  adt->braces = true;
  adt->ctors = ctors;
  adt->ctor_count = (int)n;
}

static void read_adt(Reader *r, const json_t *row, Item *item) {
  AdtDecl *adt = ARENA_NEW(&r->arena, AdtDecl);
  adt->name = item->name = data_name(r, row, "name");
  adt->is_extern = data_flag(r, row, "extern");
  adt->params = data_read_params(r, row, "type_params", &adt->param_count);
  adt->meaning = data_type_at(r, row, "meaning");
  read_ctors(r, row, adt);
  item->kind = ITEM_TYPE;
  item->adt = adt;
}

static void read_def(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_DEF;
  item->name = data_name(r, row, "name");
  item->own = data_flag(r, row, "operator");
  item->expr = data_node_at(r, row, "fn");
  if (item->expr && item->expr->kind != EX_FN)
    data_wrong(r, "fn", "expected a node of kind \"fn\"");
}

static void read_rule(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_RULE;
  item->name = data_name(r, row, "name");
  const char *grade = data_text(r, row, "grade", JSON_MAY_LACK);
  item->rule = ARENA_NEW(&r->arena, RuleFacts);
  RuleGrade *found = &item->rule->grade;
  found->written = grade != NULL;
  found->kind = grade ? grade_find(grade) : GRADE_BITS;
  if (found->kind == GRADE_COUNT) {
    found->kind = GRADE_BITS;
    data_wrong(r, "grade", "no rule is of grade `%s`", grade);
  }
  if (found->kind == GRADE_ULP)
    found->ulps = data_index(r, row, "ulps", INT64_MAX, JSON_NEEDED);
  item->expr = data_node_at(r, row, "sides");
  const Expr *body =
      item->expr && item->expr->kind == EX_FN ? item->expr->fn->body : NULL;
  if (!body || body->kind != EX_TUPLE || body->count < 2 || body->count > 3)
    data_wrong(r, "sides",
               "expected a node of kind \"fn\" whose body is a "
               "tuple of two or three");
}

static void read_named(Reader *r, const json_t *row, Item *item) {
  item->name = data_name(r, row, "name");
  item->annotation = data_type_at(r, row, "annotation");
  item->continues = data_flag(r, row, "continues");
  if (item->kind != ITEM_PARAM || data_has(row, "value"))
    item->expr = data_node_at(r, row, "value");
}

static void read_param(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_PARAM;
  read_named(r, row, item);
}

static void read_let(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_LET_GLOBAL;
  read_named(r, row, item);
}

static void read_local(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_LET_LOCAL;
  read_named(r, row, item);
}

static void read_expr_item(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_EXPR;
  item->expr = data_node_at(r, row, "value");
}

static void read_import(Reader *r, const json_t *row, Item *item) {
  item->kind = ITEM_IMPORT;
  const char *path = data_text(r, row, "path", JSON_NEEDED);
  item->path = path ? arena_strndup(&r->arena, path, strlen(path)) : NULL;
  if (path && !item->path) mem_raise_exhausted(r->mem);
}

static const struct ItemReader {
  const char *kind;
  void (*read)(Reader *r, const json_t *row, Item *item);
} item_readers[] = {
    {"def", read_def},       {"type", read_adt},    {"param", read_param},
    {"let", read_let},       {"local", read_local}, {"expr", read_expr_item},
    {"import", read_import}, {"rule", read_rule},
};

static void read_item(Reader *r, const json_t *row, Item *item) {
  const char *kind = data_text(r, row, "kind", JSON_NEEDED);
  if (!kind) return;
  for (size_t i = 0; i < sizeof item_readers / sizeof *item_readers; i++)
    if (!strcmp(item_readers[i].kind, kind)) {
      item_readers[i].read(r, row, item);
      return;
    }
  data_wrong(r, "kind", "no item is a `%s`", kind);
}

/* --- Tables --------------------------------------------------------------- */

/* Calls `read` for each row of a table, which are objects. */
static void read_rows(Reader *r, const json_t *table, const char *name,
                      void (*read)(Reader *r, const json_t *row, size_t i)) {
  data_enter(r, name);
  for (size_t i = 0; i < json_array_size(table) && !data_stopped(r); i++) {
    const json_t *row = json_array_get(table, i);
    data_enter_row(r, i);
    if (json_is_object(row)) read(r, row, i);
    else data_wrong(r, NULL, "expected an object");
    data_leave(r);
  }
  data_leave(r);
}

static void read_type_row(Reader *r, const json_t *row, size_t i) {
  r->types_read = i;
  data_read_type(r, row);
}

static void read_node_row(Reader *r, const json_t *row, size_t i) {
  r->read = i;
  r->nodes[i] = data_read_node(r, row);
}

static bool has_tables(Reader *r, size_t types, size_t nodes) {
  r->types = ARENA_ARRAY(&r->arena, TypeRow, types);
  r->nodes = ARENA_ARRAY(&r->arena, Expr *, nodes);
  r->used = ARENA_ARRAY(&r->arena, bool, nodes);
  if (r->types && r->nodes && r->used) return true;
  mem_raise_exhausted(r->mem);
  return false;
}

static void read_unit(Reader *r, Unit *u) {
  const char *format = data_text(r, r->document, "format", JSON_NEEDED);
  if (!format) return;
  if (strcmp(format, "rly")) {
    data_wrong(r, "format", "expected \"rly\": this is no program");
    return;
  }
  const json_t *version = json_object_get(r->document, "version");
  if (!json_is_integer(version) ||
      json_integer_value(version) != JSON_VERSION) {
    data_wrong(r, "version", "expected %d", JSON_VERSION);
    return;
  }
  const json_t *types = data_list(r, r->document, "types", JSON_NEEDED);
  const json_t *nodes = data_list(r, r->document, "nodes", JSON_NEEDED);
  const json_t *items = data_list(r, r->document, "items", JSON_NEEDED);
  if (!types || !nodes || !items) return;
  if (!has_tables(r, json_array_size(types), json_array_size(nodes))) return;
  read_rows(r, types, "types", read_type_row);
  r->types_read = json_array_size(types);
  read_rows(r, nodes, "nodes", read_node_row);
  r->read = json_array_size(nodes);
  size_t n = json_array_size(items);
  Item *made = ARENA_ARRAY(&r->arena, Item, n);
  data_enter(r, "items");
  for (size_t i = 0; made && i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    read_item(r, json_array_get(items, i), &made[i]);
    data_leave(r);
  }
  data_leave(r);
  u->items = made;
  u->item_count = made ? (int)n : 0;
}

/* --- The document --------------------------------------------------------- */

static bool load(Reader *r, const char *text, size_t len) {
  size_t size = json_tree_size(text, len);
  json_error_t error;
  if (!mem_hold(r->mem, size)) {
    mem_raise_exhausted(r->mem);
    return false;
  }
  r->held = size;
  r->document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
  if (r->document) return true;
  uint32_t at = r->source->base;
  if (error.position > 0) at += (uint32_t)error.position - 1;
  Span place = {at, at + 1};
  diag_error(r->program->diags, E0530, place, "no JSON: %s", error.text);
  return false;
}

bool json_to_text(Program *p, const SourceFile *source, StrBuf *out,
                  JsonPlaces **places) {
  Reader r = {.program = p, .mem = p->mem, .source = source};
  const char *text = source->text;
  size_t len = source->len;
  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) text += 3, len -= 3;
  arena_init(&r.arena, r.mem);
  VEC_INIT(&r.path, r.mem);
  VEC_INIT(&r.constants, r.mem);
  bool ok = load(&r, text, len);
  Unit u = {0};
  if (ok) read_unit(&r, &u);
  *places = ok && !data_stopped(&r) ? json_places_of(&r, &u) : NULL;
  json_decref(r.document);
  mem_let_go(r.mem, r.held);
  ok = ok && !data_stopped(&r);
  if (ok) unit_print(p, &u, out);
  for (size_t i = 0; i < r.constants.len; i++)
    tensor_drop(p->heap, r.constants.data[i]);
  VEC_DONE(&r.constants);
  VEC_DONE(&r.path);
  arena_done(&r.arena);
  return ok && !mem_exhausted(r.mem);
}
