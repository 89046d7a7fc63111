/* What was entered, as one program that does the same: for :save.
 *
 * A name that was defined anew belongs to its last definition.  An earlier one
 * stays where something was evaluated with it, under a name of its own:
 *
 *   rly> def @f(%x: int32) { %x + 1 }     def @f_1(%x: int32) { %x + 1 }
 *   rly> @f(1)                            let %_1 = @f_1(1);
 *                                         %_1;
 *   rly> def @f(%x: int32) { %x * 2 }     def @f(%x: int32) { %x * 2 }
 *   rly> @f(10) + %_1                     @f(10) + %_1;
 *
 * So does the earlier form of a definition that used it: RLY_RECHECK has given
 * that definition a newer form, which uses the new one.  This holds also for
 * what a loaded file defines.  A result that something names later becomes a
 * let of that name.  A file that still is what it was when it was loaded
 * becomes an import; otherwise its text is written out.
 *
 * How: the texts that were entered are copied with edits.  The parsed units say
 * where names stand (spans), so an edit replaces exactly a name, a whole item
 * or nothing (an insertion).  Comments and layout between the edits survive.
 * The result is read as a program, to print it in canonical layout, or to say
 * that it does not run.
 *
 * Units belong to the program and outlive the prompt; `said` lists those that
 * were entered, in their order. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
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

/* Takes now.file.  A text without a unit has nothing to remember. */
static void remember(Repl *r, Said now) {
  Said *longer = realloc(r->said, (r->said_count + 1) * sizeof *longer);
  if (longer) r->said = longer;
  if (longer && now.unit) r->said[r->said_count++] = now;
  else free(now.file);
}

void transcript_add(Repl *r) {
  remember(r, (Said){.unit = r->host->program->newest});
}

/* Is `u` the file `of`, or imported for it? */
static bool is_part(const Unit *u, const Unit *of) {
  while (u && u != of) u = u->importer;
  return u;
}

/* Is it defined in the file, or in one that is imported for it? */
static bool defines(const Program *p, const Unit *file, const Global *g) {
  for (const Unit *u = p->units; u; u = u->next)
    if (is_part(u, file) && g->span.lo >= u->source->base &&
        g->span.lo < u->source->base + u->source->len)
      return true;
  return false;
}

static bool names_one_of(const Program *p, const Unit *file, const Expr *root) {
  bool names = false;
  ExprWalk walk;
  expr_walk_start(&walk, p->mem, WALK_ENTER, root);
  while (!names && expr_walk_next(&walk))
    names = walk.at->kind == EX_GLOBAL &&
            defines(p, file, global_of_text(walk.at->g.global));
  expr_walk_end(&walk);
  return names;
}

/* Was something evaluated with a definition of the file, outside of it? */
static bool is_used(const Repl *r, const Said *file) {
  const Program *p = r->host->program->ir;
  for (const Said *s = r->said; s < r->said + r->said_count; s++)
    for (const Unit *u = p->units; u && s != file; u = u->next)
      for (int k = 0; is_part(u, s->unit) && k < u->step_count; k++)
        if (names_one_of(p, file->unit, u->steps[k].expr)) return true;
  return false;
}

/* The path is made absolute, so that the import works from any folder.  A file
 * that is loaded again takes its last place only, unless its definitions were
 * used in between. */
void transcript_add_file(Repl *r, const char *path) {
  char *real = realpath(path, NULL);
  for (size_t i = 0; real && i < r->said_count; i++)
    if (r->said[i].file && !strcmp(r->said[i].file, real) &&
        !is_used(r, &r->said[i]))
      forget(r, i--);
  if (real) remember(r, (Said){r->host->program->newest, real});
}

void transcript_clear(Repl *r) {
  while (r->said_count) forget(r, r->said_count - 1);
  free(r->said);
  r->said = NULL;
}

/* --- Listing -------------------------------------------------------------- */

/* A path is `<3>` of an entry; of anything else it is a file's. */
static int number_of(const Unit *u) {
  int n = 0;
  return sscanf(u->source->path, "<%d>", &n) == 1 ? n : 0;
}

void transcript_list(Repl *r, const char *rest) {
  (void)rest;
  for (size_t i = 0; i < r->said_count; i++) {
    const Said *said = &r->said[i];
    const SourceFile *f = said->unit->source;
    int n = number_of(said->unit);
    if (said->file) repl_say(r, "     :load %s\n", said->file);
    if (!n) continue;
    repl_say(r, "%4d ", n);
    for (const char *line = f->text, *end = line + f->len; line < end;) {
      size_t len = strcspn(line, "\n");
      repl_say(r, "%s%.*s\n", line == f->text ? "" : "     ", (int)len, line);
      line += len + 1;
    }
  }
}

