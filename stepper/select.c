/* Decides which steps are folded and where a move stops.
 *
 * Both are questions about one entry of the record, answered from the entry
 * alone.  So they have the same answer on the way back as on the way forward,
 * and a page can say of each step which kinds it belongs to.
 *
 * A breakpoint's text says what it is, and perhaps ends in ` if EXPR`:
 *
 *   %x @x      a name that is bound, a function that is entered
 *   (2, 3)     the shape of an operator's result
 *   nan        a NaN that the operands do not hold
 *   FILE:LINE  a line of a file
 *   otherwise  the operator of that name */
#include "stepper/inside.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/facts.h"

bool select_sweeps(const StepEntry *e) {
  return step_rule_has(e->rule, STEP_SWEEPS);
}

/* --- Folding ------------------------------------------------------------ */

const StepFoldInfo step_fold_info[FOLD_COUNT] = {
#define FOLD(id, text, says) [FOLD_##id] = {text, says},
#include "stepper/fold.def"
#undef FOLD
};

static bool is_scalar(const StepObj *v) {
  return v->kind == V_TENSOR && v->tensor->rank == 0;
}

static bool in_library(const Stepper *s, const StepEntry *e) {
  const SourceFile *file = sources_file(s->program->sources, e->span);
  return file && file->library;
}

static bool is_arithmetic(const StepEntry *e) {
  if (e->rule != REDUCE_OPERATOR || !is_scalar(e->after.value)) return false;
  Redex r = redex_of(e);
  for (int i = 0; i < r.expr->count; i++)
    if (!is_scalar(redex_child(&r, i))) return false;
  return true;
}

bool select_takes(const Stepper *s, const StepEntry *e, StepFold kind) {
  switch (kind) {
    case FOLD_LIBRARY: return in_library(s, e);
    case FOLD_NAMES: return step_rule_has(e->rule, STEP_LOOKS_UP);
    case FOLD_ARITHMETIC: return is_arithmetic(e);
    default: return step_rule_has(e->rule, STEP_LETS);
  }
}

StepFold select_fold(const Stepper *s, const StepEntry *e) {
  StepFold kind = 0;
  while (kind < FOLD_COUNT &&
         !(stepper_folds(s, kind) && select_takes(s, e, kind)))
    kind++;
  return kind;
}

bool stepper_folds(const Stepper *s, StepFold kind) {
  return s->folds >> kind & 1;
}

bool stepper_fold(Stepper *s, const char *name, bool on) {
  bool all = !strcmp(name, "all"), found = all;
  for (int i = 0; i < FOLD_COUNT; i++) {
    if (!all && strcmp(step_fold_info[i].name, name)) continue;
    s->folds = on ? s->folds | 1u << i : s->folds & ~(1u << i);
    found = true;
  }
  return found;
}

/* --- Breakpoints as text ------------------------------------------------ */

/* (2, 3), (2,), ()  More numbers than a tensor can have axes are refused, and
 * so is a sign. */
static bool read_shape(const char *text, Break *b) {
  for (text++; *text && *text != ')';) {
    char *end;
    if (*text < '0' || *text > '9' || b->rank == RANK_MAX) return false;
    b->shape[b->rank++] = strtoll(text, &end, 10);
    text = end + strspn(end, " ");
    if (*text == ',') text += 1 + strspn(text + 1, " ");
  }
  return !strcmp(text, ")");
}

/* model.rly:12 */
static bool read_line(const char *text, Break *b) {
  const char *colon = strrchr(text, ':');
  char *end;
  if (!colon || colon == text || colon[1] < '0' || colon[1] > '9') return false;
  unsigned long line = strtoul(colon + 1, &end, 10);
  b->kind = BREAK_LINE;
  b->path_len = (size_t)(colon - text);
  b->line = (unsigned)line;
  return !*end && line && line <= UINT32_MAX;
}

