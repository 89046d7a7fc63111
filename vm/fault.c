/* Run-time errors: the message, the calls that were under way, and the way out,
 * which drops exactly what every frame owns.
 *
 * A fault is raised in two halves.  vm_fault() makes the diagnostic, at the
 * place of the instruction that s->pc points to, and returns false, which every
 * function between it and the loop passes on.  The loop then calls vm_unwind(),
 * which visits the frames from the innermost to the bottom, adds each to the
 * trace, and drops the counted registers that are live there.
 *
 * What is live is not found by looking at registers, which may hold anything:
 * the code generator wrote down for each instruction that may fail which
 * registers own a reference while it is under way (LiveAt).  An instruction
 * that fails must leave each of these registers owning one reference. */
#include <stdarg.h>
#include <stdio.h>

#include "value/show.h"
#include "vm/vm.h"

/* --- Raising ------------------------------------------------------------ */

/* Limits and interrupts have a status of their own, because a host may raise
 * the limit or try again; an error of the program will come again. */
static RunStatus status_of(DiagCode code) {
  switch (code) {
    case E0701:
    case E0702:
    case E0703:
    case E0705:
    case E0707: return RUN_LIMIT;
    case E0704: return RUN_INTERRUPTED;
    default: return RUN_ERROR;
  }
}

/* The text is cut at 1 KB. */
static bool raise(Session *s, Span span, DiagCode code, const char *format,
                  va_list args) {
  char text[1024];
  vsnprintf(text, sizeof text, format, args);
  s->fault = diag_new(s->diags, SEV_RUNTIME, code, span, "%s", text);
  s->status = status_of(code);
  return false;
}

bool vm_fault(Session *s, DiagCode code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  raise(s, code_place(s->code, s->pc).span, code, format, args);
  va_end(args);
  return false;
}

bool vm_fault_at(Session *s, Span span, DiagCode code, const char *format,
                 ...) {
  va_list args;
  va_start(args, format);
  raise(s, span, code, format, args);
  va_end(args);
  return false;
}

/* Says which limit refused: the session's or the context's.  A refusal by the
 * system itself has no limit to tell, nor has a size that overflowed.  The
 * report is made before `exhausted` is cleared, since making it may be refused
 * memory, too. */
bool vm_out_of_memory(Session *s) {
  Mem *mem = s->mem, *by = mem->refuser ? mem->refuser : mem_root(mem);
  char asked[SIZE_TEXT], live[SIZE_TEXT], limit[SIZE_TEXT];
  if (mem->refused == SIZE_MAX)
    vm_fault(s, E0701, "out of memory: more asked for than can be addressed");
  else if (by->limit == SIZE_MAX) vm_fault(s, E0701, "out of memory");
  else
    vm_fault(s, E0701, "out of memory: %s more asked for, with %s of %s in use",
             size_text(mem->refused, asked), size_text(by->live, live),
             size_text(by->limit, limit));
  mem_clear_exhausted(mem); /* also what the report was refused */
  return false;
}

/* STOP_TIMEOUT comes from the watchdog, at the end of the limit or at once,
 * when its thread could not be made. */
bool vm_stopped(Session *s) {
  if (atomic_load(&s->store.stop) == STOP_TIMEOUT && s->deadline.unwatched)
    return vm_fault(s, E0703,
                    "a time limit needs a thread, and none could be made");
  if (atomic_load(&s->store.stop) == STOP_TIMEOUT)
    return vm_fault(s, E0703, "time limit of %g s reached", s->limits.timeout);
  if (atomic_load(&s->store.stop) == STOP_STEPS)
    return vm_fault(s, E0707, "step limit of %llu reached",
                    (unsigned long long)s->limits.max_steps);
  return vm_fault(s, E0704, "interrupted");
}

RunStatus session_stopped(Session *s, Span span) {
  if (!store_should_stop(&s->store)) return RUN_OK;
  if (mem_exhausted(s->mem)) vm_out_of_memory(s);
  else vm_stopped(s);
  if (s->fault) s->fault->span = span;
  return s->status;
}

/* --- Faults that show values -------------------------------------------- */

/* The value is shown as far as its eighth part, in 80 columns, and its type
 * stands below the source line. */
