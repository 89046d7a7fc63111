/* Programs: adds texts one after the other, links library definitions when they
 * are first reached, reads what they import.
 *
 * A text goes through
 *
 *   sources_add    its bytes in the source map, under a path
 *   parse_unit     a unit: the items as they were written
 *   unit_check     names, types, effects; imports and library units join
 *   program_redo   definitions that it replaced (only with RLY_RECHECK)
 *
 * and is part of the program as a whole or not at all.  Texts only add: a later
 * one sees all earlier ones.
 *
 * The room ir/ knows neither files nor the library; what it needs of them is
 * given to it as functions (program_fill).
 *
 * The library is a sorted table of definitions that the build made of stdlib/
 * (library_entries).  A definition is parsed when a text first mentions its
 * name, so a program pays for what it uses. */
#include <string.h>

#include "bytecode/code.h"
#include "data/data.h"
#include "ir/print.h"
#include "lib/import.h"
#include "lib/on_demand.h"
#include "lib/onnx.h"
#include "lib/redefine.h"
#include "ops/ops.h"
#include "parser/parser.h"
#include "passes/pass.h"
#include "stdlib/library.h"
#include "types/types.h"

/* --- The library -------------------------------------------------------- */

/* The rules of a pass (kind 'R'). */
static Unit *library_rule_list(Program *p, const Name *pass) {
  const char *path, *text = library_rules(pass->text, &path);
  SourceFile *source =
      text ? sources_add(p->sources, path, text, strlen(text), true) : NULL;
  Unit *unit = NULL;
  if (source) parse_unit(p, source, (ParseOptions){0}, &unit);
  return unit;
}

/* Parses one definition of the library.  The text is registered with its line
 * number in the library's file, so that messages show the right place. */
static Unit *library_unit(Program *p, char kind, const Name *name) {
  if (kind == 'R') return library_rule_list(p, name);
  const LibraryEntry *e = library_find(kind, name->text);
  StrBuf made;
  strbuf_init(&made, p->mem);
  if (!e || library_is_template((size_t)(e - library_entries)))
    e = on_demand(kind, name->text, &made);
  LibraryFile file = e ? library_file(e->file) : (LibraryFile){0};
  SourceFile *source = NULL;
  if (e && made.len)
    source =
        sources_add(p->sources, file.path, strbuf_text(&made), made.len, true);
  else if (e)
    source =
        sources_add(p->sources, file.path, file.text + e->offset, e->len, true);
  strbuf_done(&made);
  if (!source) return NULL;
  source->lines_before = e->lines_before;
  Unit *unit = NULL;
  parse_unit(p, source, (ParseOptions){0}, &unit);
  if (unit && p->float64) unit_to_float64(p, unit);
  return unit;
}

/* For "did you mean": every name of that kind. */
static void offer_library(char kind, Suggestion *s) {
  for (size_t i = 0; i < library_entry_count; i++)
    if (library_entries[i].kind == kind && !library_is_template(i))
      suggestion_offer(s, library_entries[i].name);
}

static Unit *import_unit(Program *p, const Unit *from, const Item *item) {
  const char *path = import_path(p, from, item);
  Unit *unit = path ? program_parse_file(p->host, path) : NULL;
  if (unit) unit->importer = from, unit->import = item->span;
  return unit;
}

/* --- Programs ----------------------------------------------------------- */

static const char *op_name(int op) { return op_info(op)->name; }

static void hold_shared(Program *p, bool hold) {
  rly_context *cx = ((rly_program *)p->host)->cx;
  if (hold) context_lock(cx);
  else context_unlock(cx);
}

/* Called with the context locked, since names and sources are the context's. */
static bool program_fill(rly_program *p) {
  rly_context *cx = p->cx;
  p->ir = program_new(p->mem, &cx->names, &cx->sources, &cx->diags, &cx->heap);
  if (!p->ir) return false;
  p->ir->host = p;
  p->ir->find_in_library = library_unit;
  p->ir->offer_library = offer_library;
  p->ir->import = import_unit;
  p->ir->hold_shared = hold_shared;
  p->ir->op_name = op_name;
  p->ir->attrs_written = types_written_attrs;
  p->ir->constant_of_call = constant_of_call;
  p->code = code_new(p->ir);
  if (p->code && cx->options.nan_stop) code_stop_at_nans(p->code);
  if (p->code && cx->options.verify) code_verify_all(p->code);
  return p->code;
}

/* A failure at any point ends in rly_program_free(), which takes half-made
 * programs.  The program's Mem watches the context's: a limit that the context
 * has reached ends work on the program. */
