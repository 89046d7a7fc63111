/* Reads what flags give for parameters, files among them, and makes the program
 * for it.  What becomes of the program is passes/specialise.c's. */
#include "passes/specialise.h"

#include <string.h>

#include "lib/handles.h"

/* The tensor of that name, or the only one. */
static Tensor *choose(rly_program *p, const TensorFile *f, const Given *g,
                      const char *path) {
  for (size_t i = 0; i < f->tensors.len; i++)
    if (!strcmp(f->tensors.data[i].name, g->name->text))
      return f->tensors.data[i].tensor;
  for (size_t i = 0; i < f->left_out.len; i++) {
    const LeftOut *t = &f->left_out.data[i];
    if (strcmp(t->name, g->name->text)) continue;
    diag_error(p->ir->diags, E0542, g->what, "cannot read `%s` of %s: %s",
               t->name, path, t->why);
    return NULL;
  }
  if (f->tensors.len == 1 && f->left_out.len == 0)
    return f->tensors.data[0].tensor;
  Diag *d = diag_error(p->ir->diags, E0542, g->what,
                       "%s has %zu tensors, but none of the name `%s`", path,
                       f->tensors.len + f->left_out.len, g->name->text);
  if (f->tensors.len == 0 && f->left_out.len > 0)
    diag_note(d, SPAN_NONE, "none of these can be read; `%s`: %s",
              f->left_out.data[0].name, f->left_out.data[0].why);
  Suggestion near = suggestion_for(g->name->text);
  for (size_t i = 0; i < f->tensors.len; i++)
    suggestion_offer(&near, f->tensors.data[i].name);
  if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
  return NULL;
}

static bool read_value(rly_program *p, const char *text, Given *out) {
  const char *path;
  if (!given_read_file(p->ir, "--bind", text, out, &path)) return false;
  TensorFile *file = tensors_read(p->cx, path);
  if (!file) return false;
  Tensor *t = choose(p, file, out, path);
  bool ok = t && given_take(p->ir, out, tensor_keep(t));
  tensor_file_free(file);
  return ok;
}

bool program_specialise(rly_program *p, Unit *unit) {
  const GivenTexts *texts = &p->given;
  size_t count = (size_t)texts->shape_count + (size_t)texts->file_count;
  if (count == 0) return true;
  Given *given = ARENA_ARRAY(&unit->arena, Given, count + 1);
  bool ok = given != NULL;
  int n = 0;
  for (int i = 0; ok && i < texts->shape_count; i++)
    ok = given_read_shape(p->ir, "--bind-shape", texts->shapes[i], &given[n++]);
  for (int i = 0; ok && i < texts->file_count; i++)
    ok = read_value(p, texts->files[i], &given[n++]);
  const char *entry = texts->entry;
  const Name *name =
      entry ? name_of(p->ir->names, entry + (*entry == '@')) : NULL;
  return ok && specialise(p->ir, unit, name, n, given);
}