/* --- What still counts -------------------------------------------------- */

/* Has nothing that was entered later taken its name?  Definitions are told
 * apart by the offset of their name in the source map, which two texts never
 * share. */
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

/* --- Earlier definitions -------------------------------------------------- */

/* An earlier definition of a name, which something in the text still uses. */
typedef struct Version {
  const Global *global;
  const char *name; /* what it is called in the text: "f_1" */
} Version;

typedef struct Versions {
  const Program *p;
  VEC(Version) list;
  PtrMap names; /* Global -> its name */
} Versions;

static bool is_earlier(const Program *p, const Global *g) {
  return !g->library && g->kind != GLOBAL_LOCAL &&
         scope_global(&p->user, g->name) != g;
}

static bool is_taken(const Versions *v, const char *text) {
  const Name *name = name_of(v->p->names, text);
  for (size_t i = 0; i < v->list.len; i++)
    if (!strcmp(v->list.data[i].name, text)) return true;
  return scope_global(&v->p->user, name);
}

/* f_1, f_2, ...: the first that is free. */
static void add_version(Versions *v, const Global *g) {
  if (ptrmap_has(&v->names, g)) return;
  Arena *arena = (Arena *)&v->p->arena;
  const char *name;
  int n = 1;
  do name = arena_printf(arena, "%s_%d", g->name->text, n++);
  while (is_taken(v, name));
  ptrmap_put(&v->names, g, (void *)name);
  VEC_PUSH(&v->list, (Version){g, name});
}

static void find_versions_in(Versions *v, const Expr *root) {
  ExprWalk walk;
  expr_walk_start(&walk, v->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&walk))
    if (walk.at->kind == EX_GLOBAL &&
        is_earlier(v->p, global_of_text(walk.at->g.global)))
      add_version(v, global_of_text(walk.at->g.global));
  expr_walk_end(&walk);
}

/* Finds the earlier definitions that expressions and live definitions use, then
 * those that these use in turn.  The list grows while the last loop goes over
 * it: a worklist.  Each global enters once (ptrmap), so it ends. */
static void find_versions(Versions *v, const Repl *r) {
  for (size_t i = 0; i < r->said_count; i++)
    for (const Unit *u = v->p->units; u; u = u->next)
      for (int k = 0; is_part(u, r->said[i].unit) && k < u->step_count; k++)
        find_versions_in(v, u->steps[k].expr);
  const PtrMap *live = &v->p->user.globals;
  for (size_t i = 0; i < live->cap; i++) {
    const Global *g = live->slots[i].key ? live->slots[i].value : NULL;
    if (g && global_body(g)) find_versions_in(v, global_body(g));
  }
  for (size_t i = 0; i < v->list.len; i++)
    if (global_body(v->list.data[i].global))
      find_versions_in(v, global_body(v->list.data[i].global));
}

static bool is_version_of(const Version *v, const Item *item) {
  return item->kind != ITEM_TYPE && span_exists(item->name_span) &&
         v->global->span.lo == item->name_span.lo;
}

/* --- Edits of a text ---------------------------------------------------- */

/* Instead of `span`: the three texts, one after the other.  `order` keeps
 * insertions at one place in the order in which they were asked for, since
 * qsort() is not stable. */
typedef struct Edit {
  Span span;
  int order; /* among those at one place */
  const char *before, *name, *behind;
} Edit;

typedef struct Writer {
  const Program *p;
  StrBuf *out;
  VEC(Edit) edits;
  PtrMap named; /* the results that later entries name */
  Versions versions;
} Writer;

static void edit(Writer *w, Span span, const char *before, const char *name,
                 const char *behind) {
  VEC_PUSH(&w->edits, (Edit){span, (int)w->edits.len, before, name, behind});
}