bool vm_no_match(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  StrBuf text;
  strbuf_init(&text, s->mem);
  Value v = value_plain(type, s->regs[pc->a], pc->b);
  value_print(&s->store, &text, type, v, 80, 0, 8);
  vm_fault(s, E0601, "no arm of this match takes %s", strbuf_text(&text));
  VEC_CLEAR(&text);
  type_print(s->code->program->types, &text, type, TYPE_TEXT_LINE);
  diag_caption(s->fault, "%s", strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

/* A dimension is compared only where it is a number once the named dimensions
 * have been put in; a hole (`?`) fits any. */
static bool tensor_fits(const Session *s, const Tensor *t, const Type *expected,
                        DimValues names) {
  DimTable *dims = types_dims(s->code->program->types);
  if (t->rank != expected->rank) return false;
  for (int i = 0; i < t->rank; i++) {
    Dim d = dim_number(dims, expected->dims[i], names);
    if (!dim_is_hole(d) && !dim_is(d, t->shape[i])) return false;
  }
  return true;
}

static void note_names(Session *s, DimValues names) {
  for (int i = 0; i < names.count; i++) {
    const TypeVar *var = names.keys[i];
    diag_note(s->fault, var->number->span, "`%s` is bound here",
              var->name->text);
  }
}

static bool check_failed(Session *s, const CheckSite *site, const Tensor *t,
                         const Type *expected, DimValues names) {
  const DimTable *dims = types_dims(s->code->program->types);
  StrBuf text;
  strbuf_init(&text, s->mem);
  strbuf_add(&text, "this value has shape ");
  shape_print(&text, t->rank, t->shape);
  strbuf_addf(&text, ", which does not fit the %s's ", site->what);
  dims_print(dims, &text, expected->rank, expected->dims);
  dims_where(dims, &text, expected->rank, expected->dims, names);
  vm_fault(s, E0603, "%s", strbuf_text(&text));
  if (span_exists(site->declared))
    diag_note(s->fault, site->declared, "declared here");
  note_names(s, names);
  strbuf_done(&text);
  return false;
}

/* A tensor itself, or a tuple's fields; nothing else is looked into.  A scalar
 * is checked where its rank was not known, so it has a header.  Tuples
 * nest as deeply as the type was written, which the checker bounds. */
static bool check_value(Session *s, const CheckSite *site, const Type *expected,
                        Value v, DimValues names) {
  if (expected->kind == TY_TENSOR) {
    bool boxed = expected == site->expected || expected->rank > 0;
    return !boxed || tensor_fits(s, v.tensor, expected, names) ||
           check_failed(s, site, v.tensor, expected, names);
  }
  if (expected->kind != TY_TUPLE) return true;
  const Value *fields = cell_fields(v.cell);
  for (int i = 0; i < expected->count; i++)
    if (!check_value(s, site, expected->args[i], fields[i], names))
      return false;
  return true;
}

/* One instruction checks one value against one type:
 *
 *   Tensor[(n, 3), float32]  with n = 4 in a register   fits  (4, 3)
 *
 * The listed registers hold the numbers of the named dimensions.  Only shapes
 * are compared, for the checker has proved the rest. */
bool vm_check(Session *s, const Word *pc) {
  const CheckSite *site = pc[1].data;
  const uint16_t *regs = ins_list(pc);
  Dim numbers[CHECK_NAMES_MOST];
  for (int i = 0; i < site->name_count; i++)
    numbers[i] = dim_of(s->regs[regs[i]].i64);
  s->stats.checks++;
  return check_value(s, site, site->expected, s->regs[pc->a],
                     (DimValues){site->name_count, site->names, numbers});
}

/* --- Unwinding ---------------------------------------------------------- */

static bool is_of_host(const Session *s, Span span) {
  const SourceFile *f = sources_file(s->code->program->sources, span);
  return f && f->host;
}

/* A function that only calls another in the program's place has none in the
 * text, nor has the meaning of a host's operator: what fails there has that of
 * its call. */
static void name_frame(const Session *s, CodePlace place) {
  const Function *f = place.function;
  Diag *fault = s->fault;
  if (!fault || !f || f->key.kind == FUNCTION_PLAIN) return;
  bool first = fault->frame_count == 0, placed = span_exists(fault->span);
  if (first && !placed && is_of_host(s, place.span)) return;
  if (first && !placed) fault->span = place.span;
  diag_frame(fault, f->name, first ? fault->span : place.span);
}

/* Drops what instruction `pc` leaves live in this window; names its frame.  A
 * register that is live may still be null: the token of a cell that was shared,
 * or a value on a path not taken. */
static void unwind_frame(Session *s, const Word *pc, Value *regs) {
  CodePlace place = code_place(s->code, pc);
  const Function *f = place.function;
  name_frame(s, place);
  const LiveAt *live = place.live;
  for (uint32_t i = 0; live && i < live->count; i++) {
    Obj *o = regs[f->live[live->first + i]].obj;
    if (o) obj_drop(&s->store, o);
  }
}

/* A frame's return address stands two units after its call.  Frames that lead
 * to an earlier segment own nothing; frames[0] is the host's and has no
 * instruction. */
void vm_unwind_to(Session *s, size_t frames) {
  unwind_frame(s, s->pc, s->regs);
  while (s->frame_top > s->frames + frames) {
    Frame *frame = --s->frame_top;
    if (frame_leaves(frame)) session_leave_segment(s);
    else unwind_frame(s, frame->pc - 2, frame->regs);
  }
}

void vm_unwind(Session *s) {
  if (s->unwound) return; /* by a loop within this one */
  vm_unwind_to(s, 1);
  s->frame_top = s->frames;
  s->unwound = true;
}