rly_program *rly_program_new(rly_context *cx) {
  if (!require(cx, "the context is NULL")) return NULL;
  rly_program *p = mem_alloc_zeroed(&cx->mem, sizeof *p);
  if (!p) return NULL;
  p->cx = cx;
  atomic_init(&p->refs, 1);
  context_keep(cx);
  p->mem = mem_child(&cx->mem, SIZE_MAX);
  VEC_INIT(&p->bound, p->mem);
  ptrmap_init(&p->newest_bound, p->mem);
  arena_init(&p->arena, p->mem);
  context_lock(cx);
  if (p->mem) p->mem->watched[0] = &cx->mem;
  bool filled = p->mem && program_fill(p);
  context_unlock(cx);
  if (filled) return p;
  rly_program_free(p);
  return NULL;
}

void rly_program_free(rly_program *p) {
  if (p) program_drop(p);
}

/* --- Texts -------------------------------------------------------------- */

/* Is the text a doc comment whose definition is still to come?  An empty line
 * ends it.  At the prompt a text is taken as soon as it is complete, and a
 * comment alone is complete: without this, `/// Adds one.` would be a text of
 * its own, and the `def` on the next line another, with nothing said about
 * it. */
static bool doc_waits(const Unit *u) {
  if (u->item_count || !u->comment_count) return false;
  Span last = u->comments[u->comment_count - 1].span;
  const char *text = u->source->text + (last.lo - u->source->base);
  const char *end = u->source->text + (last.hi - u->source->base);
  return !strncmp(text, "///", 3) && strspn(end, "\n") < 2;
}

/* What the parser reads: the text, or that of a program which is JSON, under
 * the same path, and then where its parts stood (data/data.h). */
static SourceFile *source_of(Program *p, const char *path, const char *text,
                             size_t len, JsonPlaces **places) {
  SourceFile *source = sources_add(p->sources, path, text, len, false);
  if (!source || !json_is_program(source->text, len)) return source;
  StrBuf made;
  strbuf_init(&made, p->mem);
  bool read = json_to_text(p, source, &made, places);
  source =
      read ? sources_add(p->sources, path, strbuf_text(&made), made.len, false)
           : NULL;
  strbuf_done(&made);
  if (source) source->made = true;
  return source;
}

/* What source_of() gave; frees the places. */
static ParseStatus parse_source(Program *p, SourceFile *source,
                                JsonPlaces *places, ParseOptions options,
                                Unit **unit) {
  *unit = NULL;
  ParseStatus status =
      source ? parse_unit(p, source, options, unit) : PARSE_ERRORS;
  if (status == PARSE_OK) json_places_put(p, places, *unit);
  json_places_free(places);
  return status;
}

static rly_status parse(rly_program *p, const char *path, const char *text,
                        size_t len, unsigned flags, Unit **unit) {
  size_t errors = p->ir->diags->errors;
  JsonPlaces *places = NULL;
  SourceFile *source = source_of(p->ir, path, text ? text : "", len, &places);
  if (!source) json_places_free(places);
  if (!source && p->ir->diags->errors > errors)
    return program_failed(p, RLY_REFUSED);
  if (!source && !mem_exhausted(p->mem))
    rly_diagnostic_add(p->cx, "E0010", "the texts exceed 4 GiB");
  if (!source) return program_failed(p, RLY_REFUSED);
  source->lines_before = p->ir->lines_before;
  p->ir->lines_before = 0;
  ParseOptions options = {.interactive = flags & RLY_INTERACTIVE};
  ParseStatus status = parse_source(p->ir, source, places, options, unit);
  if (status == PARSE_INCOMPLETE) return RLY_INCOMPLETE;
  if (status == PARSE_OK && options.interactive && doc_waits(*unit)) {
    program_drop_unit(p->ir, *unit);
    return RLY_INCOMPLETE;
  }
  if (status == PARSE_OK && p->ir->float64) unit_to_float64(p->ir, *unit);
  return status == PARSE_OK ? RLY_OK : program_failed(p, RLY_REFUSED);
}

/* A program that was refused has no trace of the unit. */
static rly_status check(rly_program *p, Unit *unit) {
  if (!program_specialise(p, unit)) {
    program_drop_unit(p->ir, unit);
    return program_failed(p, RLY_REFUSED);
  }
  return unit_check(p->ir, unit) ? RLY_OK : program_failed(p, RLY_REFUSED);
}

/* The deadline's callback.  The parser and the checker poll mem_exhausted
 * everywhere, so marking memory as exhausted also ends them when time is over.
 * Called by the deadline's thread; both stores are atomic.  A flag of its own
 * for time would need a test beside each of those, and a loop that was given
 * only one of the two would show in no test. */
