/* ONNX models as texts of a program.  onnx/ makes the text and reads the
 * weights; here both become part of a program.  Without protobuf-c a build has
 * no reader, and says so. */
#include <string.h>

#include "io/text.h"
#include "lib/onnx.h"

bool path_is_model(const char *path) {
  size_t len = strlen(path);
  return len > 5 && !strcmp(path + len - 5, ".onnx");
}

#if RLY_ONNX

/* The tensors are kept by references of their own. */
static void bind_weights(rly_program *p, const char *path,
                         const OnnxModel *model) {
  const char *file = arena_strndup(&p->arena, path, strlen(path));
  for (size_t i = 0; i < model->weights->tensors.len; i++) {
    const NamedTensor *t = &model->weights->tensors.data[i];
    const char *name = arena_strndup(&p->arena, t->name, strlen(t->name));
    VEC_PUSH(
        &p->bound,
        (Bound){.name = name, .file = file, .tensor = tensor_keep(t->tensor)});
  }
}

OnnxModel *program_read_model(rly_program *p, const char *path,
                              const OnnxState *state) {
  rly_context *cx = p->cx;
  OnnxModel *model =
      onnx_model_read(path, state, &cx->heap, &cx->names, &cx->diags);
  if (model) bind_weights(p, path, model);
  return model;
}

#else

OnnxModel *program_read_model(rly_program *p, const char *path,
                              const OnnxState *state) {
  (void)state;
  Diag *d =
      diag_error(&p->cx->diags, E0806, SPAN_NONE,
                 "%s: this rly was built without a reader of ONNX files", path);
  diag_hint(d, "build it with protobuf-c: make deps-onnx && make ONNX=1");
  return NULL;
}

void onnx_model_free(OnnxModel *m) { (void)m; }

bool onnx_value_read(const char *path, const OnnxType *type, Heap *heap,
                     Arena *arena, OnnxValue *out, Diags *diags) {
  (void)path, (void)type, (void)heap, (void)arena, (void)out, (void)diags;
  return false;
}

void onnx_value_drop(Heap *heap, OnnxValue *v) { (void)heap, (void)v; }

void onnx_each_op(const char *path, Mem *mem, Diags *diags,
                  void (*visit)(void *data, const char *name), void *data) {
  (void)path, (void)mem, (void)diags, (void)visit, (void)data;
}

#endif

bool program_source(rly_program *p, const char *path, char **text,
                    size_t *len) {
  Mem *mem = &p->cx->mem;
  if (!path_is_model(path))
    return text_read(mem, path, text, len, &p->cx->diags);
  OnnxModel *model = program_read_model(p, path, NULL);
  if (!model) return false;
  *len = model->text.len;
  *text = mem_alloc(mem, *len + 1);
  if (*text) memcpy(*text, strbuf_text(&model->text), *len + 1);
  else mem_raise_exhausted(mem);
  onnx_model_free(model);
  return *text != NULL;
}
