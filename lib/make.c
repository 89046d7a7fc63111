/* Values that a host makes of others: tuples, and constructors of data types.
 * Tensors come from value.c; layout.c makes a value of a fixed form from its
 * parts at once.
 *
 * The fields are borrowed, and shared by the value that is made. */
#include <stdio.h>
#include <string.h>

#include "lib/handles.h"

enum { MADE_FIELDS_MAX = 1000 }; /* of a tuple: they go by the C stack */

/* The fields with references of their own. */
static void take_fields(int count, rly_value *const *fields, Value *values) {
  for (int i = 0; i < count; i++) {
    value_keep(fields[i]->type, fields[i]->value);
    values[i] = fields[i]->value;
  }
}

/* A handle on the value, which is owned, if it could be made; NULL after
 * reporting that memory is out. */
static rly_value *handle_of(rly_session *s, const Type *type, bool made,
                            Value v) {
  rly_value *handle = made ? value_handle_take(s, type, v) : NULL;
  if (handle) return handle;
  session_out_of_memory(s);
  return NULL;
}

/* --- Tuples ------------------------------------------------------------- */

/* Tuples of the same fields have one type, which is looked up under the lock of
 * the table that sessions share. */
static const Type *tuple_type(rly_session *s, int count,
                              rly_value *const *fields) {
  SharedValues *shared = store_of(s)->shared;
  const Type *types[count + 1];
  for (int i = 0; i < count; i++) types[i] = fields[i]->type;
  pthread_mutex_lock(shared->lock);
  const Type *type = type_tuple(shared->types, count, types);
  pthread_mutex_unlock(shared->lock);
  return type;
}

static rly_value *tuple(rly_session *s, int count, rly_value *const *fields) {
  Value values[count + 1], made = {0};
  const Type *type = tuple_type(s, count, fields);
  take_fields(count, fields, values);
  bool ok = value_tuple(store_of(s), type, values, &made);
  return handle_of(s, type, ok, made);
}

rly_value *rly_value_tuple(rly_session *s, int count,
                           rly_value *const *fields) {
  if (!s || count > MADE_FIELDS_MAX || !are_own(s, count, fields)) {
    misuse(__func__, "fields must be up to %d values of the session",
           MADE_FIELDS_MAX);
    return NULL;
  }
  if (!session_hold(s)) return NULL;
  rly_value *v = s->freed ? NULL : tuple(s, count, fields);
  session_release(s);
  return v;
}

/* --- Constructors ------------------------------------------------------- */

static const Ctor *find_ctor(const Adt *adt, const char *name) {
  for (int i = 0; i < adt->ctor_count; i++)
    if (!strcmp(adt->ctors[i].name->text, name)) return &adt->ctors[i];
  return NULL;
}

/* The machine trusts the type of the whole and looks at no shape of a tensor
 * within; so it is looked at here. */
static bool fields_fit(rly_session *s, const Type *type, const Ctor *c,
                       rly_value *const *fields, const Type **types) {
  for (int i = 0; i < c->field_count; i++) {
    types[i] = value_ctor_field(store_of(s), type, c->tag, i);
    if (passes_as(fields[i]->type, types[i]) &&
        value_fits(types[i], fields[i]->value))
      continue;
    char what[96];
    snprintf(what, sizeof what, "field %d of `%.60s`", i, c->name->text);
    report_misfit_type(s, what, types[i], fields[i]->type);
    return false;
  }
  return true;
}

static rly_value *construct(rly_session *s, const Type *type, const Ctor *c,
                            rly_value *const *fields) {
  int count = c->field_count;
  Value values[count + 1], made = {0};
  const Type *types[count + 1];
  if (!fields_fit(s, type, c, fields, types)) return NULL;
  take_fields(count, fields, values);
  bool ok = value_cell(store_of(s), c->tag, count, types, values, &made);
  return handle_of(s, type, ok, made);
}

rly_value *rly_value_construct(rly_session *s, const rly_type *t,
                               const char *constructor, int count,
                               rly_value *const *fields) {
  if (!require(s, "the session is NULL") ||
      !require(program_has_type(s->program, t),
               "it is no type of the session's program"))
    return NULL;
  const Type *type = (const Type *)t;
  const Ctor *c = type->kind == TY_ADT && constructor
                      ? find_ctor(type->adt, constructor)
                      : NULL;
  if (!c || c->field_count != count || !are_own(s, count, fields)) {
    if (c)
      misuse(__func__, "`%s` has %d fields, values of the session, not %d",
             c->name->text, c->field_count, count);
    else misuse(__func__, "the type has no constructor of that name");
    return NULL;
  }
  if (!session_hold(s)) return NULL;
  rly_value *v = s->freed ? NULL : construct(s, type, c, fields);
  session_release(s);
  return v;
}
