/* Checking a document: its diagnostics, and what of it checks.
 *
 * The checker keeps nothing of a text that it refuses.  So the items in which
 * mistakes were reported are made blank and the rest is checked again, until it
 * is accepted: items that only use those go next.  Places stay the same.  The
 * diagnostics are those of the text as it is. */
#include <stdlib.h>
#include <string.h>

#include "server/document.h"

enum {
  ROUNDS_MOST = 8,
  LARGE = 128 << 10, /* bytes of a text whose check fills tens of megabytes */
};

/* --- One check ------------------------------------------------------------ */

/* Checks a text in a context of its own.  NULL when memory runs out before
 * there is a context. */
static Analysis *attempt(const rly_options *options, const char *path,
                         const char *text, size_t len, rly_status *status) {
  Analysis *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->refs = 1;
  a->cx = rly_context_new(options);
  a->program = a->cx ? rly_program_new(a->cx) : NULL;
  if (!a->program) {
    analysis_drop(a);
    return NULL;
  }
  VEC_INIT(&a->uses, a->program->mem);
  *status = rly_program_add_text(a->program, path, text, len, 0);
  /* the first text of the context; the library's and imported ones follow */
  if (a->cx->sources.files.len) a->source = a->cx->sources.files.data[0];
  return a;
}

static bool accepted(Analysis *a, rly_status status) {
  if (status != RLY_OK || !a->source) return false;
  names_find(a->program->ir, &a->uses);
  bool fits = !mem_exhausted(a->program->mem);
  mem_clear_exhausted(a->program->mem);
  return fits;
}

void analysis_drop(Analysis *a) {
  if (!a || --a->refs) return;
  if (a->program) VEC_DONE(&a->uses);
  rly_program_free(a->program);
  rly_context_free(a->cx);
  free(a);
}

Analysis *analysis_of(const rly_options *options, const char *path,
                      const char *text, size_t len) {
  rly_status status;
  Analysis *a = attempt(options, path, text, len, &status);
  if (a && accepted(a, status)) {
    a->whole = true;
    return a;
  }
  analysis_drop(a);
  return NULL;
}

size_t check_errors(const rly_options *options, const char *path,
                    const char *text, size_t len) {
  rly_status status;
  Analysis *a = attempt(options, path, text, len, &status);
  size_t errors = a && status <= RLY_REFUSED ? a->cx->diags.errors : SIZE_MAX;
  analysis_drop(a);
  return errors;
}

/* --- Diagnostics --------------------------------------------------------- */

json_t *location_in(Mem *mem, bool utf8, const SourceFile *f, const char *uri,
                    Span span) {
  Text text;
  text_init(&text, mem, utf8);
  text_set(&text, f->text, f->len);
  json_t *place =
      json_pack("{ssso}", "uri", uri ? uri : "", "range",
                text_range(&text, span.lo - f->base, span.hi - f->base));
  text_done(&text);
  return place;
}

/* A place in any text of the user's; NULL: in none. */
static json_t *location_of(const Document *d, const Analysis *a, Span span) {
  SourceFile *f = sources_file(&a->cx->sources, span);
  if (!f || f->library) return NULL;
  char *uri = f == a->source ? strdup(d->uri) : uri_of_path(f->path);
  json_t *place = location_in(a->program->mem, d->text.utf8, f, uri, span);
  free(uri);
  return place;
}

static json_t *related(const Document *d, const Analysis *a, const Diag *diag) {
  json_t *all = json_array();
  for (size_t i = 0; i < diag->notes.len; i++) {
    json_t *place = location_of(d, a, diag->notes.data[i].span);
    if (place)
      json_array_append_new(all,
                            json_pack("{soss}", "location", place, "message",
                                      diag->notes.data[i].message));
  }
  return all;
}

/* The import by which a mistake in another file came in: the first whose path
 * ends that of the file.  Without one, the beginning of the text. */
static void place_of_import(const Document *d, const char *path, size_t *lo,
                            size_t *hi) {
  const char *text = strbuf_text(&d->text.bytes);
  *lo = *hi = 0;
  for (size_t i = 0; i < d->pieces.len && path; i++) {
    const Piece *p = &d->pieces.data[i];
    if (!p->word || !token_is(&d->text, p->word, "import")) continue;
    const Token *string = &d->tokens.data[p->first + 1];
    size_t n = p->end - p->first > 1 ? string->hi - string->lo : 0;
    size_t all = strlen(path);
    if (n < 3 || n - 2 > all) continue;
    if (memcmp(text + string->lo + 1, path + all - (n - 2), n - 2)) continue;
    *lo = p->lo;
    *hi = p->hi;
    return;
  }
}

/* --- What may stand there instead ---------------------------------------- */

/* The text between a quotation mark and the next one of its kind. */
static bool quoted(const char *from, const char **text, size_t *len) {
  const char *open = from + strcspn(from, "`\"");
  const char *close = *open ? strchr(open + 1, *open) : NULL;
  if (!close) return false;
  *text = open + 1;
  *len = (size_t)(close - *text);
  return true;
}

/* "did you mean `X`?" replaces the last word that the message quotes and the
 * place holds. */
