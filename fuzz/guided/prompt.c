/* Fuzzing by coverage of what a user types: bytes become entries of the prompt,
 * which NULs part.
 *
 *   the first byte   bit 0: at most 1 MiB of memory, not 64; bit 1: earlier
 *                    definitions are not checked again; bit 2: print
 *   then             entry NUL entry NUL ...
 *
 * Each entry is checked and run under limits, and its values are written as
 * text and as JSON; after the last one the session is asked for its state. With
 * bit 2 each entry that parses is printed, and must read back as the same
 * program (the rule of rly fmt).  The rest is up to the sanitizers: no entry
 * may crash, leak or hang. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALL = 1, ALONE = 2, PRINTED = 4 };

static void show(void *data, rly_value *v) {
  rly_context *cx = data;
  char *text = rly_value_text(v), *json = rly_value_json(v);
  rly_text_free(cx, text);
  rly_text_free(cx, json);
}

/* The rule of rly fmt: a text that parses is printed as the same program. */
static void print_and_read_back(rly_context *cx, const char *text, size_t len) {
  rly_program *p = rly_program_new(cx);
  Unit *unit = p ? program_parse_text(p, "a", text, len) : NULL;
  if (unit) {
    StrBuf out;
    strbuf_init(&out, p->ir->mem);
    unit_print(p->ir, unit, &out);
    if (!mem_exhausted(p->ir->mem)) {
      Unit *again = program_parse_text(p, "b", strbuf_text(&out), out.len);
      bool same = again && unit_equal(p->ir->mem, unit, again);
      if (!same && !mem_exhausted(p->ir->mem)) {
        fprintf(stderr, "printed as:\n%s\n", strbuf_text(&out));
        abort();
      }
    }
    strbuf_done(&out);
  }
  rly_program_free(p);
  rly_diagnostics_clear(cx);
}

static void look_at_state(rly_session *s) {
  rly_state *state = rly_session_state(s);
  for (size_t i = 0; state && i < rly_state_count(state); i++)
    rly_state_type(state, i);
  rly_state_free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  unsigned mode = *data++;
  size--;
  rly_options options = {.max_memory = mode & SMALL ? 1 << 20 : 64 << 20,
                         .max_depth = 10000,
                         .timeout = 1,
                         .safe = true,
                         .verify = true};
  rly_context *cx = rly_context_new(&options);
  rly_program *p = cx ? rly_program_new(cx) : NULL;
  rly_session *s = p ? rly_session_new(p, NULL) : NULL;
  unsigned flags =
      RLY_INTERACTIVE | RLY_NAME_RESULTS | (mode & ALONE ? 0 : RLY_RECHECK);
  while (s && size) {
    const uint8_t *end = memchr(data, 0, size);
    size_t len = end ? (size_t)(end - data) : size;
    char *entry = malloc(len + 1); /* its end is the end of an allocation */
    if (!entry) break;
    memcpy(entry, data, len);
    entry[len] = '\0';
    if (mode & PRINTED) print_and_read_back(cx, entry, len);
    if (rly_program_add_text(p, "entry", entry, len, flags) == RLY_OK &&
        rly_session_run(s, show, cx) != RLY_OK)
      rly_session_skip(s);
    rly_text_free(cx, rly_diagnostics_text(cx, true));
    rly_diagnostics_clear(cx);
    rly_session_diagnostics_clear(s);
    free(entry);
    data += len;
    size -= len;
    if (end) data++, size--;
  }
  if (s) look_at_state(s);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
  return 0;
}
