/* Operators without a kernel, which the machine carries out itself: those that
 * print, assert, fail or compare structures.  OpSpecial has one for each
 * function here. */
#include "value/show.h"
#include "value/structure.h"
#include "vm/vm.h"

/* Operand i, without its records where the code is differentiated. */
static Value operand(const Session *s, const OpSite *site, const uint16_t *list,
                     int i) {
  const OpSource *source = &site->sources[i];
  return value_plain(source->type, s->regs[list[i]], source->kind != FROM_BITS);
}

static void write_text(Session *s, const char *text, size_t len) {
  if (s->hooks.write) s->hooks.write(s->hooks.data, text, len);
}

/* The text is made whole before it is written, so a stop in the middle of a
 * large value prints nothing of it. */
static bool special_print(Session *s, const OpSite *site,
                          const uint16_t *list) {
  StrBuf text;
  strbuf_init(&text, s->mem);
  value_print(&s->store, &text, site->sources[0].type,
              operand(s, site, list, 0), s->hooks.width ? s->hooks.width : 80,
              0, VALUE_SHOWN);
  strbuf_add_char(&text, '\n');
  bool whole = !store_should_stop(&s->store);
  if (whole) write_text(s, text.data, text.len);
  strbuf_done(&text);
  if (whole) return true;
  return mem_exhausted(s->mem) ? vm_out_of_memory(s) : vm_stopped(s);
}

/* Code points, or UTF-8 when the elements are bytes. */
static bool special_print_text(Session *s, const OpSite *site,
                               const uint16_t *list) {
  (void)site;
  const Tensor *t = s->regs[list[0]].tensor;
  StrBuf text;
  strbuf_init(&text, s->mem);
  int64_t n = tensor_count(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = tensor_i64_at(t, i);
    if (t->dtype == DT_UINT8) strbuf_add_char(&text, (char)c);
    else strbuf_add_code_point(&text, c);
  }
  write_text(s, text.data, text.len);
  strbuf_done(&text);
  return !mem_exhausted(s->mem) || vm_out_of_memory(s);
}

/* The values that fill in a message, after the operands of the row. */
typedef struct Shown {
  Session *s;
  const OpSite *site;
  const uint16_t *list;
  int first;
} Shown;

static void print_shown(void *of, StrBuf *out, int i) {
  const Shown *shown = of;
  int at = shown->first + i;
  value_print(&shown->s->store, out, shown->site->sources[at].type,
              operand(shown->s, shown->site, shown->list, at), MESSAGE_MOST, 0,
              VALUE_SHOWN);
}

/* Raises the error with its message, or with `otherwise` if that is empty. */
static bool fail_with(Session *s, const OpSite *site, const uint16_t *list,
                      DiagCode code, const char *before,
                      const char *otherwise) {
  Shown shown = {s, site, list, op_arg_count(site->op)};
  const AttrValue *v = attr_get(site->attrs, ATTR_message);
  StrBuf text;
  strbuf_init(&text, s->mem);
  message_fill(&text, v->state == AV_SET && v->text ? v->text : "",
               site->source_count - shown.first, print_shown, &shown);
  if (mem_exhausted(s->mem)) vm_out_of_memory(s);
  else if (store_should_stop(&s->store)) vm_stopped(s);
  else if (text.len == 0) vm_fault(s, code, "%s", otherwise);
  else vm_fault(s, code, "%s%s", before, strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

static bool special_assert(Session *s, const OpSite *site,
                           const uint16_t *list) {
  return s->regs[list[0]].b ||
         fail_with(s, site, list, E0605,
                   "assertion failed: ", "assertion failed");
}

static bool special_fail(Session *s, const OpSite *site, const uint16_t *list) {
  return fail_with(s, site, list, E0606, "", "failed");
}

static void look_at(void *of, Part p, Looked *out) {
  (void)of;
  *out = (Looked){.kind = PART_OTHER};
  if (p.type->kind == TY_TUPLE) {
    *out = (Looked){.kind = PART_TUPLE, .count = p.type->count};
  } else if (p.type->kind == TY_ADT && p.type->adt->ctor_count > 0) {
    const Ctor *ctor = &p.type->adt->ctors[p.v.obj->tag];
    *out =
        (Looked){.kind = PART_DATA, .count = ctor->field_count, .ctor = ctor};
  } else if (p.type->kind == TY_TENSOR && !type_is_scalar(p.type) &&
             dtype_is_float((DType)p.type->dtype)) {
    *out = (Looked){.kind = PART_FLOATS, .tensor = value_tensor(p.v)};
  }
}

static Part part_of(void *of, Part p, int i) {
  Session *s = of;
  Part made;
  made.v = value_field(&s->store, p.type, p.v, i, &made.type);
  return made;
}

static bool special_same_structure(Session *s, const OpSite *site,
                                   const uint16_t *list) {
  int n = site->source_count;
  Part *parts = ARENA_ARRAY(&s->scratch, Part, (size_t)n + 1);
  if (!parts) return vm_out_of_memory(s);
  for (int i = 0; i < n; i++)
    parts[i] = (Part){site->sources[i].type, s->regs[list[i]]};
  StrBuf text;
  strbuf_init(&text, s->mem);
  PartFns fns = {s, look_at, part_of, &s->store.stop};
  bool same = structures_agree(s->mem, &fns, n, parts, &text);
  if (mem_exhausted(s->mem)) same = vm_out_of_memory(s);
  else if (store_should_stop(&s->store)) same = vm_stopped(s);
  else if (!same) vm_fault(s, E0613, "%s", strbuf_text(&text));
  strbuf_done(&text);
  arena_reset(&s->scratch);
  return same;
}

/* Carries out one call; false after a fault. */
typedef bool (*SpecialFn)(Session *s, const OpSite *site, const uint16_t *list);

static const SpecialFn specials[SPECIAL_COUNT] = {
    [SPECIAL_PRINT] = special_print,
    [SPECIAL_PRINT_TEXT] = special_print_text,
    [SPECIAL_ASSERT] = special_assert,
    [SPECIAL_FAIL] = special_fail,
    [SPECIAL_SAME_STRUCTURE] = special_same_structure,
};

bool vm_special(Session *s, const Word *pc) {
  const OpSite *site = pc[1].data;
  return specials[site->op->special](s, site, ins_list(pc));
}
