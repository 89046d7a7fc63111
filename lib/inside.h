/* The inside of what rly.h shows: the program as data, its types, its code, the
 * operators' rows.  A host that evaluates programs includes include/rly.h and
 * nothing else.  This header is for tools that show a program: the commands of
 * repl/ that print, explain or measure it, and a language server.  They look
 * through handles and change nothing.  They hold the program or the session
 * while they look: program_enter, session_hold (lib/handles.h). */
#ifndef LIB_INSIDE_H
#define LIB_INSIDE_H

#include "base/clock.h"
#include "base/diff.h"
#include "base/heap.h"
#include "base/html.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/system.h"
#include "base/utf8.h"
#include "data/data.h"
#include "ir/foreign.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "lib/complete.h"
#include "lib/doc.h"
#include "lib/export.h"
#include "lib/format.h"
#include "lib/kept.h"
#include "lib/names.h"
#include "lib/onnx.h"
#include "lib/op_text.h"
#include "observe/observe.h"
#include "ops/ops.h"
#include "parser/parser.h"
#include "passes/cost.h"
#include "passes/pass.h"
#include "passes/pipeline.h"
#include "passes/tail.h"
#include "rules/values.h"
#include "stepper/stepper.h"
#include "tensor/facts.h"
#include "types/types.h"

/* --- cut.c -------------------------------------------------------------- */

/* From now on, for the whole process, which is the command's own: a mapped file
 * that becomes shorter ends a run, and not the process. */
void files_outlive_cuts(void);

/* --- state_file.c ------------------------------------------------------- */

/* Why the tensors of a file are not the state of a session, or are a damaged
 * one; NULL: they are a whole one. */
const char *tensors_state_fault(const rly_tensors *ts);

/* --- tensor.c ----------------------------------------------------------- */

/* Are these bytes elements of the dtype?  Of a bool 0 and 1 are, of an int4 -8
 * to 7. */
bool elements_are_of(const char *dtype, const void *elements, size_t bytes);

/* --- params.c ----------------------------------------------------------- */

/* Sets read[i], for each param i of the program, to whether a call of one of
 * these functions may read it.  False: memory ran out. */
bool params_reached(rly_program *p, int count,
                    const rly_function *const *functions, bool *read);

/* --- measure.c ---------------------------------------------------------- */

/* Measures what calls take, by running them; what was measured is kept. */
typedef struct Measurer Measurer;
Measurer *measurer_new(rly_program *p); /* NULL: memory ran out */
void measurer_free(Measurer *m);
CallCost measurer_cost; /* its data is the Measurer */

#endif
