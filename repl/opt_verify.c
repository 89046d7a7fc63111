/* rly opt --verify: the program does after a pass what it did before it
 * (opt_behave.c), and its functions have no effects that the version in memory
 * does not know of. */
#include <string.h>

#include "repl/opt_command.h"

/* The effects that the version in memory knows hold of the text as well: the
 * passes to come rely on them. */
static bool verify_effects(Opt *o, const Version *v, const Version *text,
                           const OptPass *pass) {
  const Program *p = v->program->ir;
  if (!(v->unit->facts & FACT_EFFECTS) &&
      !types_find_again(v->program->ir, v->unit))
    return false;
  v->unit->facts |= FACT_EFFECTS;
  for (int i = 0; i < text->unit->item_count; i++) {
    const Item *item = &text->unit->items[i];
    if (item->kind != ITEM_DEF) continue;
    const Global *here =
        scope_global(&p->user, name_of(p->names, item->name->text));
    const Global *there = item_global(text->program->ir, item);
    if (!here || !there || here->scheme || there->scheme ||
        !(there->effects & ~here->effects))
      continue;
    diag_error(o->h->program->ir->diags, E0520, SPAN_NONE,
               "after %s the effects of `@%s` are not those of its text",
               pass->exec ? pass->exec : pass->call.pass->name,
               item->name->text);
    return false;
  }
  return true;
}

/* The first lines in which two transcripts differ. */
static void note_difference(Diag *d, const Behaviour *was,
                            const Behaviour *is) {
  const char *a = strbuf_text(&was->text), *b = strbuf_text(&is->text);
  for (;;) {
    size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
    bool gone = (m > 4 && !memcmp(a + m - 4, "gone", 4)) ||
                (n > 4 && !memcmp(b + n - 4, "gone", 4));
    if (!gone && (m != n || memcmp(a, b, m) != 0)) {
      a += *a == 1 && m--;
      b += *b == 1 && n--;
      diag_note(d, SPAN_NONE, "before: %.*s", m < 200 ? (int)m : 200, a);
      diag_note(d, SPAN_NONE, "after:  %.*s", n < 200 ? (int)n : 200, b);
      return;
    }
    if (!a[m] || !b[n]) return;
    a += m + 1;
    b += n + 1;
  }
}

bool opt_verify(Opt *o, const Version *v, const StrBuf *was, const StrBuf *is,
                const OptPass *pass) {
  Host *h = o->h;
  Version text;
  Behaviour before = {0}, after = {0};
  const char *name = pass->exec ? pass->exec : pass->call.pass->name;
  if (!version_of_text(h, name, strbuf_text(is), is->len, &text)) {
    diag_error(h->program->ir->diags, E0520, SPAN_NONE,
               "the text that `%s` made is refused", name);
    return false;
  }
  bool ok = verify_effects(o, v, &text, pass);
  if (ok &&
      (ok = behaviour_of(h, &text, strbuf_text(was), was->len, &before) &&
            behaviour_of(h, &text, strbuf_text(is), is->len, &after)) &&
      !behaviour_same(&before, &after)) {
    Diag *d = diag_error(h->program->ir->diags, E0520, SPAN_NONE,
                         "`%s` changed what the program does", name);
    note_difference(d, &before, &after);
    diag_hint(d, "rly opt --bisect finds the rewrite");
    ok = false;
  }
  behaviour_done(&before);
  behaviour_done(&after);
  version_done(h, &text);
  return ok;
}
