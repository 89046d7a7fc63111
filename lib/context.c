/* Contexts: the memory, the sources and the options that programs share. */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "io/file.h"
#include "lib/handles.h"
#include "kernels/isa.h"

const char *rly_version(void) { return RLY_VERSION_TEXT; }

bool rly_instruction_set(const char *name) { return isa_select(name); }

/* --- Life --------------------------------------------------------------- */

static bool sensible(const rly_options *o) {
  return !o || (o->threads >= 0 && o->timeout >= 0); /* false for NaN */
}

rly_context *rly_context_new(const rly_options *options) {
  rly_context *cx = sensible(options) ? calloc(1, sizeof *cx) : NULL;
  if (!cx) return NULL;
  if (options) cx->options = *options;
  size_t limit = cx->options.max_memory;
  if (!mem_init(&cx->mem, limit ? limit : SIZE_MAX)) {
    free(cx);
    return NULL;
  }
  atomic_init(&cx->refs, 1);
  lock_init(&cx->lock);
  names_init(&cx->names, &cx->mem);
  sources_init(&cx->sources, &cx->mem);
  bool fine = diags_init(&cx->diags, &cx->mem);
  cx->diags.sources = &cx->sources;
  heap_init(&cx->heap, &cx->mem);
  if (fine) return cx;
  context_drop(cx);
  return NULL;
}

void rly_context_free(rly_context *cx) {
  if (cx) context_drop(cx);
}

/* --- Text for the host -------------------------------------------------- */

void rly_text_free(rly_context *cx, char *text) {
  if (cx && text) mem_free(&cx->mem, text, strlen(text) + 1);
}

bool file_replace(rly_context *cx, const char *path, const StrBuf *text) {
  FileOut out;
  if (!file_out_open(&out, &cx->mem, path, &cx->diags)) return false;
  bool fine = fwrite(strbuf_text(text), 1, text->len, out.stream) == text->len;
  return file_out_close(&out, fine);
}