static void fix_misspelt(const Document *d, const Diag *diag, Problem *p) {
  const char *at = strbuf_text(&d->text.bytes) + p->lo, *word, *better;
  size_t n, m, size = p->hi - p->lo;
  if (!quoted(diag->hint, &better, &m)) return;
  for (const char *m1 = diag->message; quoted(m1, &word, &n);
       m1 = word + n + 1) {
    const char *found = n ? memmem(at, size, word, n) : NULL;
    if (!found) continue;
    free(p->fix.text);
    size_t lo = p->lo + (size_t)(found - at);
    p->fix = (Fix){lo, lo + n, strndup(better, m)};
  }
}

/* "write `1f`" replaces a 1 that the place is. */
static void fix_suffix(const Document *d, const Diag *diag, Problem *p) {
  const char *at = strbuf_text(&d->text.bytes) + p->lo, *better;
  size_t m, size = p->hi - p->lo;
  if (!quoted(diag->hint, &better, &m) || diag->hint[6 + m + 2]) return;
  if (size && size < m && !memcmp(at, better, size))
    p->fix = (Fix){p->lo, p->hi, strndup(better, m)};
}

static void find_fix(const Document *d, const Diag *diag, Problem *p) {
  if (!diag->hint) return;
  if (!strncmp(diag->hint, "did you mean ", 13)) fix_misspelt(d, diag, p);
  else if (!strncmp(diag->hint, "write `", 7)) fix_suffix(d, diag, p);
}

static json_t *message_of(const Diag *diag, const char *file, unsigned line,
                          Mem *mem) {
  StrBuf text;
  strbuf_init(&text, mem);
  if (file) strbuf_addf(&text, "%s:%u: ", file, line);
  strbuf_add(&text, diag->message);
  if (diag->caption) strbuf_addf(&text, "\n%s", diag->caption);
  if (diag->hint) strbuf_addf(&text, "\nhint: %s", diag->hint);
  json_t *json = json_stringn(strbuf_text(&text), text.len);
  strbuf_done(&text);
  return json;
}

static void add_problem(Document *d, const Analysis *a, const Diag *diag) {
  Problem p = {0};
  Place place = sources_place(&a->cx->sources, diag->span);
  bool own = a->source && analysis_offset(a, diag->span, &p.lo, &p.hi);
  const char *file = own || !place.file ? NULL : place.file->path;
  if (!own) place_of_import(d, file, &p.lo, &p.hi);
  else find_fix(d, diag, &p);
  p.json = json_pack("{sosissssso}", "range", text_range(&d->text, p.lo, p.hi),
                     "severity", diag->severity == SEV_WARNING ? 2 : 1, "code",
                     diag_code_text(diag->code), "source", "rly", "message",
                     message_of(diag, file, place.line, a->program->mem));
  json_t *notes = related(d, a, diag);
  if (json_array_size(notes))
    json_object_set(p.json, "relatedInformation", notes);
  json_decref(notes);
  VEC_PUSH(&d->problems, p);
}

static void take_problems(Document *d, const Analysis *a) {
  const Diags *diags = &a->cx->diags;
  for (size_t i = 0; i < diags->list.len; i++)
    add_problem(d, a, diags->list.data[i]);
}

/* --- Leaving out what does not check ------------------------------------- */

/* Makes blanks of the items that have errors; false: there is none such. */
static bool blank_mistakes(const Document *d, const Analysis *a, char *text) {
  const Diags *diags = &a->cx->diags;
  bool any = false;
  for (size_t i = 0; a->source && i < diags->list.len; i++) {
    size_t lo, hi;
    const Diag *diag = diags->list.data[i];
    if (diag->severity == SEV_WARNING ||
        !analysis_offset(a, diag->span, &lo, &hi))
      continue;
    const Piece *p = piece_at(&d->pieces, lo);
    for (size_t k = p ? p->lo : 0; p && k < p->hi; k++) {
      if (strchr(" \t\r\n", text[k])) continue;
      text[k] = ' ';
      any = true;
    }
  }
  return any;
}

/* Takes the attempt that was refused. */
static Analysis *check_rest(const Document *d, const rly_options *options,
                            Analysis *a) {
  size_t len = d->text.bytes.len;
  rly_status status = RLY_REFUSED;
  char *text = malloc(len + 1);
  if (text) memcpy(text, strbuf_text(&d->text.bytes), len + 1);
  for (int i = 0; i < ROUNDS_MOST && a && status == RLY_REFUSED; i++) {
    bool any = text && blank_mistakes(d, a, text);
    analysis_drop(a);
    a = any ? attempt(options, d->path, text, len, &status) : NULL;
    if (a && accepted(a, status)) break;
  }
  free(text);
  if (a && status == RLY_OK) return a;
  analysis_drop(a);
  return NULL;
}

static void set_good(Document *d) {
  if (!d->now || !d->now->whole) return;
  analysis_drop(d->good);
  d->good = d->now;
  d->good->refs++;
}

void document_check(Document *d, const rly_options *options) {
  rly_status status;
  if (d->checked) return;
  if (d->text.bytes.len > LARGE) heap_in_huge_pages();
  Analysis *a = attempt(options, d->path, strbuf_text(&d->text.bytes),
                        d->text.bytes.len, &status);
  d->checked = true;
  if (!a) return;
  take_problems(d, a);
  if (accepted(a, status)) {
    a->whole = true;
    d->now = a;
  } else if (status == RLY_REFUSED) {
    d->now = check_rest(d, options, a);
  } else {
    analysis_drop(a);
  }
  set_good(d);
}
