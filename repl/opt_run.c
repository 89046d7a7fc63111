/* One pass over one version of a program, and all of a pipeline.
 *
 * Passes of the table go on in memory.  What a pass of the table leaves without
 * names or types (passes/pass.h) is printed and read anew, and what a command
 * makes is read, each in a program of its own: two versions have nothing in
 * common, and the one before is gone when the new one is there. */
#include "repl/opt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void opt_pass_print(const OptPass *pass, StrBuf *out) {
  if (pass->exec) strbuf_add(out, pass->exec);
  else pass_call_print(&pass->call, out);
}

/* The program is the host's while it is read, since the host's reports. */
static bool version_read(Host *h, Version *v,
                         Unit *(*read)(rly_program *p, const void *data),
                         const void *data, bool given) {
  rly_program *own = host_program_new(h, h->cx), *first = h->program;
  *v = (Version){.program = own};
  if (!own) {
    host_program_free(h, NULL);
    return false;
  }
  h->program = own;
  if (given) host_give(h, own);
  v->unit = read(own, data);
  if (v->unit && !program_specialise(own, v->unit)) v->unit = NULL;
  if (v->unit && !unit_check(own->ir, v->unit)) v->unit = NULL;
  h->program = first;
  if (v->unit && !mem_exhausted(own->mem)) return true;
  version_done(h, v);
  return false;
}

typedef struct NamedText {
  const char *path, *text;
  size_t len;
} NamedText;

static Unit *read_text(rly_program *p, const void *data) {
  const NamedText *t = data;
  return program_parse_text(p, t->path, t->text, t->len);
}

static Unit *read_file(rly_program *p, const void *path) {
  return program_parse_file(p, path);
}

bool version_of_text(Host *h, const char *path, const char *text, size_t len,
                     Version *v) {
  Diags *diags = h->program->ir->diags;
  DiagsMark mark = diags_mark(diags);
  bool ok = version_read(h, v, read_text, &(NamedText){path, text, len}, false);
  if (ok) diags_return(diags, mark);
  return ok;
}

bool version_of_file(Host *h, const char *path, Version *v) {
  if (strcmp(path, "-") != 0) return version_read(h, v, read_file, path, true);
  size_t len;
  char *input = host_stdin(h, &len);
  bool ok = input && version_read(h, v, read_text,
                                  &(NamedText){"<stdin>", input, len}, true);
  free(input);
  return ok;
}

void version_done(Host *h, Version *v) {
  if (v->program) host_program_free(h, v->program);
  *v = (Version){0};
}

void version_print(const Version *v, StrBuf *out) {
  unit_print_checked(v->program->ir, v->unit, out);
}

/* What the text of a pass means takes the place of what it was made from. */
static bool replace(Host *h, Version *v, const OptPass *pass,
                    const StrBuf *text) {
  Version made;
  StrBuf name;
  strbuf_init(&name, text->mem);
  opt_pass_print(pass, &name);
  bool ok = version_of_text(h, strbuf_text(&name), strbuf_text(text), text->len,
                            &made);
  if (!ok && !mem_exhausted(h->program->mem)) {
    Diag *d =
        diag_error(h->program->ir->diags, E0520, SPAN_NONE,
                   "the text that `%s` made is refused", strbuf_text(&name));
    diag_hint(d, "%s",
              pass->exec ? "a command of --exec writes a whole program to "
                           "stdout"
                         : "this is a mistake of rly's: please report it");
  }
  strbuf_done(&name);
  version_done(h, v);
  if (ok) *v = made;
  return ok;
}

bool opt_run_pass(Host *h, Version *v, OptPass *pass) {
  StrBuf text, made;
  bool ok;
  strbuf_init(&text, h->program->mem);
  strbuf_init(&made, h->program->mem);
  if (pass->exec) {
    version_print(v, &text);
    ok = exec_filter(h, pass->exec, strbuf_text(&text), text.len,
                     pass->call.most_rewrites, &made) &&
         replace(h, v, pass, &made);
  } else {
    Program *p = v->program->ir;
    pass->call.rewrites = 0;
    v->unit = pass_call(p, v->unit, &pass->call);
    ok = v->unit && !mem_exhausted(p->mem);
    if (ok && !(v->unit->facts & FACT_TYPES)) {
      version_print(v, &made);
      ok = replace(h, v, pass, &made);
    }
  }
  strbuf_done(&text);
  strbuf_done(&made);
  if (!ok) version_done(h, v);
  return ok;
}

bool opt_show_version(Host *h, Versions *versions, const OptPass *pass,
                      double seconds, const StrBuf *text) {
  StrBuf name, did;
  strbuf_init(&name, text->mem);
  strbuf_init(&did, text->mem);
  opt_pass_print(pass, &name);
  if (!pass->exec)
    strbuf_addf(&did, "%" PRIu64 " rewrite%s", pass->call.rewrites,
                pass->call.rewrites == 1 ? "" : "s");
  if (seconds >= 0)
    strbuf_addf(&did, "%s%.3f ms", did.len ? ", " : "", seconds * 1e3);
  bool fits =
      versions_pass(versions, strbuf_text(&name), strbuf_text(&did), text);
  strbuf_done(&name);
  strbuf_done(&did);
  if (!fits && !mem_exhausted(text->mem))
    diag_error(h->program->ir->diags, E0520, SPAN_NONE,
               "--html: the page grows too long to be read");
  return fits;
}

static bool run_and_show(Host *h, Version *v, OptPass *pass,
                         Versions *versions) {
  if (!opt_run_pass(h, v, pass)) return false;
  if (!versions) return true;
  StrBuf text;
  strbuf_init(&text, h->program->mem);
  version_print(v, &text);
  bool ok = opt_show_version(h, versions, pass, -1, &text);
  strbuf_done(&text);
  if (!ok) version_done(h, v);
  return ok;
}

bool opt_run_pipeline(Host *h, Version *v, Versions *versions) {
  const char *passes = h->cli->passes;
  Pipeline pipeline = {0};
  bool ok = pipeline_read(
      h->program->ir, "--passes",
      passes ? passes : pipeline_level(cli_level(h->cli, 0)), &pipeline);
  if (!ok) version_done(h, v);
  if (ok && versions) {
    StrBuf text;
    strbuf_init(&text, h->program->mem);
    version_print(v, &text);
    versions_begin(versions, &text);
    strbuf_done(&text);
  }
  for (int i = 0; ok && i < pipeline.count; i++)
    ok = run_and_show(h, v, &(OptPass){.call = pipeline.calls[i]}, versions);
  return ok;
}
