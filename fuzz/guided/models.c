/* Fuzzing by coverage of ONNX files: the bytes are a model, which is read and
 * checked as `rly check MODEL.onnx` does, under limits.
 *
 *   the first byte   bit 0: the states of its recurrent layers become cells
 *   then             the model
 *
 * Where a model is read, the text that stands for it parses, and is printed as
 * the same program; whether the checker takes it is the model's affair.  No
 * file may crash, leak, hang, or take memory beyond the limit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/guided/bytes.h"
#include "lib/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_model(rly_context *cx, const char *path, bool stateful) {
  rly_program *p = rly_program_new(cx);
  const OnnxState state = {.recurrent = true};
  OnnxModel *m =
      p ? program_read_model(p, path, stateful ? &state : NULL) : NULL;
  if (m) {
    const char *text = strbuf_text(&m->text);
    Unit *unit = program_parse_text(p, "model.rly", text, m->text.len);
    if (!unit && !mem_exhausted(p->ir->mem)) {
      fprintf(stderr, "read as:\n%s\n", text);
      abort();
    }
    rly_program_add_text(p, "model.rly", text, m->text.len, 0);
    onnx_model_free(m);
  }
  rly_text_free(cx, rly_diagnostics_text(cx, false));
  rly_program_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  char path[64];
  snprintf(path, sizeof path, "/tmp/rly-guided-%d.onnx", (int)getpid());
  if (!write_file(path, data + 1, size - 1)) return 0;
  rly_options options = {.max_memory = 64 << 20, .timeout = 2, .safe = true};
  rly_context *cx = rly_context_new(&options);
  if (cx) check_model(cx, path, *data & 1);
  rly_context_free(cx);
  unlink(path);
  return 0;
}