static bool read_break(const char *text, Break *b) {
  bool dyn;
  if (read_line(text, b)) return true;
  if (*text == '%' || *text == '@') {
    b->kind = BREAK_NAME;
    return text[1] && !strchr(text, ' ');
  }
  if (*text == '(') {
    b->kind = BREAK_SHAPE;
    return read_shape(text, b);
  }
  b->kind = strcmp(text, "nan") ? BREAK_OP : BREAK_NAN;
  if (b->kind == BREAK_OP) b->op = (int)op_find(text, &dyn);
  return b->kind == BREAK_NAN || b->op != OP_COUNT;
}

#define BEFORE_CONDITION " if "

const char *stepper_condition(const char *text) {
  const char *at = strstr(text, BEFORE_CONDITION);
  return at ? at + strlen(BEFORE_CONDITION) : NULL;
}

/* The condition stays in the text, for the list of breakpoints. */
static bool read_conditional(char *text, Break *b) {
  char *condition = strstr(text, BEFORE_CONDITION);
  if (!condition) return read_break(text, b);
  *condition = '\0';
  bool ok = read_break(text, b);
  *condition = ' ';
  return ok;
}

/* The text is kept as it was written, to be listed. */
bool stepper_break(Stepper *s, const char *text) {
  Break b = {.rank = 0};
  size_t size = strlen(text) + 1;
  b.text = VEC_RESERVE(&s->breaks, 1) ? mem_alloc(s->mem, size) : NULL;
  if (!b.text) return false;
  memcpy(b.text, text, size);
  if (!read_conditional(b.text, &b)) {
    mem_free(s->mem, b.text, size);
    return false;
  }
  VEC_PUSH(&s->breaks, b);
  return true;
}

/* `n` is counted from 1; for 0, n - 1 is larger than any length. */
const char *stepper_break_text(const Stepper *s, size_t n) {
  return n - 1 < s->breaks.len ? s->breaks.data[n - 1].text : NULL;
}

/* `hit` points into the vector, whose elements move. */
void stepper_break_remove(Stepper *s, size_t n) {
  if (n - 1 >= s->breaks.len) return;
  Break *b = &s->breaks.data[n - 1];
  mem_free(s->mem, b->text, strlen(b->text) + 1);
  memmove(b, b + 1, (s->breaks.len - n) * sizeof *b);
  s->breaks.len--;
  s->hit = NULL;
}

/* --- Where they are met ------------------------------------------------- */

static bool is_called(const Name *name, char sigil, const char *wanted) {
  size_t n = name ? name->len : 0;
  return name && *wanted == sigil && !strncmp(name->text, wanted + 1, n) &&
         (!wanted[1 + n] || wanted[1 + n] == ' ');
}

const StepObj *select_env_before(const StepEntry *e) {
  if (step_rule_has(e->rule, STEP_ENTERS)) {
    const Redex r = redex_of(e);
    const StepObj *callee = redex_callee(&r);
    return callee ? callee->fields[ENV_OF] : NULL;
  }
  bool received = !e->redex.expr && e->redex.frames;
  return received ? e->redex.frames->fields[ENV] : e->redex.env;
}

/* The variables that the rule bound, which are those of its new environment.
 * They are the entries in front of the old environment. */
static bool binds_var(const StepEntry *e, const char *wanted) {
  const StepObj *env = e->after.env, *old = select_env_before(e);
  for (; env && env != old; env = env->fields[OUTER]) {
    for (uint32_t i = 0; env->kind == E_GROUP && i < env->size; i++)
      if (is_called(env->bindings[i].var->name, '%', wanted)) return true;
    const StepObj *v = env->kind == E_BIND ? env->fields[BOUND] : NULL;
    if (v && v->kind != V_NUMBER &&
        is_called(((const Var *)env->key)->name, '%', wanted))
      return true;
  }
  return false;
}

/* A definition by its global, a call by the function that is entered or a
 * parameter of it, a match or a let by its variables.  What the library's rules
 * of derivatives bind is no name of the user's. */
