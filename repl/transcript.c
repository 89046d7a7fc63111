/* What was entered, as one program that does the same: for :save.  Of names
 * that were defined anew only the last definition stays, also where a file that
 * was loaded has the one before; a result that something names later is a let
 * of that name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/repl.h"

/* --- Remembering -------------------------------------------------------- */

static void forget(Repl *r, size_t i) {
  free(r->said[i].file);
  memmove(r->said + i, r->said + i + 1,
          (r->said_count - i - 1) * sizeof *r->said);
  r->said_count--;
}

static void remember(Repl *r, Said now) {
  Said *longer = realloc(r->said, (r->said_count + 1) * sizeof *longer);
  if (longer) r->said = longer;
  if (longer && now.unit) r->said[r->said_count++] = now;
  else free(now.file);
}

void transcript_add(Repl *r) {
  remember(r, (Said){.unit = r->host->program->newest});
}

void transcript_add_file(Repl *r, const char *path) {
  char *real = realpath(path, NULL);
  for (size_t i = 0; real && i < r->said_count; i++)
    if (r->said[i].file && !strcmp(r->said[i].file, real)) forget(r, i--);
  if (real) remember(r, (Said){r->host->program->newest, real});
}

void transcript_clear(Repl *r) {
  while (r->said_count) forget(r, 0);
  free(r->said);
  r->said = NULL;
}

/* --- What still counts -------------------------------------------------- */

/* Has nothing that was entered later taken its name? */
static bool lives(const Program *p, const Item *item) {
  switch (item->kind) {
    case ITEM_DEF:
    case ITEM_PARAM:
    case ITEM_LET_GLOBAL: {
      const Global *g = scope_global(&p->user, item->name);
      return !g || g->span.lo == item->name_span.lo;
    }
    case ITEM_TYPE: {
      const Adt *adt = ptrmap_get(&p->user.adts, item->adt->name);
      return !adt || adt->span.lo == item->adt->span.lo;
    }
    default: return true;
  }
}

/* Is `u` the file `of`, or imported for it? */
static bool is_part(const Unit *u, const Unit *of) {
  while (u && u != of) u = u->importer;
  return u;
}

/* Does an import of the file still give what it gave? */
static bool is_whole(const Program *p, const Unit *file) {
  for (const Unit *u = p->units; u; u = u->next)
    for (int i = 0; is_part(u, file) && i < u->item_count; i++)
      if (!lives(p, &u->items[i])) return false;
  return true;
}

/* --- Edits of a text ---------------------------------------------------- */

/* Instead of `span`: `before`, the result's name if there is one, `behind`. */
typedef struct Edit {
  Span span;
  int order; /* among those at one place */
  const char *before, *behind;
  const Global *result;
} Edit;

typedef struct Writer {
  const Program *p;
  StrBuf *out;
  VEC(Edit) edits;
  PtrMap named; /* the results that later entries name */
} Writer;

static void edit(Writer *w, Span span, const char *before, const Global *g,
                 const char *behind) {
  VEC_PUSH(&w->edits, (Edit){span, (int)w->edits.len, before, behind, g});
}

static int by_place(const void *a, const void *b) {
  const Edit *x = a, *y = b;
  int place = (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
  return place ? place : x->order - y->order;
}

static bool is_result(const Global *g) {
  return g->kind == GLOBAL_LOCAL && g->name->text[0] == '_' &&
         isdigit((unsigned char)g->name->text[1]);
}

/* Results get names of their own, because %it changes with each result. */
static void edit_uses(Writer *w, const Expr *root) {
  ExprWalk walk;
  expr_walk_start(&walk, w->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&walk)) {
    const Expr *e = walk.at;
    if (e->kind != EX_GLOBAL || !is_result(e->g.global)) continue;
    edit(w, e->span, "", e->g.global, "");
    ptrmap_put(&w->named, e->g.global, w);
  }
  expr_walk_end(&walk);
}

static void edit_step(Writer *w, const Step *step) {
  bool names = step->kind == STEP_EXPR && step->global &&
               ptrmap_has(&w->named, step->global);
  bool parens = step->expr->kind == EX_BLOCK;
  Span at = step->expr->span;
  if (names)
    edit(w, (Span){at.lo, at.lo}, "let ", step->global,
         parens ? " = (" : " = ");
  edit_uses(w, step->expr);
  if (names)
    edit(w, (Span){at.hi, at.hi}, parens ? ");\n" : ";\n", step->global, "");
}

/* An item goes with its semicolon. */
static Span whole_item(const Unit *u, Span span) {
  const char *text = u->source->text + (span.hi - u->source->base);
  size_t blanks = strspn(text, " \t\r\n");
  if (text[blanks] == ';') span.hi += (uint32_t)blanks + 1;
  return span;
}

