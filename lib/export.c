/* Functions of a program as ONNX models.  export/ makes the model; here it is
 * told what is bound to params.  A build without protobuf-c has no writer, and
 * says so. */
#include "lib/export.h"

#if RLY_ONNX
#include "export/export.h"
#include "lib/path.h"
#include "value/value.h"

static bool part_of(rly_program *p, const Type *type, Value v, const char *path,
                    ExportPart *out);

static ExportPart *parts_new(rly_program *p, ExportPart *of, int64_t count) {
  ExportPart *parts = ARENA_ARRAY(&p->arena, ExportPart, (size_t)count + 1);
  of->count = count;
  of->parts = parts;
  return parts;
}

static bool is_cons(Value v, const Ctor *cons) {
  return (int)v.obj->tag == cons->tag;
}

/* A list is as deep as it is long, so its elements are gone through in turn. */
static bool list_parts(rly_program *p, const Type *type, Value v,
                       const char *path, const Ctor *cons, ExportPart *out) {
  const Type *element = path_field_type(p, type, cons, 0);
  int64_t count = 0;
  for (Value at = v; is_cons(at, cons); at = cell_fields((Cell *)at.obj)[1])
    count++;
  ExportPart *parts = parts_new(p, out, count);
  bool ok = parts;
  out->list = true;
  out->ctor = cons;
  for (int64_t i = 0; ok && i < count; i++) {
    Value *fields = cell_fields((Cell *)v.obj);
    ok = part_of(p, element, fields[0], path_join_index(&p->arena, path, i),
                 &parts[i]);
    v = fields[1];
  }
  return ok;
}

static bool field_parts(rly_program *p, const Type *type, Value v,
                        const char *path, const Ctor *ctor, ExportPart *out) {
  int count = ctor ? ctor->field_count : type->count;
  ExportPart *parts = parts_new(p, out, count);
  bool ok = parts;
  out->ctor = ctor;
  for (int i = 0; ok && i < count; i++) {
    const Type *field =
        ctor ? path_field_type(p, type, ctor, i) : type->args[i];
    const char *at = ctor ? path_of_field(&p->arena, path, ctor, i)
                          : path_join_index(&p->arena, path, i);
    ok = part_of(p, field, cell_fields((Cell *)v.obj)[i], at, &parts[i]);
  }
  return ok;
}

/* A value that the code has, as the exporter wants it, whose tensors have the
 * names by which they are bound.  False: memory ran out. */
static bool part_of(rly_program *p, const Type *type, Value v, const char *path,
                    ExportPart *out) {
  *out = (ExportPart){.type = type, .name = path};
  if (type->kind == TY_TENSOR) {
    out->tensor = type_is_scalar(type)
                      ? program_scalar(p->ir, (DType)type->dtype, v)
                      : v.tensor;
    return out->tensor;
  }
  if (type->kind == TY_TUPLE) return field_parts(p, type, v, path, NULL, out);
  const Adt *adt = type->adt;
  const Ctor *cons = path_cons_of(adt);
  if (cons) return list_parts(p, type, v, path, cons, out);
  return field_parts(p, type, v, path, &adt->ctors[v.obj->tag], out);
}

/* A param of parts without a default may be such that nothing has to be bound:
 * an empty list. */
static const ExportPart *param_part(void *data, const Global *g, bool *failed) {
  rly_program *p = data;
  const char *name = g->name->text;
  bool parts = param_has_parts(g);
  bool bound = parts ? param_is_bound(p, g) : find_bound(p, name) != NULL;
  if (!bound && (g->value || !parts)) return NULL;
  ExportPart *part = ARENA_NEW(&p->arena, ExportPart);
  const Value *v = parts && part ? param_parts(p, g) : NULL;
  if (v) *failed = !part_of(p, g->type, *v, name, part);
  else *failed = true;
  if (parts || !part) return part;
  *part = (ExportPart){.type = g->type, .name = name};
  part->tensor = bound_tensor(p, name, g->type, g->span);
  *failed = !part->tensor;
  return part;
}

bool program_write_model(rly_program *p, const char *entry, int64_t opset,
                         bool external, const char *path) {
  const Global *g = scope_global(&p->ir->user, name_of(&p->cx->names, entry));
  if (!g || g->kind != GLOBAL_DEF) {
    program_no_function(p->ir, NULL, entry);
    return false;
  }
  ExportWish wish = {opset, external, param_part, p};
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
