/* Fuzzing by coverage of what passes make of a program that somebody wrote: the
 * bytes are a program, run by the step machine and by the VM, whose transcripts
 * must be equal (fuzz/duel.h).
 *
 *   the first byte   how many passes the VM's program goes through, 0 to 3
 *   three bytes      which: a row of passes.def that rly opt runs, -O1 or -O2
 *   then             the program
 *
 * A program that the checker refuses, or that takes the step machine too long,
 * proves nothing and is left; so is one in which the VM prints a `_`, a value
 * of whose type it knows nothing, where the step machine prints what is there.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/duel.h"
#include "passes/pass.h"
#include "passes/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHOICES = 3, MAX_STEPS = 20000 };

static void add_pass(StrBuf *out, uint8_t choice) {
  const PassInfo *rows[PIPELINE_MAX];
  int count = duel_pass_rows(rows), i = choice % (count + 2);
  strbuf_addf(out, "%s%s", out->len ? "," : "",
              i < count ? rows[i]->name : pipeline_level(i - count + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 + CHOICES) return 0;
  int count = *data % (CHOICES + 1);
  Mem mem;
  if (!mem_init(&mem, SIZE_MAX)) return 0;
  StrBuf passes;
  strbuf_init(&passes, &mem);
  for (int i = 0; i < count; i++) add_pass(&passes, data[1 + i]);
  Duel d;
  duel_init(&d, &mem, MAX_STEPS);
  if (count) d.passes = strbuf_text(&passes);
  duel_run(&d, "guided.rly", (const char *)data + 1 + CHOICES,
           size - 1 - CHOICES);
  if (d.outcome == DUEL_DIFFERENT && !strchr(strbuf_text(&d.vm), '_')) {
    fprintf(stderr, "passes: %s\nstep:\n%sVM:\n%s", strbuf_text(&passes),
            strbuf_text(&d.step), strbuf_text(&d.vm));
    abort();
  }
  duel_done(&d);
  strbuf_done(&passes);
  mem_done(&mem);
  return 0;
}
