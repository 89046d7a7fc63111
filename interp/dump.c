/* Instructions as text, from the VM's own table.  A line shows the unit, the
 * instruction with its operands, and, where the source line is another than
 * before, its number and text. */
#include "interp/code.h"

typedef struct Dump {
  Code *code;
  StrBuf *out;
  const SourceFile *file; /* of the line that was shown last */
  uint32_t line;
} Dump;

static void dump_operand(Dump *d, char kind, const Word *at, int part) {
  uint16_t v = (uint16_t[]){at->a, at->b, at->c}[part];
  switch (kind) {
    case 'd':
    case 'w':
    case 'u':
    case 'v':
    case 'm':
    case 'o': strbuf_addf(d->out, " r%u", v); break;
    case 'i': strbuf_addf(d->out, " %d", (int16_t)v); break;
    case 'n': strbuf_addf(d->out, " #%u", v); break;
    case 'j': strbuf_addf(d->out, " ->%+d", v); break;
    case 'k': strbuf_addf(d->out, " ->-%u", v); break;
    case 'J': strbuf_addf(d->out, " ->%+d", at->jump); break;
    default: break;
  }
}

static void dump_word(Dump *d, const Word *at) {
  switch (at->op) {
    case INS_call:
    case INS_call_self:
    case INS_call_parts:
    case INS_tail: {
      const Function *f = at[1].function;
      strbuf_addf(d->out, " %s%s%s%s", f->name, f->borrows ? " borrowing" : "",
                  f->grows ? " growing" : "", f->apart ? " apart" : "");
      break;
    }
    case INS_closure: strbuf_addf(d->out, " %s", at[1].function->name); break;
    case INS_op:
    case INS_special: {
      const OpSite *site = at[1].data;
      strbuf_addf(d->out, " %s", site->op->name);
      break;
    }
    case INS_chain: {
      const ChainSite *site = at[1].data;
      strbuf_addf(d->out, " %s", site->name);
      break;
    }
    case INS_scalar1:
    case INS_scalar2:
    case INS_scalar3: {
      const ScalarSite *site = at[1].data;
      strbuf_addf(d->out, " %s", site->op->name);
      break;
    }
    case INS_graft: strbuf_addf(d->out, " #%u", at[1].regs[0]); break;
    case INS_global: strbuf_addf(d->out, " value %u", at[1].regs[0]); break;
    default: break;
  }
}

static void dump_list(Dump *d, const Word *at) {
  uint32_t n = ins_list_count(at);
  for (uint32_t i = 0; i < n; i++)
    strbuf_addf(d->out, "%s r%u", i ? "" : " |", ins_list(at)[i]);
  for (unsigned i = 0; at->op == INS_switch_tag && i < at->b; i++)
    strbuf_addf(d->out, " ->%+d", (int)at[1 + i].word);
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
  for (int part = 0; part < 3; part++)
    dump_operand(d, info->operands[part], &code[i], part);
  dump_word(d, &code[i]);
  dump_list(d, &code[i]);
  dump_line(d, f->spans[i], start);
  strbuf_add_char(d->out, '\n');
}

static void dump_function(Dump *d, const Function *f) {
  const Word *code = atomic_load(&f->code);
  static const char *const modes[] = {" bits", " owned", " borrowed"};
  uint32_t own = f->nparams - (f->grows ? 2 : 0);
  strbuf_addf(d->out, "%s: parameters", f->name);
  for (uint32_t i = 0; i < own; i++) strbuf_add(d->out, modes[f->params[i]]);
  if (f->grows) strbuf_add(d->out, " whole hole");
  if (!f->nparams) strbuf_add(d->out, " none");
  if (f->apart) strbuf_addf(d->out, ", %u results", f->part_count);
  strbuf_addf(d->out, ", %u registers\n", atomic_load(&f->nregs));
  for (uint32_t i = 0; i < f->unit_count; i += ins_length(&code[i]))
    dump_ins(d, f, code, i);
  strbuf_add_char(d->out, '\n');
}

/* Every function that lowering one reaches is made, too, and shown after. */
static void dump_from(Dump *d, Function *f) {
  Code *c = d->code;
  size_t next = c->functions.len;
  for (;;) {
    if (f->lowered || function_lower(c, f, c->program->diags))
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
    dump_from(d, code_function(d->code, FUNCTION_STEP, u->steps[i].expr, NULL,
                               false));
  }
}

void code_dump(Code *c, StrBuf *out, const Global *only) {
  Dump d = {.code = c, .out = out};
  pthread_mutex_lock(&c->lock);
  if (only) {
    dump_global(&d, only);
  } else {
    for (const struct Unit *u = c->program->units; u; u = u->next)
      if (!u->source->library) dump_unit(&d, u);
  }
  pthread_mutex_unlock(&c->lock);
}
