/* A program with all it stands on, for unit tests. */
#ifndef TESTS_UNIT_PROGRAM_H
#define TESTS_UNIT_PROGRAM_H

#include "ir/program.h"
#include "tests/unit/unit.h"

typedef struct World {
  Mem mem;
  NameTable names;
  SourceMap sources;
  Diags diags;
  Heap heap;
  Program *program; /* NULL when memory ran out */
  StrBuf out;
} World;

/* Over the Mem that is already in it. */
static inline void world_open(World *w) {
  names_init(&w->names, &w->mem);
  sources_init(&w->sources, &w->mem);
  diags_init(&w->diags, &w->mem);
  heap_init(&w->heap, &w->mem);
  strbuf_init(&w->out, &w->mem);
  w->program =
      program_new(&w->mem, &w->names, &w->sources, &w->diags, &w->heap);
}

static inline void world_close(World *w) {
  program_free(w->program);
  strbuf_done(&w->out);
  heap_done(&w->heap);
  diags_done(&w->diags);
  sources_done(&w->sources);
  names_done(&w->names);
}

static inline int world_setup(void **state) {
  static World w;
  unit_mem(&w.mem);
  world_open(&w);
  *state = &w;
  return w.program ? 0 : -1;
}

static inline int world_teardown(void **state) {
  World *w = *state;
  world_close(w);
  unit_mem_done(&w->mem);
  return 0;
}

#define WORLD_TEST(f) \
  cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

#endif
