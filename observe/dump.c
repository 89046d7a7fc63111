/* Instructions as text, from the table of instructions.  Each line shows the
 * unit, the instruction with its operands and, where the source line changes,
 * its number and text. */
#include "bytecode/code.h"
#include "observe/observe.h"

typedef struct Dump {
  Code *code;
  StrBuf *out;
  bool failed;            /* a function has no code, which was reported */
  const SourceFile *file; /* the file of the source line shown last */
  uint32_t line;
} Dump;

static void dump_operand(Dump *d, Operand o) {
  switch (o.mode) {
    case 'i': strbuf_addf(d->out, " %d", (int16_t)o.reg); break;
    case 'n':
    case 't': strbuf_addf(d->out, " #%u", o.reg); break;
    case 'j':
    case 'J':
    case 'L': strbuf_addf(d->out, " ->%+d", (int)o.reg); break;
    case 's':
    case 'k': strbuf_addf(d->out, " ->-%u", o.reg); break;
    default: strbuf_addf(d->out, " r%u", o.reg); break;
  }
}

static void dump_function_name(Dump *d, const Function *f) {
  strbuf_addf(d->out, " %s%s%s%s", f->name, f->key.borrows ? " borrowing" : "",
              f->key.trmc ? " trmc" : "", f->key.unboxed ? " unboxed" : "");
}

static void dump_word(Dump *d, char letter, const Word *word) {
  switch (letter) {
    case 'f': dump_function_name(d, word->function); break;
    case 'n': strbuf_addf(d->out, " #%u", word->value.u32); break;
    case 'g': strbuf_addf(d->out, " value %u", word->regs[0]); break;
    case 'q':
      strbuf_addf(d->out, " %s", ((const OpSite *)word->data)->op->name);
      break;
    case 'Q':
      strbuf_addf(d->out, " %s", ((const ChainSite *)word->data)->name);
      break;
    case 'G':
      strbuf_addf(d->out, " of %d operators",
                  ((const StretchSite *)word->data)->stretch->op_count);
      break;
    case 'S':
      strbuf_addf(d->out, " %s", ((const ScalarSite *)word->data)->op->name);
      break;
    default: break;
  }
}

static void dump_line(Dump *d, Span span, size_t start) {
  SourceMap *sources = d->code->program->sources;
  if (!span_exists(span)) return;
  Place place = sources_place(sources, span);
  if (!place.file || (place.file == d->file && place.line == d->line)) return;
  d->file = place.file;
  d->line = place.line;
  size_t width = d->out->len - start;
  uint32_t len;
  const char *text = source_line((SourceFile *)place.file, place.line, &len);
  strbuf_add_repeat(d->out, ' ', width < 44 ? 44 - width : 1);
  strbuf_addf(d->out, "; %u: %.*s", place.line, (int)len, text);
}

static void dump_ins(Dump *d, const Function *f, const Word *code, uint32_t i) {
  const InsInfo *info = &ins_info[code[i].op];
  size_t start = d->out->len;
  strbuf_addf(d->out, "%6u  %s", i, info->name);
  OperandWalk o = word_operands(&code[i]);
  bool more = operand_next(&o);
  for (; more && o.at < 3; more = operand_next(&o)) dump_operand(d, o.now);
  for (int k = 0; k < info->word_count; k++)
    dump_word(d, info->words[k], &code[i + 1 + (uint32_t)k]);
  if (more && o.role & REGISTER) strbuf_add(d->out, " |");
  for (; more; more = operand_next(&o)) dump_operand(d, o.now);
  dump_line(d, f->spans[i], start);
  strbuf_add_char(d->out, '\n');
}

static void dump_function(Dump *d, const Function *f) {
  const Word *code = atomic_load(&f->code);
  static const char *const modes[] = {" bits", " owned", " borrowed"};
  uint32_t own = f->nparams - (f->key.trmc ? 2 : 0);
  strbuf_addf(d->out, "%s: parameters", f->name);
  for (uint32_t i = 0; i < own; i++) strbuf_add(d->out, modes[f->params[i]]);
  if (f->key.trmc) strbuf_add(d->out, " root hole");
  if (!f->nparams) strbuf_add(d->out, " none");
  if (f->key.unboxed) strbuf_addf(d->out, ", %u results", f->result_count);
  strbuf_addf(d->out, ", %u registers\n", atomic_load(&f->nregs));
  for (uint32_t i = 0; i < f->unit_count; i += ins_length(&code[i]))
    dump_ins(d, f, code, i);
  strbuf_add_char(d->out, '\n');
}

/* Lowering a function makes further functions; those are shown after it. */
static void dump_from(Dump *d, Function *f) {
  Code *c = d->code;
  size_t next = c->functions.len;
  d->failed |= code_refused(c); /* what makes `f` was not whole */
  while (!d->failed) {
    if (!f->lowered && !function_lower(c, f, c->program->diags)) {
      d->failed = true;
      return;
    }
    dump_function(d, f);
    if (next >= c->functions.len) break;
    f = c->functions.data[next++];
  }
}

static void dump_global(Dump *d, const Global *g) {
  static const Env none;
  if (!g->value || g->value->kind != EX_FN || g->param_count > 0) return;
  dump_from(d, code_global(d->code, g, &none, false));
}

static void dump_unit(Dump *d, const struct Unit *u) {
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    if (item->kind != ITEM_DEF) continue;
    const Global *g = scope_global(&d->code->program->user, item->name);
    if (g) dump_global(d, g);
  }
  for (int i = 0; i < u->step_count; i++) {
    const Step *step = &u->steps[i];
    dump_from(d, code_step(d->code, step->expr, step->global));
  }
}

bool code_dump(Code *c, StrBuf *out, const Global *only) {
  Dump d = {.code = c, .out = out};
  pthread_mutex_lock(&c->lock);
  code_refresh(c);
  if (only) {
    dump_global(&d, only);
  } else {
    for (const struct Unit *u = c->program->units; u; u = u->next)
      if (!u->source->library) dump_unit(&d, u);
  }
  pthread_mutex_unlock(&c->lock);
  return !d.failed;
}
