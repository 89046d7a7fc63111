/* Functions of a program as ONNX models.  export/ makes the model; here it is
 * told what is bound to params.  A build without protobuf-c has no writer, and
 * says so. */
#include "lib/export.h"

#if RLY_ONNX
#include "export/export.h"

static const Tensor *param_tensor(void *data, const Global *g, bool *failed) {
  rly_program *p = data;
  if (!find_bound(p, g->name->text)) return NULL;
  const Tensor *t = bound_tensor(p, g->name->text, g->type, g->span);
  *failed = t == NULL;
  return t;
}

bool program_write_model(rly_program *p, const char *entry, int64_t opset,
                         bool external, const char *path) {
  const Global *g = scope_global(&p->ir->user, name_of(&p->cx->names, entry));
  if (!g || g->kind != GLOBAL_DEF) {
    program_no_function(p->ir, NULL, entry);
    return false;
  }
  ExportWish wish = {opset, external, param_tensor, p};
  return program_export(p->ir, g, &wish, path);
}

#else

bool program_write_model(rly_program *p, const char *entry, int64_t opset,
                         bool external, const char *path) {
  (void)entry, (void)opset, (void)external;
  Diag *d =
      diag_error(&p->cx->diags, E0806, SPAN_NONE,
                 "%s: this rly was built without a writer of ONNX files", path);
  diag_hint(d, "build it with protobuf-c: make deps-onnx && make ONNX=1");
  return false;
}

#endif
