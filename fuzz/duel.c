/* Runs one program on both machines and compares what they leave.
 *
 * The step machine goes first.  A program that reaches its limit of steps is
 * skipped, so the VM never runs one that does not end.  Both write a transcript
 * (duel.h) in the same notation; a byte that differs is a difference.
 *
 * The step machine is the oracle because it is the simpler one: it applies the
 * language's rules to the checked expressions as they stand.  What both share,
 * the parser, the checker and the kernels, this test cannot find mistakes
 * in. */
#include "fuzz/duel.h"

#include <ctype.h>
#include <string.h>

#include "ir/print.h"
#include "lib/handles.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "smallstep/step.h"

enum { VM_SECONDS = 60 };
static const size_t STEP_MEMORY = (size_t)1 << 30;

void duel_init(Duel *d, Mem *mem, uint64_t max_steps) {
  *d = (Duel){.max_steps = max_steps};
  strbuf_init(&d->vm, mem);
  strbuf_init(&d->step, mem);
}

void duel_done(Duel *d) {
  strbuf_done(&d->vm);
  strbuf_done(&d->step);
}

/* --- Transcripts -------------------------------------------------------- */

/* What programs print is part of the transcript. */
static void write_to(void *data, const char *text, size_t len) {
  strbuf_add_len(data, text, len);
}

/* The code and the line, and not the message.  Compiled code knows a place for
 * each instruction, the step machine one for each expression, so columns are
 * not the same thing in both; lines are, and a program's author relies on
 * them.  What passes make of a program is another text. */
static void add_error(const Duel *d, StrBuf *out, rly_context *cx,
                      DiagCode code, Span span) {
  Place at = sources_place(&cx->sources, span);
  strbuf_add(out, diag_code_text(code));
  if (!d->passes)
    strbuf_addf(out, " at %s:%u", at.file ? at.file->path : "nowhere", at.line);
  strbuf_add_char(out, '\n');
}

/* --- The step machine --------------------------------------------------- */

/* Runs a started machine to its end; false on an error or at a limit.  A limit
 * ends the duel: nothing is compared then. */
static bool step_to_end(Duel *d, rly_context *cx, StepMachine *m) {
  StepOutcome outcome;
  do {
    outcome = step_next(m);
  } while (outcome == STEP_RULE && step_count(m) < d->max_steps);
  d->steps = step_count(m);
  if (outcome == STEP_ERROR) {
    const StepFault *fault = step_fault(m);
    add_error(d, &d->step, cx, fault->code, fault->span);
    d->failed = true;
  }
  if (outcome == STEP_RULE || outcome == STEP_LIMIT) d->outcome = DUEL_TOO_LONG;
  return outcome == STEP_VALUE;
}

/* As JSON, which both machines write of a value in the same way. */
static void add_result(Duel *d, StepMachine *m) {
  step_print_json(m, &d->step, step_result(m));
  strbuf_add_char(&d->step, '\n');
}

static bool step_units(Duel *d, rly_program *p, StepMachine *m) {
  for (const Unit *u = p->ir->units; u; u = u->next) {
    for (int i = 0; i < u->step_count; i++) {
      step_start(m, &u->steps[i]);
      if (!step_to_end(d, p->cx, m)) return false;
      if (u->steps[i].kind == STEP_EXPR) add_result(d, m);
    }
  }
  return true;
}

/* As rly run: a text without expressions is run by its @main. */
static const Global *main_of(const rly_program *p) {
  if (rly_program_has_expressions(p)) return NULL;
  return scope_global(&p->ir->user, name_of(p->ir->names, "main"));
}

/* Memory is bounded, as its objects are large.  A limit that it alone reaches
 * would be a difference of no interest, hence "too long" and no comparison. */
static void run_step(Duel *d, rly_program *p) {
  StepHost host = {.write = write_to,
                   .data = &d->step,
                   .width = 80,
                   .max_memory = STEP_MEMORY};
  StepMachine *m = step_new(p->ir, host);
  if (!m) {
    d->outcome = DUEL_TOO_LONG;
    return;
  }
  const Global *entry = main_of(p);
  if (step_units(d, p, m) && entry) {
    step_start_call(m, entry, NULL);
    if (step_to_end(d, p->cx, m)) add_result(d, m);
  }
  step_free(m);
}

/* --- The VM ------------------------------------------------------------- */

static void add_value(void *data, rly_value *v) {
  StrBuf *out = data;
  char *text = rly_value_json(v);
  strbuf_add(out, text ? text : "no value");
  strbuf_add_char(out, '\n');
  rly_text_free(v->session->program->cx, text);
}

static rly_status run_entry(Duel *d, rly_session *s, rly_program *p) {
  if (!main_of(p)) return RLY_OK;
  rly_value *result;
  const rly_function *entry = rly_program_function(p, "main");
  rly_status status = rly_session_call_bound(s, entry, &result);
  if (status != RLY_OK) return status;
  add_value(&d->vm, result);
  rly_value_free(result);
  return RLY_OK;
}

/* An error is taken from the session's diagnostics; the last one ended the run.
 * The VM is asked as a host would ask, through rly.h, so that what stands
 * between a host and the machine is tested along with it: items in order, bound
 * arguments, values as JSON. */
