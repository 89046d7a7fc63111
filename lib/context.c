/* Contexts: the memory, the sources and the options that programs share.
 *
 * The context itself comes from malloc; all else is counted by its Mem, so that
 * the limit holds for the sum of all programs, sessions and tensors of it. */
#include <stdlib.h>
#include <string.h>

#include "base/split.h"
#include "base/version.h"
#include "io/file.h"
#include "io/text.h"
#include "lib/handles.h"
#include "kernels/isa.h"

const char *rly_version(void) { return RLY_VERSION_TEXT; }

bool rly_instruction_set(const char *name) { return isa_select(name); }

/* --- The stack ----------------------------------------------------------- */

typedef struct StackCall {
  void (*run)(const rly_stack *stack, void *data);
  void *data;
} StackCall;

static void run_on(const SplitPiece *stack, void *call) {
  StackCall *c = call;
  c->run((const rly_stack *)stack, c->data);
}

void rly_stack_run(void (*run)(const rly_stack *stack, void *data),
                   void *data) {
  if (run) split_deep(run_on, &(StackCall){run, data});
}

/* --- Life --------------------------------------------------------------- */

/* A NaN compares as false, so it is refused like a negative number. */
static bool sensible(const rly_options *o) {
  const rly_allocator *a = o->allocator;
  const char *wrong = o->threads < 0 || !(o->timeout >= 0)
                          ? "threads and timeout must not be negative"
                      : a && (!a->allocate || !a->resize || !a->release)
                          ? "an allocator has allocate, resize and release"
                          : NULL;
  if (wrong) misuse("rly_context_new", "%s", wrong);
  return !wrong;
}

/* Each part is put into a state in which context_drop() can take it down before
 * the first thing can fail. */
rly_context *rly_context_new(const rly_options *options) {
  rly_options taken;
  if (!struct_take(__func__, &taken, OPTIONS_SIZE, options) ||
      !sensible(&taken))
    return NULL;
  rly_context *cx = calloc(1, sizeof *cx);
  if (!cx) return misuse(__func__, "no memory"), NULL;
  cx->options = taken;
  if (taken.allocator) {
    const rly_allocator *a = taken.allocator;
    cx->allocator = (MemSystem){a->allocate, a->resize, a->release, a->data};
    cx->options.allocator = NULL; /* the host's struct may go */
  }
  size_t limit = taken.max_memory;
  const MemSystem *system = taken.allocator ? &cx->allocator : NULL;
  if (!mem_init_on(&cx->mem, limit ? limit : SIZE_MAX, system)) {
    free(cx);
    return misuse(__func__, "no memory"), NULL;
  }
  cx->mem.stack = (const SplitPiece *)cx->options.stack;
  atomic_init(&cx->refs, 1);
  fork_guard(&cx->guard, &cx->lock, FORK_WAITS | FORK_RECURSIVE);
  names_init(&cx->names, &cx->mem);
  sources_init(&cx->sources, &cx->mem);
  bool fine = diags_init(&cx->diags, &cx->mem);
  cx->diags.sources = &cx->sources;
  heap_init(&cx->heap, &cx->mem);
  if (fine) return cx;
  context_drop(cx);
  return NULL;
}

void rly_context_free(rly_context *cx) {
  if (cx) context_drop(cx);
}

/* --- Files of the host --------------------------------------------------- */

/* A host may answer with a number that is none of the enum's, or give a size
 * without data. */
static FileFrom file_from(rly_file answer) {
  return answer == RLY_FILE_DONE        ? FILE_DONE
         : answer == RLY_FILE_OF_SYSTEM ? FILE_OF_SYSTEM
                                        : FILE_NONE;
}

static FileFrom read_of_host(void *context, const char *path, FileBytes *out) {
  const rly_context *cx = context;
  rly_bytes given = {0};
  rly_file from = cx->files.read(cx->files.data, path, &given);
  if (from == RLY_FILE_DONE && !given.data && given.size) from = RLY_FILE_NONE;
  if (from == RLY_FILE_DONE)
    *out = (FileBytes){given.data, given.size, given.release, given.owner};
  return file_from(from);
}

static FileFrom write_of_host(void *context, const char *path,
                              const char *bytes, size_t size) {
  const rly_context *cx = context;
  return file_from(cx->files.write(cx->files.data, path, bytes, size));
}

rly_status rly_context_set_files(rly_context *cx, const rly_files *files) {
  if (!cx) return misuse(__func__, "the context is NULL"), RLY_MISUSE;
  context_lock(cx);
  cx->files = files ? *files : (rly_files){0};
  cx->file_host = (FileHost){
      .read = cx->files.read ? read_of_host : NULL,
      .write = cx->files.write ? write_of_host : NULL,
      .data = cx,
  };
  cx->sources.file_host = files ? &cx->file_host : NULL;
  context_unlock(cx);
  return RLY_OK;
}

rly_status rly_context_set_log(rly_context *cx, const rly_log *log) {
  if (!require(cx, "the context is NULL") ||
      !require(!log || (log->write && log->most <= RLY_LOG_INFO),
               "a log has a function and a level"))
    return RLY_MISUSE;
  context_lock(cx);
  cx->log = log ? *log : (rly_log){0};
  cx->told = cx->diags.errors + cx->diags.warnings;
  context_unlock(cx);
  return RLY_OK;
}

/* --- Text for the host -------------------------------------------------- */

/* The size that mem_free() wants is the text's own, plus the NUL. */
void rly_text_free(rly_context *cx, char *text) {
  if (cx && text) mem_free(&cx->mem, text, strlen(text) + 1);
}

/* Writes a file beside the old one and renames it (io/file.c).  A failed write
 * is seen and told by file_out_close(). */
bool file_replace(rly_context *cx, const char *path, const StrBuf *text) {
  FileOut out;
  if (!file_out_open(&out, &cx->mem, path, &cx->diags)) return false;
  fwrite(strbuf_text(text), 1, text->len, out.stream);
  return file_out_close(&out, true);
}

bool file_may_be_replaced(rly_context *cx, const char *path) {
  return file_out_try(&cx->mem, path, &cx->diags);
}

char *file_text(rly_context *cx, const char *path, size_t *len) {
  char *text;
  return text_read(&cx->mem, path, &text, len, &cx->diags) ? text : NULL;
}