static bool binds(const Stepper *s, const StepEntry *e, const char *wanted) {
  const StepObj *frame = e->redex.frames;
  if (e->rule == REDUCE_DEFINE) {
    const Global *g = frame->global;
    return is_called(g->name, *global_sigil(g), wanted);
  }
  if (step_rule_has(e->rule, STEP_ENTERS)) {
    const Redex r = redex_of(e);
    const StepObj *callee = redex_callee(&r);
    const Global *g = callee ? brief_global(s, callee->expr) : NULL;
    if (g && is_called(g->name, '@', wanted)) return true;
  }
  return step_rule_has(e->rule, STEP_BINDS) && !select_sweeps(e) &&
         binds_var(e, wanted);
}

static bool has_shape(const StepObj *v, const Break *b) {
  if (v->kind != V_TENSOR) return false;
  return v->tensor->rank == b->rank &&
         !memcmp(v->tensor->shape, b->shape,
                 (size_t)b->rank * sizeof *b->shape);
}

/* Tests a tensor, or the tensors in a tuple. */
static bool holds_nan(const StepObj *v) {
  if (v->kind == V_TENSOR) return tensor_first_nan(v->tensor) >= 0;
  for (uint32_t i = 0; v->kind == V_TUPLE && i < v->count; i++) {
    const StepObj *field = v->fields[i];
    if (field->kind == V_TENSOR && tensor_first_nan(field->tensor) >= 0)
      return true;
  }
  return false;
}

/* The operands are looked at only when the result holds a NaN. */
static bool makes_nan(const StepEntry *e) {
  if (!holds_nan(e->after.value)) return false;
  Redex r = redex_of(e);
  for (int i = 0; i < r.expr->count; i++)
    if (holds_nan(redex_child(&r, i))) return false;
  return true;
}

/* Does the step stand in the line, and the one before it in another, or in
 * another call?  A file is meant by the end of its path. */
static bool comes_to(const Stepper *s, const StepEntry *e, const Break *b) {
  const StepMachine *m = s->machine;
  Place p = sources_place(s->program->sources, e->span);
  if (!p.file || p.line != b->line) return false;
  size_t n = strlen(p.file->path);
  if (n < b->path_len) return false;
  const char *end = p.file->path + n - b->path_len;
  if (strncmp(end, b->text, b->path_len) || (n > b->path_len && end[-1] != '/'))
    return false;
  const StepEntry *before = m->entry > 1 ? e - 1 : NULL;
  if (!before || step_rule_has(before->rule, STEP_ENTERS)) return true;
  Place q = sources_place(s->program->sources, before->span);
  return q.file != p.file || q.line != p.line;
}

static bool meets(const Stepper *s, const StepEntry *e, const Break *b) {
  if (b->kind == BREAK_LINE) return comes_to(s, e, b);
  if (b->kind == BREAK_NAME) return binds(s, e, b->text);
  if (b->kind == BREAK_OP) {
    const Redex r = redex_of(e);
    const Expr *op =
        step_rule_has(e->rule, STEP_OPERATES) ? redex_operator(&r) : NULL;
    return op && op->op == b->op;
  }
  if (e->rule != REDUCE_OPERATOR) return false;
  return b->kind == BREAK_NAN ? makes_nan(e) : has_shape(e->after.value, b);
}

static StepTruth truth_of(const Stepper *s, const Break *b) {
  bool asks = s->holds && stepper_condition(b->text);
  return asks ? s->holds(s->holds_data, b->text) : STEP_TRUE;
}

/* A condition may drop old entries, so the step is looked up for each. */
const Break *select_break(Stepper *s) {
  for (size_t i = 0; i < s->breaks.len;) {
    const Break *b = &s->breaks.data[i];
    StepTruth truth =
        meets(s, stepper_entry(s), b) ? truth_of(s, b) : STEP_FALSE;
    if (truth == STEP_TRUE) return b;
    if (truth == STEP_NO_CONDITION) stepper_break_remove(s, i + 1);
    else i++;
  }
  return NULL;
}
