/* Rewrites as steps on a page: what a pass or a rule has replaced is marked in
 * the text of the program before, and what took its place in the text after.
 *
 *   <article id="step-3" data-step="3" data-kinds="ApplyRules ">
 *     <h2> number, rule, pass, definition   <pre> text with the redex
 *     <p class="says"> ...                  <pre> text with the contractum
 *     <div class="side"> the rule
 *
 * All text comes from a program and goes through html_add(). */
#include <inttypes.h>
#include <string.h>

#include "stepper/page.h"

struct RewritePage {
  Mem *mem;
  StrBuf text;
  VEC(StrBuf) passes; /* that can be folded */
  uint64_t steps;
};

RewritePage *rewrite_page_new(Mem *mem, const char *title) {
  RewritePage *p = mem_alloc_zeroed(mem, sizeof *p);
  if (!p) return NULL;
  p->mem = mem;
  strbuf_init(&p->text, mem);
  VEC_INIT(&p->passes, mem);
  page_begin(&p->text, title);
  page_begin_steps(&p->text, "rewritten");
  page_begin_folds(&p->text);
  return p;
}

void rewrite_page_free(RewritePage *p) {
  if (!p) return;
  for (size_t i = 0; i < p->passes.len; i++) strbuf_done(&p->passes.data[i]);
  VEC_DONE(&p->passes);
  strbuf_done(&p->text);
  mem_free(p->mem, p, sizeof *p);
}

/* A pass may run more than once. */
void rewrite_page_pass(RewritePage *p, const char *pass, const char *help) {
  for (size_t i = 0; i < p->passes.len; i++)
    if (!strcmp(strbuf_text(&p->passes.data[i]), pass)) return;
  if (!VEC_RESERVE(&p->passes, 1)) return;
  StrBuf name;
  strbuf_init(&name, p->mem);
  strbuf_add(&name, pass);
  VEC_PUSH(&p->passes, name);
  page_add_fold(&p->text, pass, help);
}

/* Names the definition in which the mark stands.  A line of a printed program
 * that begins with a word and a name, as "def @f", begins an item; the last
 * such line before the mark is meant. */
static void add_definition(StrBuf *out, const StepText *t) {
  const char *text = strbuf_text(&t->text), *line = text + t->lo;
  for (;;) {
    while (line > text && line[-1] != '\n') line--;
    size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyz");
    bool named = word > 0 && line[word] == ' ' &&
                 (line[word + 1] == '@' || line[word + 1] == '%');
    if (named) {
      strbuf_add(out, "<small>in ");
      html_add(out, line + word + 1, strcspn(line + word + 1, " [(:=\n"));
      strbuf_add(out, "</small>");
    }
    if (named || word > 0 || line == text) return;
    line--;
  }
}

static void begin_article(RewritePage *p, const RewriteStep *r) {
  StrBuf *out = &p->text;
  uint64_t n = ++p->steps;
  strbuf_addf(out,
              "<article id=\"step-%" PRIu64 "\" data-step=\"%" PRIu64
              "\" data-kinds=\"",
              n, n);
  html_add(out, r->pass, strlen(r->pass));
  strbuf_addf(out, " \">\n<h2>%" PRIu64 " <b>", n);
  html_add(out, r->name, strlen(r->name));
  strbuf_add(out, "</b><small>");
  html_add(out, r->pass, strlen(r->pass));
  strbuf_addf(out, ", rewrite %" PRIu64 "</small>", r->number);
  add_definition(out, &r->was);
  strbuf_add(out, "</h2>\n");
}

bool rewrite_page_step(RewritePage *p, const RewriteStep *r) {
  StrBuf *out = &p->text;
  if (p->steps == 0) page_end_folds(out);
  if (out->len > PAGE_MOST) return false;
  begin_article(p, r);
  strbuf_add(out, "<div class=\"text\">\n");
  page_add_program(out, &r->was, "redex");
  strbuf_addf(out, "<div class=\"becomes\"><p>and becomes%s</p>\n",
              r->is.hi > r->is.lo ? "" : ": nothing is left in its place");
  page_add_program(out, &r->is, "contractum");
  strbuf_add(out, "</div>\n</div>\n<div class=\"side\">\n");
  if (r->rule) {
    strbuf_add(out, "<section class=\"law\"><h3>the rule</h3>\n<pre>");
    html_add(out, strbuf_text(r->rule), r->rule->len);
    strbuf_add(out, "</pre></section>\n");
  } else {
    strbuf_add(out, "<section class=\"law\"><h3>the pass</h3>\n<p>");
    html_add(out, r->says, strlen(r->says));
    strbuf_add(out, "</p></section>\n");
  }
  strbuf_add(out, "</div>\n</article>\n");
  return !mem_exhausted(p->mem);
}

const StrBuf *rewrite_page_end(RewritePage *p, const char *why) {
  if (p->steps == 0) page_end_folds(&p->text);
  page_end_steps(&p->text, why, NULL, NULL);
  page_end(&p->text);
  return &p->text;
}