static int by_place(const void *a, const void *b) {
  const Edit *x = a, *y = b;
  int place = (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
  return place ? place : x->order - y->order;
}

/* %_1, %_2, ...: names that only the prompt gives. */
static bool is_result(const Global *g) {
  return g->kind == GLOBAL_LOCAL && g->name->text[0] == '_' &&
         isdigit((unsigned char)g->name->text[1]);
}

/* Results get names of their own, because %it changes with each result.
 * `named` is a set; which value its entries have does not matter. */
static void edit_use(Writer *w, Span span, const Global *g) {
  const char *version = ptrmap_get(&w->versions.names, g);
  if (version) edit(w, span, "@", version, "");
  if (!is_result(g)) return;
  edit(w, span, "%", g->name->text, "");
  ptrmap_put(&w->named, g, w);
}

static void edit_uses(Writer *w, const Expr *root) {
  ExprWalk walk;
  expr_walk_start(&walk, w->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&walk))
    if (walk.at->kind == EX_GLOBAL)
      edit_use(w, walk.at->span, global_of_text(walk.at->g.global));
  expr_walk_end(&walk);
}

/* A result that something names:  e;  becomes  let %_1 = e; %_1;  so that its
 * value is still shown.  A block gets parentheses. */
static void edit_step(Writer *w, const Step *step) {
  bool names = step->kind == STEP_EXPR && step->global &&
               ptrmap_has(&w->named, step->global);
  bool parens = step->expr->kind == EX_BLOCK;
  Span at = step->expr->span;
  const char *name = names ? step->global->name->text : NULL;
  if (names)
    edit(w, (Span){at.lo, at.lo}, "let %", name, parens ? " = (" : " = ");
  edit_uses(w, step->expr);
  if (names) edit(w, (Span){at.hi, at.hi}, parens ? ");\n%" : ";\n%", name, "");
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

/* A definition under another name.  What a `let @x` is bound to is a step.  So
 * that text gets its edits from edit_step(). */
static void edit_version(Writer *w, const Item *item, const Version *v) {
  edit(w, item->name_span, "@", v->name, "");
  if (item->kind == ITEM_DEF) edit_uses(w, global_body(v->global));
}

/* The first of an item's versions, from `from` on; NULL: there is none. */
static const Version *find_version(const Writer *w, const Item *item,
                                   size_t *from) {
  for (size_t i = *from; i < w->versions.list.len; i++)
    if (is_version_of(&w->versions.list.data[i], item))
      return *from = i + 1, &w->versions.list.data[i];
  return NULL;
}

/* Three cases: an earlier definition that is still used is renamed; one that is
 * not goes; a live one has the names in it edited. */
static void edit_item(Writer *w, const Unit *u, const Item *item) {
  size_t from = 0;
  const Version *earlier = find_version(w, item, &from);
  const Global *g = item_global(w->p, item);
  if (!lives(w->p, item) && earlier) edit_version(w, item, earlier);
  else if (!lives(w->p, item)) edit(w, whole_item(u, item->span), "", "", "");
  else if (item->kind == ITEM_DEF && g) edit_uses(w, global_body(g));
}

/* `imports`: those have been written. */
static void edit_unit(Writer *w, const Unit *u, bool imports) {
  for (int i = 0; i < u->step_count; i++) edit_step(w, &u->steps[i]);
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    Span end = {item->span.hi, item->span.hi};
    if (imports && item->kind == ITEM_IMPORT)
      edit(w, whole_item(u, item->span), "", "", "");
    else edit_item(w, u, item);
    if (i == u->item_count - 1 && lacks_semicolon(u, item))
      edit(w, end, ";", "", "");
  }
}

/* --- Writing ------------------------------------------------------------ */

/* The text of `span` with its edits.  Edits that lie inside an earlier one (a
 * name in an item that goes) are passed over.  The list is empty afterwards. */
static void put_edited(Writer *w, const SourceFile *f, Span span) {
  uint32_t at = span.lo;
  if (w->edits.len)
    qsort(w->edits.data, w->edits.len, sizeof *w->edits.data, by_place);
  for (size_t i = 0; i < w->edits.len; i++) {
    const Edit *e = &w->edits.data[i];
    if (e->span.lo < at || e->span.hi > span.hi) continue;
    strbuf_add_len(w->out, f->text + (at - f->base), e->span.lo - at);
    strbuf_add(w->out, e->before);
    strbuf_add(w->out, e->name);
    strbuf_add(w->out, e->behind);
    at = e->span.hi;
  }
  strbuf_add_len(w->out, f->text + (at - f->base), span.hi - at);
  VEC_CLEAR(&w->edits);
}

/* Writes the other versions of an item: the item stands in the text as its
 * live definition or, if it has none, as its first version. */
