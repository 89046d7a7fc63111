/* Coverage-guided fuzzing of files: the bytes are read as a file of tensors, of
 * each format by its suffix, as a session's saved state, and as what a run has
 * kept for the next (lib/kept.h).
 *
 *   the first byte   which of the suffixes below, modulo their number
 *   then             the file
 *
 * What is read is written in each format that takes it, and read again.  No
 * file may crash, leak, hang, or take memory beyond the limit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/guided/bytes.h"
#include "lib/kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const suffixes[] = {
    ".npy", ".npz", ".safetensors", ".params", ".json", ".state", ".kept"};
enum { SUFFIX_COUNT = sizeof suffixes / sizeof *suffixes, STATE = 5, KEPT };

static const char program[] =
    "type Tree { Leaf, Node(Tree, Tensor[(?), float32], Tree) }\n"
    "let @n = ref(0); let @t = ref(Leaf); let @l = ref(List[1f, 2f]);\n"
    "let @w = ref(zeros(shape=[2, 3], dtype=\"float32\"));\n"
    "let @u = ref((True, 1i64)); let @o = ref(Some([1u8]));\n";

static void load_state(rly_context *cx, const char *path) {
  rly_program *p = rly_program_new(cx);
  bool ok =
      p && rly_program_add_text(p, "p", program, strlen(program), 0) == RLY_OK;
  rly_session *s = ok ? rly_session_new(p, NULL) : NULL;
  if (s && rly_session_run(s, NULL, NULL) == RLY_OK) {
    char *report = NULL;
    if (rly_session_load(s, path) != RLY_OK)
      rly_session_carry_file(s, path, &report);
    rly_text_free(cx, report);
    char saved[64];
    snprintf(saved, sizeof saved, "/tmp/rly-guided-%d.saved", (int)getpid());
    /* what was loaded can be saved, and what was saved loads */
    if (rly_session_save(s, saved) == RLY_OK &&
        rly_session_load(s, saved) != RLY_OK)
      abort();
    unlink(saved);
  }
  rly_session_free(s);
  rly_program_free(p);
}

static void show(void *data, Span place, const char *line) {
  (void)data, (void)place, (void)line;
}

/* The width is that of the run which made the first corpus, for keys depend on
 * it. */
static void run_kept(rly_context *cx, const uint8_t *data, size_t size) {
  const rly_session_options options = {.width = 80};
  rly_program *p = rly_program_new(cx);
  bool ok = p && rly_program_add_file(p, "fuzz/guided/kept.rly", 0) == RLY_OK;
  rly_session *s = ok ? rly_session_new(p, &options) : NULL;
  char *was = malloc(size + 1);
  if (s && was) {
    memcpy(was, data, size);
    was[size] = '\0';
    KeptRun run = {
        .was = was, .was_len = size, .keep_over = 1e-9, .value = show};
    session_run_kept(s, &run);
    free(run.now);
  }
  free(was);
  rly_session_free(s);
  rly_program_free(p);
}

static void read_tensors(rly_context *cx, const char *path) {
  rly_tensors *all = NULL;
  if (rly_tensors_read(cx, path, &all) != RLY_OK) return;
  for (size_t i = 0; i < rly_tensors_count(all); i++) {
    const char *name = rly_tensors_name(all, i);
    rly_tensor_free(name ? rly_tensors_get(all, name) : NULL);
  }
  char again[64];
  for (int i = 1; i < 4; i++) {
    snprintf(again, sizeof again, "/tmp/rly-guided-%d.again%s", (int)getpid(),
             suffixes[i]);
    if (rly_tensors_write(all, again) == RLY_OK) {
      rly_tensors *back = NULL;
      if (rly_tensors_read(cx, again, &back) == RLY_OK) rly_tensors_free(back);
    }
    unlink(again);
  }
  rly_tensors_free(all);
}

static void read_file(rly_context *cx, int kind, const uint8_t *data,
                      size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/rly-guided-%d%s", (int)getpid(),
           suffixes[kind]);
  if (!write_file(path, data, size)) return;
  if (kind == STATE) load_state(cx, path);
  else read_tensors(cx, path);
  unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  int kind = *data % SUFFIX_COUNT;
  rly_options options = {.max_memory = 64 << 20, .timeout = 2};
  rly_context *cx = rly_context_new(&options);
  if (cx && kind == KEPT) run_kept(cx, data + 1, size - 1);
  else if (cx) read_file(cx, kind, data + 1, size - 1);
  rly_context_free(cx);
  return 0;
}