static void time_is_over(void *context) {
  rly_context *cx = context;
  atomic_store(&cx->late, true);
  mem_raise_exhausted(&cx->mem);
}

void program_deadline_start(rly_program *p, Deadline *d) {
  atomic_store(&p->cx->late, false);
  deadline_start(d, p->cx->options.timeout, time_is_over, p->cx);
}

/* When time was over, the flag that the deadline raised is put down again: the
 * context is usable for the next text. */
void program_deadline_end(rly_program *p, Deadline *d) {
  if (deadline_end(d)) {
    mem_clear_exhausted(&p->cx->mem);
    mem_clear_exhausted(p->mem);
  }
  atomic_store(&p->cx->late, false);
}

static rly_status parse_and_check(rly_program *p, const char *path,
                                  const char *text, size_t len, unsigned flags,
                                  UnitMade *made, void *data, Unit **unit) {
  Deadline deadline;
  program_deadline_start(p, &deadline);
  rly_status status = parse(p, path, text, len, flags, unit);
  p->ir->name_results = flags & RLY_NAME_RESULTS;
  if (status == RLY_OK && made && !made(data, p, *unit)) {
    program_drop_unit(p->ir, *unit);
    status = program_failed(p, RLY_REFUSED);
  }
  if (status == RLY_OK) status = check(p, *unit);
  p->ir->name_results = false;
  program_deadline_end(p, &deadline);
  return status;
}

/* `newest` is set only for a text that is part of the program. */
static bool flags_known(unsigned flags) {
  return !(flags &
           ~(unsigned)(RLY_INTERACTIVE | RLY_NAME_RESULTS | RLY_RECHECK));
}

static rly_status add_text(rly_program *p, const char *path, const char *text,
                           size_t len, unsigned flags) {
  Unit *unit;
  size_t replaced = p->ir->replaced.len;
  double since = log_clock(p->cx);
  rly_status status =
      parse_and_check(p, path, text, len, flags, NULL, NULL, &unit);
  if (status != RLY_OK) return status;
  p->newest = unit;
  log_info(p->cx, "added %s: %zu bytes, %.3f ms", path, len,
           1e3 * (log_clock(p->cx) - since));
  if (flags & RLY_RECHECK) program_redo(p, replaced);
  /* the text stays added even when the report failed */
  program_failed(p, RLY_OK);
  return RLY_OK;
}

rly_status program_add_made(rly_program *p, const char *path, const char *text,
                            UnitMade *made, void *data) {
  Unit *unit;
  return parse_and_check(p, path, text, strlen(text), 0, made, data, &unit);
}

/* The text is copied; it may be freed after this. */
rly_status rly_program_add_text(rly_program *p, const char *path,
                                const char *text, size_t len, unsigned flags) {
  if (!require(path, "the path is NULL") ||
      !require(text || !len, "the text is NULL") ||
      !require(flags_known(flags), "there are no such flags") ||
      !program_enter(p))
    return RLY_MISUSE;
  rly_status status = add_text(p, path, text, len, flags);
  program_leave(p);
  return status;
}

Unit *program_parse_text(rly_program *p, const char *path, const char *text,
                         size_t len) {
  JsonPlaces *places = NULL;
  SourceFile *source = source_of(p->ir, path, text, len, &places);
  Unit *unit;
  parse_source(p->ir, source, places, (ParseOptions){0}, &unit);
  if (unit && p->ir->float64) unit_to_float64(p->ir, unit);
  return unit;
}

Unit *program_parse_file(rly_program *p, const char *path) {
  char *text;
  size_t len;
  if (!program_source(p, path, &text, &len)) return NULL;
  Unit *unit = program_parse_text(p, path, text, len);
  mem_free(&p->cx->mem, text, len + 1);
  return unit;
}

/* The file's bytes are released as soon as the source map has its copy. */
static rly_status add_file(rly_program *p, const char *path, unsigned flags) {
  char *text;
  size_t len;
  if (!program_source(p, path, &text, &len))
    return program_failed(p, RLY_REFUSED);
  rly_status status = add_text(p, path, text, len, flags);
  mem_free(&p->cx->mem, text, len + 1);
  return status;
}

rly_status rly_program_add_file(rly_program *p, const char *path,
                                unsigned flags) {
  if (!require(path, "the path is NULL") ||
      !require(flags_known(flags), "there are no such flags") ||
      !program_enter(p))
    return RLY_MISUSE;
  rly_status status = add_file(p, path, flags);
  program_leave(p);
  return status;
}