static void run_vm(Duel *d, rly_program *p) {
  rly_session_options options = {.write = write_to, .data = &d->vm};
  rly_session *s = rly_session_new(p, &options);
  if (!s) return;
  rly_status status = rly_session_run(s, add_value, &d->vm);
  if (status == RLY_OK) status = run_entry(d, s, p);
  const Diags *diags = &s->diags;
  if (status != RLY_OK && diags->list.len) {
    const Diag *last = VEC_LAST(&diags->list);
    add_error(d, &d->vm, p->cx, last->code, last->span);
  }
  rly_session_free(s);
}

/* The reason goes into the VM's transcript, for whoever runs a single file. */
static void refused(Duel *d, rly_context *cx) {
  d->outcome = DUEL_REFUSED;
  char *text = rly_diagnostics_text(cx, false);
  strbuf_add(&d->vm, text ? text : "");
  rly_text_free(cx, text);
}

/* --- Passes --------------------------------------------------------------- */

int duel_pass_rows(const PassInfo **rows) {
  int n = 0;
  for (int i = 0; i < pass_count; i++)
    if (pass_info[i].bound && isupper((unsigned char)*pass_info[i].name))
      rows[n++] = &pass_info[i];
  return n;
}

static Unit *checked(rly_program *p, const StrBuf *text) {
  Unit *unit =
      program_parse_text(p, "passed.rly", strbuf_text(text), text->len);
  return unit && unit_check(p->ir, unit) ? unit : NULL;
}

/* Replaces the text by what the passes make of it, as rly opt does: in memory,
 * but for what leaves no types, from whose text they go on. */
static bool pass_all(rly_context *cx, const char *passes, StrBuf *text) {
  Pipeline pipeline = {0};
  rly_program *p = rly_program_new(cx);
  Unit *unit = p && pipeline_read(p->ir, "passes", passes, &pipeline)
                   ? checked(p, text)
                   : NULL;
  for (int i = 0; unit && i < pipeline.count; i++) {
    unit = pass_call(p->ir, unit, &pipeline.calls[i]);
    if (!unit || unit->facts & FACT_TYPES) continue;
    VEC_CLEAR(text);
    unit_print_checked(p->ir, unit, text);
    rly_program_free(p);
    p = rly_program_new(cx);
    unit = p ? checked(p, text) : NULL;
  }
  VEC_CLEAR(text);
  if (unit) unit_print_checked(p->ir, unit, text);
  rly_program_free(p);
  return unit != NULL;
}

/* A text that is refused is a difference, and the reason goes into the VM's
 * transcript. */
static void run_passed(Duel *d, rly_context *cx, const char *passes,
                       const char *source, size_t len) {
  StrBuf text;
  strbuf_init(&text, d->vm.mem);
  strbuf_add_len(&text, source, len);
  rly_program *p = rly_program_new(cx);
  if (p && pass_all(cx, passes, &text) &&
      rly_program_add_text(p, "passed.rly", strbuf_text(&text), text.len, 0) ==
          RLY_OK)
    run_vm(d, p);
  else refused(d, cx);
  rly_program_free(p);
  strbuf_done(&text);
}

static bool same_transcripts(const Duel *d) {
  return d->vm.len == d->step.len &&
         !memcmp(strbuf_text(&d->vm), strbuf_text(&d->step), d->vm.len);
}

/* The transcript of the first pipeline that differs begins with its passes. */
static bool agrees_after_each(Duel *d, rly_context *cx, const char *text,
                              size_t len) {
  const char *at = d->passes;
  StrBuf passes;
  bool same = true;
  strbuf_init(&passes, d->vm.mem);
  for (bool more = true; more && same; at++) {
    size_t n = strcspn(at, ";");
    VEC_CLEAR(&passes);
    strbuf_add_len(&passes, at, n);
    at += n;
    more = *at != 0;
    VEC_CLEAR(&d->vm);
    run_passed(d, cx, strbuf_text(&passes), text, len);
    same = same_transcripts(d);
  }
  if (!same) {
    strbuf_add(&passes, ":\n");
    strbuf_add_len(&passes, strbuf_text(&d->vm), d->vm.len);
    VEC_CLEAR(&d->vm);
    strbuf_add_len(&d->vm, strbuf_text(&passes), passes.len);
  }
  strbuf_done(&passes);
  return same;
}

/* --- Both --------------------------------------------------------------- */

static void run_both(Duel *d, rly_program *p, const char *text, size_t len) {
  bool same;
  rly_diagnostics_clear(p->cx);
  run_step(d, p);
  if (d->outcome == DUEL_TOO_LONG) return;
  if (d->passes) {
    same = agrees_after_each(d, p->cx, text, len);
  } else {
    run_vm(d, p);
    same = same_transcripts(d);
  }
  d->outcome = same ? DUEL_SAME : DUEL_DIFFERENT;
}

/* `verify`: the code is checked before it runs (bytecode/verify.h).  One
 * thread, so that nothing depends on timing.  Everything is made anew for each
 * program, the context as well: programs that share one could make each other
 * differ, and no single text would show it again. */
void duel_run(Duel *d, const char *path, const char *text, size_t len) {
  VEC_CLEAR(&d->vm);
  VEC_CLEAR(&d->step);
  d->failed = false;
  d->outcome = DUEL_REFUSED;
  rly_options options = {.timeout = VM_SECONDS, .threads = 1, .verify = true};
  rly_context *cx = rly_context_new(&options);
  rly_program *p = rly_program_new(cx);
  if (p && rly_program_add_text(p, path, text, len, 0) == RLY_OK)
    run_both(d, p, text, len);
  else if (cx) refused(d, cx);
  rly_program_free(p);
  rly_context_free(cx);
}
