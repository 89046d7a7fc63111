/* Functions of a program as ONNX models.  export/ makes the model; here it is
 * told what is bound to params.  A build without protobuf-c has no writer, and
 * says so. */
#include "lib/export.h"

#if RLY_ONNX
#include "export/export.h"
#include "lib/path.h"
#include "value/value.h"

static bool make_part(rly_program *p, const Type *type, const char *path,
                      Value v, ExportPart *out);

static ExportPart *new_parts(rly_program *p, ExportPart *of, int64_t count) {
  ExportPart *parts = ARENA_ARRAY(&p->arena, ExportPart, (size_t)count + 1);
  of->count = count;
  of->parts = parts;
  return parts;
}

/* A list is as deep as it is long, so its elements are gone through in turn. */
static bool make_elements(rly_program *p, Value v, ExportPart *list) {
  const Ctor *cons = list->ctor;
  const Type *type = path_field_type(p, list->type, cons, 0);
  int64_t count = 0;
  for (Value at = v; (int)at.obj->tag == cons->tag;
       at = cell_fields(at.cell)[1])
    count++;
  ExportPart *parts = new_parts(p, list, count);
  bool ok = parts;
  for (int64_t i = 0; ok && i < count; i++) {
    const Value *fields = cell_fields(v.cell);
    ok = make_part(p, type, path_join_index(&p->arena, list->name, i),
                   fields[0], &parts[i]);
    v = fields[1];
  }
  return ok;
}

static bool make_fields(rly_program *p, Value v, ExportPart *of) {
  const Ctor *ctor = of->ctor;
  int count = ctor ? ctor->field_count : of->type->count;
  ExportPart *parts = new_parts(p, of, count);
  bool ok = parts;
  for (int i = 0; ok && i < count; i++) {
    const Type *type =
        ctor ? path_field_type(p, of->type, ctor, i) : of->type->args[i];
    const char *path = ctor ? path_of_field(&p->arena, of->name, ctor, i)
                            : path_join_index(&p->arena, of->name, i);
    ok = make_part(p, type, path, cell_fields(v.cell)[i], &parts[i]);
  }
  return ok;
}

/* The value as the exporter wants it; its tensors are named by their paths.
 * The tensors of scalars are made in the program, others are borrowed from the
 * value.  False: memory ran out. */
static bool make_part(rly_program *p, const Type *type, const char *path,
                      Value v, ExportPart *out) {
  *out = (ExportPart){.type = type, .name = path};
  if (type->kind == TY_TENSOR) {
    out->tensor = type_is_scalar(type)
                      ? program_scalar(p->ir, (DType)type->dtype, v)
                      : v.tensor;
    return out->tensor;
  }
  if (type->kind == TY_ADT) {
    const Ctor *cons = path_cons_of(type->adt);
    out->list = cons;
    out->ctor = cons ? cons : &type->adt->ctors[v.obj->tag];
  }
  return out->list ? make_elements(p, v, out) : make_fields(p, v, out);
}

/* What is bound to a param.  A param that has parts and no default may have a
 * value of which nothing is bound, an empty list. */
static const ExportPart *param_part(void *data, const Global *g, bool *failed) {
  rly_program *p = data;
  const char *name = g->name->text;
  bool has_parts = param_has_parts(g);
  bool bound = has_parts ? param_is_bound(p, g) : find_bound(p, name) != NULL;
  if (!bound && (g->value || !has_parts)) return NULL;
  ExportPart *part = ARENA_NEW(&p->arena, ExportPart);
  *failed = true;
  if (part && has_parts) {
    const Value *v = param_parts(p, g);
    *failed = !v || !make_part(p, g->type, name, *v, part);
  } else if (part) {
    *part = (ExportPart){.type = g->type, .name = name};
    part->tensor = bound_tensor(p, name, g->type, g->span);
    *failed = !part->tensor;
  }
  return part;
}

static const char *part_path(void *data, const char *path, const Ctor *ctor,
                             int64_t i) {
  rly_program *p = data;
  return ctor && path_cons_of(ctor->adt) != ctor
             ? path_of_field(&p->arena, path, ctor, (int)i)
             : path_join_index(&p->arena, path, i);
}

bool program_write_model(rly_program *p, const char *entry, int64_t opset,
                         bool external, const char *path) {
  const Global *g = scope_global(&p->ir->user, name_of(&p->cx->names, entry));
  if (!g || g->kind != GLOBAL_DEF) {
    program_no_function(p->ir, NULL, entry);
    return false;
  }
  ExportWish wish = {opset, external, param_part, part_path, p};
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