static void put_copies(Writer *w, const Unit *u, const Item *item) {
  size_t from = 0;
  const Version *v = find_version(w, item, &from);
  if (v && !lives(w->p, item)) v = find_version(w, item, &from);
  for (; v; v = find_version(w, item, &from)) {
    edit_version(w, item, v);
    put_edited(w, u->source, item->span);
    strbuf_add(w->out, "\n");
  }
}

static void put_unit(Writer *w, const Unit *u, bool imports) {
  const SourceFile *f = u->source;
  edit_unit(w, u, imports);
  bool headed = u->version_header && u->item_count;
  put_edited(w, f,
             (Span){headed ? u->items[0].span.lo : f->base, f->base + f->len});
  strbuf_add(w->out, "\n");
  for (int i = 0; i < u->item_count; i++) put_copies(w, u, &u->items[i]);
}

/* Does an import of the file still give what it gave?  An import gives the
 * file's text as it is, so no edit may be needed in it: no definition replaced,
 * no name that means another version. */
static bool is_whole(Writer *w, const Unit *file) {
  bool whole = true;
  for (const Unit *u = w->p->units; u && whole; u = u->next) {
    if (!is_part(u, file)) continue;
    for (int i = 0; i < u->step_count; i++) edit_uses(w, u->steps[i].expr);
    for (int i = 0; i < u->item_count && whole; i++) {
      size_t from = 0;
      const Item *item = &u->items[i];
      whole = lives(w->p, item) && !find_version(w, item, &from);
      if (whole) edit_item(w, u, item);
    }
    whole &= w->edits.len == 0;
    VEC_CLEAR(&w->edits);
  }
  return whole;
}

/* A file that is no longer what it was, and what it imports, as text.  Its
 * imports come first, as they did when it was loaded. */
static void put_file(Writer *w, const Said *said) {
  if (is_whole(w, said->unit)) {
    strbuf_addf(w->out, "import \"%s\";\n", said->file);
    return;
  }
  for (const Unit *u = w->p->units; u; u = u->next)
    if (u != said->unit && is_part(u, said->unit)) put_unit(w, u, true);
  put_unit(w, said->unit, true);
}

/* Two passes: the first edits all entries only to learn which results are named
 * (w.named), for a name may be used long after the entry that gives it. */
static void put_transcript(Repl *r, StrBuf *out) {
  Writer w = {.p = r->host->program->ir, .out = out};
  w.versions.p = w.p;
  VEC_INIT(&w.edits, out->mem);
  VEC_INIT(&w.versions.list, out->mem);
  ptrmap_init(&w.named, out->mem);
  ptrmap_init(&w.versions.names, out->mem);
  find_versions(&w.versions, r);
  for (size_t i = 0; i < r->said_count; i++)
    edit_unit(&w, r->said[i].unit, false);
  VEC_CLEAR(&w.edits); /* that was to see which results are named */
  for (size_t i = 0; i < r->said_count; i++)
    if (r->said[i].file) put_file(&w, &r->said[i]);
    else put_unit(&w, r->said[i].unit, false);
  VEC_DONE(&w.edits);
  VEC_DONE(&w.versions.list);
  ptrmap_done(&w.named);
  ptrmap_done(&w.versions.names);
}

/* The text in canonical layout, if it is a program.  Where it is none, such as
 * when a let was called and then made anew, that is told.  The transcript is
 * then written as it is, for the user to mend. */
static void put_program(Repl *r, const char *path, const StrBuf *text,
                        StrBuf *out) {
  rly_program *p = host_program_new(r->host, r->host->cx);
  const char *bytes = strbuf_text(text);
  /* Printed is a unit that was not checked: the checker makes fields of names
   * with dots, whose text is another. */
  Unit *unit = p ? program_parse_text(p, path, bytes, text->len) : NULL;
  if (unit && rly_program_add_text(p, path, bytes, text->len, 0) == RLY_OK) {
    unit_print(p->ir, unit, out);
  } else {
    repl_refuse("save", "%s is written, but does not run as it is:", path);
    strbuf_add_len(out, strbuf_text(text), text->len);
  }
  host_report(r->host);
  host_program_free(r->host, p);
}

/* "x": fails where the file exists, in one step with making it.  A file that
 * could not be written whole is removed. */
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
  if (mem_exhausted(raw.mem)) {
    ok = false;
    errno = ENOMEM;
  }
  if (!ok) unlink(path);
  strbuf_done(&raw);
  strbuf_done(&text);
  return ok;
}