/* Reads the text as the lexer does, without a program. */
size_t rly_text_open(const char *text, size_t len, const char **innermost) {
  const char *ignored;
  if (!innermost) innermost = &ignored;
  *innermost = "";
  if (!text || len > UINT32_MAX) return 0;
  return (size_t)parse_open_brackets(text, (uint32_t)len, innermost);
}

void rly_program_number(rly_program *p, int n) {
  if (n <= 0 || !program_enter(p)) return;
  p->ir->entry = n;
  p->ir->result_count = 0;
  program_leave(p);
}

void rly_program_line(rly_program *p, int line) {
  if (line <= 0 || !program_enter(p)) return;
  p->ir->lines_before = (uint32_t)line - 1;
  program_leave(p);
}

/* Parses the text on trial: what is reported goes to diagnostics of its own,
 * and the unit is dropped. */
static bool is_unfinished(rly_program *p, const char *text, uint32_t len) {
  SourceFile source = {.path = "", .text = text, .len = len, .base = 1};
  ParseOptions options = {.interactive = true};
  Diags *diags = p->ir->diags, unheard;
  bool unfinished = false;
  if (diags_init(&unheard, p->mem)) {
    Unit *unit = NULL;
    p->ir->diags = &unheard;
    unfinished = parse_unit(p->ir, &source, options, &unit) == PARSE_INCOMPLETE;
    if (unit) {
      unfinished = doc_waits(unit);
      program_drop_unit(p->ir, unit);
    }
    p->ir->diags = diags;
  }
  diags_done(&unheard);
  return unfinished;
}

bool rly_text_unfinished(rly_program *p, const char *text, size_t len) {
  if (!text || len > UINT32_MAX || !program_enter(p)) return false;
  bool unfinished = is_unfinished(p, text, (uint32_t)len);
  program_failed(p, RLY_OK);
  program_leave(p);
  return unfinished;
}

/* Of the newest text only: what an imported file evaluates does not count. */
bool rly_program_has_expressions(const rly_program *p) {
  const Unit *u = p ? p->newest : NULL;
  for (int i = 0; u && i < u->step_count; i++)
    if (u->steps[i].kind == STEP_EXPR) return true;
  return false;
}

/* --- Names in scope ------------------------------------------------------- */

typedef struct NameVisit {
  void (*visit)(void *data, const char *name);
  void *data;
} NameVisit;

static void visit_name(const NameVisit *v, const char *sigil,
                       const char *name) {
  char text[256];
  int n = snprintf(text, sizeof text, "%s%s", sigil, name);
  if (n < (int)sizeof text) v->visit(v->data, text);
}

static void visit_map(const NameVisit *v, const char *sigil,
                      const PtrMap *names) {
  for (size_t i = 0; i < names->cap; i++) {
    const Name *name = names->slots[i].key;
    if (name) visit_name(v, sigil, name->text);
  }
}

/* A name may be given twice, as a user's and as the library's. */
void rly_program_each_name(const rly_program *p,
                           void (*visit)(void *data, const char *name),
                           void *data) {
  if (!p || !visit) return;
  NameVisit v = {visit, data};
  const Scope *user = &p->ir->user;
  visit_map(&v, "@", &user->globals);
  visit_map(&v, "%", &user->locals);
  visit_map(&v, "", &user->ctors);
  visit_map(&v, "", &user->adts);
  for (size_t i = 0; i < library_entry_count; i++) {
    const LibraryEntry *e = &library_entries[i];
    if (e->kind != 'G' && !library_is_template(i))
      visit_name(&v, e->kind == '@' ? "@" : "", e->name);
  }
}

/* --- Signatures --------------------------------------------------------- */

static const Global *global_of(const rly_function *f) {
  return (const Global *)f;
}

/* NULL for a value that is a function without being written as one: its
 * parameters have no names. */
static const Fn *fn_of(const rly_function *f) {
  const Global *g = global_of(f);
  return g && g->value && g->value->kind == EX_FN ? g->value->fn : NULL;
}

/* A definition, or a `let @f` whose value is a function. */
static bool is_function(const Global *g) {
  return g && !g->scheme &&
         (g->kind == GLOBAL_DEF ||
          (g->kind == GLOBAL_VALUE && g->type->kind == TY_FN));
}

/* A handle on a function is the global itself: it lives as long as the program,
 * and needs no release. */
const rly_function *rly_program_function(rly_program *p, const char *name) {
  if (!p || !name) return NULL;
  context_lock(p->cx);
  Global *g = scope_global(&p->ir->user, name_of(p->ir->names, name));
  context_unlock(p->cx);
  return is_function(g) ? (const rly_function *)g : NULL;
}

