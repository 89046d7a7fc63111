/* Documents: their texts, URIs, and places from one version to another. */
#include "server/document.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- URIs ----------------------------------------------------------------- */

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* file:///a%20b is /a b; any other URI stands for itself. */
static char *path_of_uri(const char *uri) {
  static const char scheme[] = "file://";
  if (strncmp(uri, scheme, sizeof scheme - 1)) return strdup(uri);
  const char *from = uri + sizeof scheme - 1;
  from += strcspn(from, "/");
  char *path = malloc(strlen(from) + 1), *to = path;
  if (!path) return NULL;
  while (*from) {
    int high = *from == '%' ? hex(from[1]) : -1;
    int low = high >= 0 ? hex(from[2]) : -1;
    bool coded = low >= 0 && high * 16 + low;
    *to++ = coded ? (char)(high * 16 + low) : *from;
    from += coded ? 3 : 1;
  }
  *to = '\0';
  return path;
}

char *uri_of_path(const char *path) {
  if (*path != '/') return strdup(path);
  char *uri = malloc(strlen(path) * 3 + 8), *to = uri;
  if (!uri) return NULL;
  to += sprintf(to, "file://");
  for (; *path; path++) {
    bool plain = isalnum((unsigned char)*path) || strchr("/-._~", *path);
    to += sprintf(to, plain ? "%c" : "%%%02X", (unsigned char)*path);
  }
  return uri;
}

/* --- Life ----------------------------------------------------------------- */

Document *document_new(Mem *mem, const char *uri, bool utf8) {
  Document *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  d->uri = strdup(uri);
  d->path = path_of_uri(uri);
  text_init(&d->text, mem, utf8);
  VEC_INIT(&d->tokens, mem);
  VEC_INIT(&d->pieces, mem);
  VEC_INIT(&d->problems, mem);
  if (d->uri && d->path) return d;
  document_free(d);
  return NULL;
}

static void clear_problems(Document *d) {
  for (size_t i = 0; i < d->problems.len; i++) {
    json_decref(d->problems.data[i].json);
    free(d->problems.data[i].fix.text);
  }
  VEC_CLEAR(&d->problems);
}

void document_free(Document *d) {
  clear_problems(d);
  analysis_drop(d->now);
  analysis_drop(d->good);
  VEC_DONE(&d->problems);
  VEC_DONE(&d->pieces);
  VEC_DONE(&d->tokens);
  text_done(&d->text);
  free(d->uri);
  free(d->path);
  free(d);
}

void document_touch(Document *d) {
  d->checked = d->published = false;
  clear_problems(d);
  analysis_drop(d->now);
  d->now = NULL;
  VEC_CLEAR(&d->tokens);
  VEC_CLEAR(&d->pieces);
  tokens_read(&d->text, &d->tokens);
  pieces_find(&d->text, &d->tokens, &d->pieces);
}

/* --- Places --------------------------------------------------------------- */

/* The byte of the older text; false: it lies in what has changed. */
static bool map_back(const Document *d, const SourceFile *old, size_t offset,
                     size_t *out) {
  const char *now = strbuf_text(&d->text.bytes);
  size_t n = d->text.bytes.len, m = old->len, same = 0, tail = 0;
  size_t most = n < m ? n : m;
  while (same < most && now[same] == old->text[same]) same++;
  while (tail < most - same && now[n - 1 - tail] == old->text[m - 1 - tail])
    tail++;
  *out = offset <= same ? offset : offset + m - n;
  return offset <= same || offset >= n - tail;
}

bool document_look(const Document *d, size_t offset, int k, Analysis **out,
                   uint32_t *at) {
  Analysis *a = k ? d->good : d->now;
  if (!a || (k && a == d->now)) return false;
  if (k && !map_back(d, a->source, offset, &offset)) return false;
  *out = a;
  *at = a->source->base + (uint32_t)offset;
  return true;
}

bool analysis_offset(const Analysis *a, Span span, size_t *lo, size_t *hi) {
  const SourceFile *f = a->source;
  if (span.lo < f->base || span.hi > f->base + f->len) return false;
  *lo = span.lo - f->base;
  *hi = span.hi - f->base;
  return true;
}
