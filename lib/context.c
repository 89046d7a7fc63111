/* Contexts and their diagnostics. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "io/file.h"
#include "lib/handles.h"
#include "ops/simd/select.h"

const char *rly_version(void) { return RLY_VERSION_TEXT; }

bool rly_instruction_set(const char *name) { return simd_select(name); }

rly_context *rly_context_new(const rly_options *options) {
  rly_context *cx = calloc(1, sizeof *cx);
  if (!cx) return NULL;
  if (options) cx->options = *options;
  size_t limit = cx->options.max_memory;
  if (!mem_init(&cx->mem, limit ? limit : SIZE_MAX)) {
    free(cx);
    return NULL;
  }
  names_init(&cx->names, &cx->mem);
  sources_init(&cx->sources, &cx->mem);
  diags_init(&cx->diags, &cx->mem);
  cx->diags.sources = &cx->sources;
  heap_init(&cx->heap, &cx->mem);
  return cx;
}

void rly_context_free(rly_context *cx) {
  if (!cx) return;
  heap_done(&cx->heap);
  diags_done(&cx->diags);
  sources_done(&cx->sources);
  names_done(&cx->names);
  assert(atomic_load(&cx->mem.live) == 0);
  mem_done(&cx->mem);
  free(cx);
}

/* --- Text for the host -------------------------------------------------- */

char *text_take(rly_context *cx, StrBuf *text) {
  char *copy = mem_alloc(&cx->mem, text->len + 1);
  if (copy) memcpy(copy, strbuf_text(text), text->len + 1);
  strbuf_done(text);
  return copy;
}

void rly_text_free(rly_context *cx, char *text) {
  if (cx && text) mem_free(&cx->mem, text, strlen(text) + 1);
}

bool file_replace(rly_context *cx, const char *path, const StrBuf *text) {
  FileOut out;
  if (!file_out_open(&out, &cx->mem, path, &cx->diags)) return false;
  bool fine = fwrite(strbuf_text(text), 1, text->len, out.stream) ==
              text->len;
  return file_out_close(&out, fine);
}

/* --- Diagnostics -------------------------------------------------------- */

size_t rly_diagnostic_count(const rly_context *cx) {
  return cx ? cx->diags.list.len : 0;
}

char *rly_diagnostics_text(rly_context *cx, bool colour) {
  if (!cx) return NULL;
  StrBuf out;
  strbuf_init(&out, &cx->mem);
  diags_render(&cx->diags, &cx->sources, colour, &out);
  return text_take(cx, &out);
}

char *rly_diagnostics_json(rly_context *cx) {
  if (!cx) return NULL;
  StrBuf out;
  strbuf_init(&out, &cx->mem);
  for (size_t i = 0; i < cx->diags.list.len; i++)
    diag_render_json(cx->diags.list.data[i], &cx->sources, &out);
  return text_take(cx, &out);
}

void rly_diagnostics_clear(rly_context *cx) {
  if (cx) diags_clear(&cx->diags);
}

void rly_diagnostic_add(rly_context *cx, const char *code,
                        const char *message) {
  if (!cx || !code || !message) return;
  DiagCode known = diag_code_find(code);
  if (known == DIAG_CODE_COUNT) known = E0506;
  diag_error(&cx->diags, known, SPAN_NONE, "%s", message);
}