/* A handle is the address of the definition, so its name is looked up and the
 * two are compared. */
bool program_has_function(rly_program *p, const rly_function *f) {
  return f && rly_program_function(p, global_of(f)->name->text) == f;
}

/* Parameters with names, not those of the type. */
int rly_function_param_count(const rly_function *f) {
  const Fn *fn = fn_of(f);
  return fn ? fn->param_count : 0;
}

const char *rly_function_param_name(const rly_function *f, int i) {
  const Fn *fn = fn_of(f);
  return fn && i >= 0 && i < fn->param_count ? fn->params[i]->name->text : NULL;
}

static const rly_type *handle_of(const Type *t) { return (const rly_type *)t; }

char *rly_function_type_text(rly_program *p, const rly_function *f) {
  if (!require(p, "the program is NULL") || !require(f, "the function is NULL"))
    return NULL;
  return rly_type_text(p, handle_of(global_of(f)->type));
}

const rly_type *rly_function_param_type(const rly_function *f, int i) {
  const Type *t = f ? global_of(f)->type : NULL;
  return t && i >= 0 && i < t->count ? handle_of(t->args[i]) : NULL;
}

const rly_type *rly_function_result_type(const rly_function *f) {
  return f ? handle_of(global_of(f)->type->result) : NULL;
}

/* --- The type of a text ------------------------------------------------- */

/* A polymorphic function is shown with its type parameters, not at one
 * instance. */
static const Type *general_type(rly_program *p, const Expr *e) {
  const Type *known = e->kind == EX_GLOBAL ? e->g.global->type : e->type;
  return types_quantify(p->ir->types, known);
}

/* A UnitMade. */
static bool is_expression(void *data, rly_program *p, Unit *unit) {
  (void)data;
  bool single = unit->item_count == 1 && unit->items[0].kind == ITEM_EXPR;
  if (!single) rly_diagnostic_add(p->cx, "E0506", "expected an expression");
  return single;
}

rly_status program_add_expression(rly_program *p, const char *text) {
  if (!program_enter(p)) return RLY_MISUSE;
  Unit *unit;
  rly_status status = parse_and_check(p, "<expression>", text, strlen(text), 0,
                                      is_expression, NULL, &unit);
  if (status == RLY_OK) {
    p->newest = unit;
    program_failed(p, RLY_OK); /* the text stays even without a report */
  }
  program_leave(p);
  return status;
}

static rly_status look_at(rly_program *p, const char *text, size_t len,
                          void (*look)(void *data, const Expr *e), void *data) {
  Unit *unit;
  rly_status status = parse(p, "<expression>", text, len, 0, &unit);
  if (status != RLY_OK) return status;
  bool single = is_expression(NULL, p, unit);
  if (!single) status = RLY_REFUSED;
  else if ((status = check(p, unit)) == RLY_OK) look(data, unit->steps[0].expr);
  else return status;
  program_drop_unit(p->ir, unit);
  return status;
}

/* Checks the expression as a unit of its own and takes the unit out again.
 * Definitions are refused: other units could already refer to them. */
rly_status program_look_at(rly_program *p, const char *text, size_t len,
                           void (*look)(void *data, const Expr *e),
                           void *data) {
  if (!text || !program_enter(p)) return RLY_MISUSE;
  rly_status status = look_at(p, text, len, look, data);
  program_leave(p);
  return status;
}

typedef struct Shown {
  rly_program *p;
  char *text;
} Shown;

static void show_type(void *shown, const Expr *e) {
  Shown *s = shown;
  s->text = program_type_text(s->p, general_type(s->p, e));
}

/* The text names a function that has instances, so no one type. */
static const Global *scheme_named(rly_program *p, const char *text,
                                  size_t len) {
  if (len < 2 || *text != '@') return NULL;
  const Name *name = name_intern(p->ir->names, text + 1, len - 1);
  const Global *g = scope_global(&p->ir->user, name);
  return g && g->scheme ? g : NULL;
}

static char *scheme_text(rly_program *p, const Global *g) {
  StrBuf out;
  strbuf_init(&out, p->ir->mem);
  global_type_print(p->ir, g, &out);
  return text_take(p->cx, &out);
}

char *rly_program_type_of(rly_program *p, const char *text, size_t len) {
  Shown s = {p, NULL};
  if (!require(text, "the text is NULL") || !program_enter(p)) return NULL;
  const Global *g = scheme_named(p, text, len);
  if (g) s.text = scheme_text(p, g);
  program_leave(p);
  if (g) return s.text;
  program_look_at(p, text, len, show_type, &s);
  return s.text;
}