/* In a file, what is no definition ends with a semicolon. */
static bool lacks_semicolon(const Unit *u, const Item *last) {
  if (last->kind == ITEM_DEF || last->kind == ITEM_TYPE) return false;
  Span span = whole_item(u, last->span);
  return u->source->text[span.hi - 1 - u->source->base] != ';';
}

/* `imports`: those have been written. */
static void edit_unit(Writer *w, const Unit *u, bool imports) {
  for (int i = 0; i < u->step_count; i++) edit_step(w, &u->steps[i]);
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    Span end = {item->span.hi, item->span.hi};
    if (!lives(w->p, item) || (imports && item->kind == ITEM_IMPORT))
      edit(w, whole_item(u, item->span), "", NULL, "");
    else if (i == u->item_count - 1 && lacks_semicolon(u, item))
      edit(w, end, ";", NULL, "");
  }
}

/* --- Writing ------------------------------------------------------------ */

static void put_edited(Writer *w, const SourceFile *f, uint32_t from) {
  uint32_t at = from;
  if (w->edits.len)
    qsort(w->edits.data, w->edits.len, sizeof *w->edits.data, by_place);
  for (size_t i = 0; i < w->edits.len; i++) {
    const Edit *e = &w->edits.data[i];
    if (e->span.lo < at || e->span.hi > f->base + f->len) continue;
    strbuf_add_len(w->out, f->text + (at - f->base), e->span.lo - at);
    strbuf_add(w->out, e->before);
    if (e->result) strbuf_addf(w->out, "%%%s", e->result->name->text);
    strbuf_add(w->out, e->behind);
    at = e->span.hi;
  }
  strbuf_add_len(w->out, f->text + (at - f->base), f->base + f->len - at);
  VEC_CLEAR(&w->edits);
}

static void put_unit(Writer *w, const Unit *u, bool imports) {
  edit_unit(w, u, imports);
  bool headed = u->version_header && u->item_count;
  put_edited(w, u->source, headed ? u->items[0].span.lo : u->source->base);
  strbuf_add(w->out, "\n");
}

/* A file that is no longer what it was, and what it imports, as text. */
static void put_file(Writer *w, const Said *said) {
  if (is_whole(w->p, said->unit)) {
    strbuf_addf(w->out, "import \"%s\";\n", said->file);
    return;
  }
  for (const Unit *u = w->p->units; u; u = u->next)
    if (u != said->unit && is_part(u, said->unit)) put_unit(w, u, true);
  put_unit(w, said->unit, true);
}

static void put_transcript(Repl *r, StrBuf *out) {
  Writer w = {.p = r->host->program->ir, .out = out};
  VEC_INIT(&w.edits, out->mem);
  ptrmap_init(&w.named, out->mem);
  for (size_t i = 0; i < r->said_count; i++)
    edit_unit(&w, r->said[i].unit, false);
  VEC_CLEAR(&w.edits); /* that was to see which results are named */
  for (size_t i = 0; i < r->said_count; i++)
    if (r->said[i].file) put_file(&w, &r->said[i]);
    else put_unit(&w, r->said[i].unit, false);
  VEC_DONE(&w.edits);
  ptrmap_done(&w.named);
}

/* The text in canonical layout, if it is a program.  Where it is none, such as
 * when a let was called and then made anew, that is told. */
static void put_program(Repl *r, const char *path, const StrBuf *text,
                        StrBuf *out) {
  rly_program *p = rly_program_new(r->host->cx);
  if (!p) return;
  rly_status status =
      rly_program_add_text(p, path, strbuf_text(text), text->len, 0);
  if (status == RLY_OK) {
    unit_print(p->ir, p->newest, out);
  } else {
    repl_refuse("save", "%s is written, but does not run as it is:", path);
    strbuf_add_len(out, strbuf_text(text), text->len);
  }
  host_report(r->host);
  rly_program_free(p);
}

bool transcript_save(Repl *r, const char *path) {
  FILE *to = fopen(path, "wx");
  if (!to) return false;
  StrBuf raw, text;
  strbuf_init(&raw, r->host->program->ir->mem);
  strbuf_init(&text, raw.mem);
  put_transcript(r, &raw);
  put_program(r, path, &raw, &text);
  bool ok = fwrite(strbuf_text(&text), 1, text.len, to) == text.len;
  ok = !fclose(to) && ok;
  if (!ok) unlink(path);
  strbuf_done(&raw);
  strbuf_done(&text);
  return ok;
}
