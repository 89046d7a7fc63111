// SPDX-License-Identifier: Apache-2.0
/* rly: an interpreter for a typed functional tensor IR, as a library.
 *
 *   rly_context *cx = rly_context_new(NULL);
 *   rly_program *p = rly_program_new(cx);
 *   if (rly_program_add_file(p, "model.rly", 0) == RLY_OK &&
 *       rly_program_bind_file(p, "weights.safetensors") == RLY_OK) {
 *     rly_session *s = rly_session_new(p, NULL);
 *     rly_value *x = rly_value_of_tensor(s, input), *y;
 *     if (rly_session_call(s, "main", 1, &x, &y) == RLY_OK) ...
 *   }
 *
 * A context owns programs, a program owns sessions, a session owns values;
 * they may be freed in any order, for each stays until the last of its own has
 * gone.
 *
 * Threads: sessions, also of one program, run on as many threads as they like,
 * at once.  One session serves one thread at a time: who comes while it is at
 * work is given RLY_MISUSE (or NULL), not a race; freeing waits.  A program
 * cannot be changed while one of its sessions is at work: RLY_MISUSE again.
 * rly_session_interrupt may be called from anywhere, signal handlers included.
 * A child of fork(2) has its own copy of all of this, computes the same bits,
 * and has threads as it needs them (the OpenMP threads of the thread that forks
 * end before a fork).  A session that another thread had at work is of no use
 * to the child: it is refused as one at work, its program takes no more texts,
 * and what is freed of it stays.  All else works, and a fork in a callback,
 * too.
 *
 * Callbacks (write, show, visit) of a session at work may look at its values,
 * interrupt it, and use other sessions.  They may neither run nor change their
 * own, nor its program: RLY_MISUSE.  They must return: an exception of C++ or a
 * longjmp out of one would leave the session locked.  Keep the exception, call
 * rly_session_interrupt, return, and throw it when the call has returned.
 *
 * Functions that can fail return a status; what it may be beside RLY_OK stands
 * after "Gives:".  What went wrong is told by the diagnostics: the session's,
 * of functions that take a session or a value, the context's otherwise.
 * Arguments that make no sense give RLY_MISUSE (or NULL, 0, false) and change
 * nothing.  Nothing here exits, aborts or prints. */
#ifndef RLY_H
#define RLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is declared here is all that librly.so shows. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct rly_context rly_context;
typedef struct rly_program rly_program;
typedef struct rly_session rly_session;
typedef struct rly_value rly_value;
typedef struct rly_tensor rly_tensor;
typedef struct rly_tensors rly_tensors;
typedef struct rly_function rly_function;
typedef struct rly_type rly_type;
typedef struct rly_state rly_state;
typedef struct rly_snapshot rly_snapshot;
typedef struct rly_layout rly_layout;

typedef enum rly_status {
  RLY_OK = 0,
  RLY_REFUSED = 1, /* the text, a file or an argument; nothing ran */
  RLY_RUNTIME = 2, /* a run-time error */
  RLY_LIMIT = 3,   /* memory, depth, steps or time */
  RLY_INTERRUPTED = 4,
  RLY_INCOMPLETE = 5, /* right so far; only with RLY_INTERACTIVE */
  RLY_MISUSE = 6,     /* a call that makes no sense, now or ever */
} rly_status;

const char *rly_status_name(rly_status status); /* "refused"; or NULL */
/* What the last call of this thread that gave RLY_MISUSE, or NULL in place of
 * something that is to be freed, for misuse, was about: "rly_session_call:
 * argument 2 is a value of another session".  It lives until the thread's next
 * such call.  A question about nothing, such as the rank of NULL, is answered
 * by NULL, 0, -1 or false without a text. */
const char *rly_misuse(void);

/* Frees a text (`char *`) that a function of this header has returned or
 * stored; NULL is fine.  `cx` is the context that the text came from: that of
 * the program, session or value. */
void rly_text_free(rly_context *cx, char *text);

/* The version of this header, and as a number that `#if` compares: 102 is
 * 0.1.2, 10203 is 1.2.3.  rly_version() is that of the library, "0.1.0". */
#define RLY_VERSION_MAJOR 0
#define RLY_VERSION_MINOR 1
#define RLY_VERSION_PATCH 0
#define RLY_VERSION 100
const char *rly_version(void);
/* Chooses the kernels' instruction set for the whole process, before any
 * context is made: "generic", "avx2", "avx512", "neon"; NULL: the machine's
 * best.  Results are the same bits on all.  False when there is none of that
 * name here. */
bool rly_instruction_set(const char *name);

/* --- Contexts ----------------------------------------------------------- */

/* A stack of the calling thread that takes memory as it grows. */
typedef struct rly_stack rly_stack;

/* Calls run(stack, data) on such a stack, or run(NULL, data) on the caller's
 * where the system has none.  A context made there with the option `stack`
 * takes types, patterns and lists of attributes that nest as deep as its memory
 * goes; other contexts take 1,000 levels.  What belongs to that context may be
 * used only within `run`, on that stack. */
void rly_stack_run(void (*run)(const rly_stack *stack, void *data), void *data);

/* The host's own allocator.  allocate() gives `size` bytes, more than 0, at
 * a multiple of `alignment`, which is a power of 2 and at most 64; they may
 * hold anything.  resize() gives a block that allocate() gave with an alignment
 * of 16 another size, and may move it.  Both give NULL where there is no
 * memory, and then a block that was to be resized stays as it was.  release()
 * gets the size that the block had last.  Any thread may call them, until the
 * last handle of the context is freed. */
typedef struct rly_allocator {
  void *(*allocate)(void *data, size_t size, size_t alignment);
  void *(*resize)(void *data, void *block, size_t size, size_t new_size);
  void (*release)(void *data, void *block, size_t size);
  void *data;
} rly_allocator;

/* `size`, here and in rly_session_options, is the size of the host's struct: by
 * it a library of a later version knows which members the host has.  0 is the
 * size of version 0.1, and a smaller one makes no sense.  Members that a
 * library does not know must be 0. */
typedef struct rly_options {
  size_t size;
  size_t max_memory;  /* bytes, for everything; 0: no limit */
  uint64_t max_depth; /* calls; 0: 10,000,000 */
  uint64_t max_steps; /* instructions of one run, counted alike on all machines;
                         0: no limit */
  double timeout;     /* seconds for one run, or to check a text; 0: none */
  size_t tape_memory; /* bytes that a derivative's forward run should keep at
                         most, by computing parts again; 0: no limit */
  int threads;        /* 0: one */
  bool safe;          /* imports only from below the importing files */
  bool nan_stop;      /* a run ends where an operator makes the first NaN from
                         operands without one; slow */
  bool verify;        /* looks at the code that is made before it runs */
  bool strict; /* rly_program_bindings_check refuses tensors of files that the
                  program has no use for, and params left at their defaults */
  const rly_stack *stack; /* that the host runs on; NULL: one of any size */
  const rly_allocator *allocator; /* of all memory that counts for max_memory,
                                     whose struct is copied; NULL: libc's */
} rly_options;

/* `options` may be NULL.  NULL for options that make no sense and when memory
 * cannot be had; rly_misuse tells which. */
rly_context *rly_context_new(const rly_options *options);
void rly_context_free(rly_context *cx);

/* --- Files of the host -----------------------------------------------------
 * Texts, what they import, tensors, models and states may come from the host's
 * memory and go there, under paths of the host's choice. */

typedef enum rly_file {
  RLY_FILE_OF_SYSTEM = 0, /* the system's file is meant */
  RLY_FILE_DONE = 1,      /* the host has given the file, or has taken it */
  RLY_FILE_NONE = 2,      /* there is no such file, or it cannot be written */
} rly_file;

/* The bytes of a file, which stay as they are until release(owner); `release`
 * may be NULL. */
typedef struct rly_bytes {
  const void *data;
  size_t size;
  void (*release)(void *owner);
  void *owner;
} rly_bytes;

typedef struct rly_files {
  /* Called for each file that is to be read; NULL: the host has none.  *out
   * counts with RLY_FILE_DONE alone: otherwise `release` is not called.  A size
   * above 0 without data is no file, as RLY_FILE_NONE says.  Tensors
   * whose elements are aligned stay on the bytes, so `release` may be called
   * much later, and on any thread.  The path of an import is the folder of the
   * importing file with the import's own path after it, without `.`, and with
   * `..` only at its beginning. */
  rly_file (*read)(void *data, const char *path, rly_bytes *out);
  /* Called with the whole of each file that is to be written; NULL: the host
   * takes none. */
  rly_file (*write)(void *data, const char *path, const void *bytes,
                    size_t size);
  void *data;
} rly_files;

/* From now on all that belongs to the context asks the host for a file before
 * the system; NULL: it asks the system alone.  The struct is copied.  No other
 * thread may use the context during this call.  The functions are called on any
 * thread that uses the context, several at once, and may not use what belongs
 * to it.
 * Gives: misuse. */
rly_status rly_context_set_files(rly_context *cx, const rly_files *files);

/* --- Diagnostics -------------------------------------------------------- */

/* How many of those that the calls since the last rly_diagnostics_clear have
 * left can be looked at: the first 20 errors and the first 20 warnings, as they
 * came, and after them the newest error and the newest warning beyond.  So the
 * last of all is the newest, also for a host that never clears them.  Others
 * beyond are only counted. */
size_t rly_diagnostic_count(const rly_context *cx);
/* The number of all, with those that were only counted.  Once it is above 20
 * errors or 20 warnings, the texts below end with how many more there are. */
size_t rly_diagnostic_total(const rly_context *cx);
/* All of them as rly prints them: text with source lines and carets, or a
 * line of JSON each.  To be released with rly_text_free. */
char *rly_diagnostics_text(rly_context *cx, bool colour);
char *rly_diagnostics_json(rly_context *cx);
/* Sets the width, in columns, to which rly_diagnostics_text fits its lines, and
 * so does rly_session_diagnostics_text: long lines of source are shown in part,
 * and messages are broken between words.  0, the default: lines are cut at 200
 * columns, and messages are not broken. */
void rly_diagnostics_width(rly_context *cx, int columns);
void rly_diagnostics_clear(rly_context *cx);
/* The i-th by its parts, which live until they are cleared, those of a newest
 * one until a newer comes; false: there is none. */
typedef enum rly_severity { RLY_ERROR, RLY_WARNING } rly_severity;
typedef struct rly_place {
  const char *file;              /* NULL: nowhere in a text */
  unsigned line, column;         /* from 1; columns count code points */
  unsigned end_line, end_column; /* just after the end */
} rly_place;
typedef struct rly_diagnostic {
  rly_severity severity;
  const char *code; /* "E0203" */
  const char *message;
  const char *caption, *hint; /* NULL: none */
  rly_place place;
  size_t note_count, frame_count;
} rly_diagnostic;
bool rly_diagnostic_get(rly_context *cx, size_t i, rly_diagnostic *out);
/* Its k-th note; after the notes come the calls that a run-time error was in,
 * innermost first, `message` being the function's name. */
typedef struct rly_note {
  const char *message;
  rly_place place;
  size_t block; /* length of the cycle of calls that starts here; 0: none */
  unsigned long long repeats; /* how often the cycle occurred beyond the first
                                 time; those calls are left out */
} rly_note;
bool rly_diagnostic_note(rly_context *cx, size_t i, size_t k, rly_note *out);
/* Adds one of the host's own: a usage error, an unreadable file. */
void rly_diagnostic_add(rly_context *cx, const char *code, const char *message);

/* The same of a session. */
size_t rly_session_diagnostic_count(rly_session *s);
size_t rly_session_diagnostic_total(rly_session *s);
char *rly_session_diagnostics_text(rly_session *s, bool colour);
char *rly_session_diagnostics_json(rly_session *s);
void rly_session_diagnostics_clear(rly_session *s);
bool rly_session_diagnostic_get(rly_session *s, size_t i, rly_diagnostic *out);
bool rly_session_diagnostic_note(rly_session *s, size_t i, size_t k,
                                 rly_note *out);

/* --- A log ----------------------------------------------------------------
 * for hosts that keep one of their own. */

typedef enum rly_log_level {
  RLY_LOG_ERROR,
  RLY_LOG_WARNING,
  RLY_LOG_INFO, /* texts added, files of tensors and states read, written */
} rly_log_level;
typedef struct rly_log_entry {
  rly_log_level level;
  const char *message;              /* one line */
  const rly_diagnostic *diagnostic; /* its parts; NULL: it is information */
} rly_log_entry;
typedef struct rly_log {
  /* What it is given lives until it returns. */
  void (*write)(void *data, const rly_log_entry *entry);
  void *data;
  rly_log_level most; /* levels after this one are left out */
} rly_log;

/* From now on `write` is given each diagnostic that is kept, of the context and
 * of its sessions, when the call that reports it ends, whether or not anybody
 * asks for it then; and what else the level says, when it is done.  NULL: not
 * any more.  The struct is copied.  No other thread may use the context
 * meanwhile.  `write` may be called on any thread that uses the context, and
 * may not use what belongs to it, but for rly_session_interrupt.
 * Gives: misuse. */
rly_status rly_context_set_log(rly_context *cx, const rly_log *log);

/* --- Programs ----------------------------------------------------------- */

enum {
  RLY_INTERACTIVE = 1,  /* answer RLY_INCOMPLETE for text that ends early, or
                           is a doc comment without its definition */
  RLY_NAME_RESULTS = 2, /* later texts may name the values of expressions:
                           %_1, %_2 ... and, the newest, %it */
  RLY_RECHECK = 4,      /* definitions of earlier texts that use what this one
                           defines anew are then checked again and use that,
                           in texts to come; W0003 tells which do not fit, and
                           go on as they were */
};

/* An empty program: only the library is in scope. */
rly_program *rly_program_new(rly_context *cx);
void rly_program_free(rly_program *p);

/* Parses and checks a text and adds it.  On anything but RLY_OK the program is
 * as it was.  `path` is what messages show.
 * Gives: refused, limit, incomplete, misuse. */
rly_status rly_program_add_text(rly_program *p, const char *path,
                                const char *text, size_t len, unsigned flags);
rly_status rly_program_add_file(rly_program *p, const char *path,
                                unsigned flags);
/* How many brackets, comments and strings are open at the end of a text that
 * RLY_INCOMPLETE was answered for, for a prompt to show.  `text` has a NUL
 * after its `len` bytes.  `innermost` receives the last that was opened, as a
 * constant string: "(", "{", "[", "/" "*" or "\""; "" where nothing is open, or
 * more than 255 are.  It needs no program and no lock. */
size_t rly_text_open(const char *text, size_t len, const char **innermost);
/* Gives the next text with RLY_NAME_RESULTS a number n above 0: its first
 * result is %_n then, and others are %_n_2, %_n_3 and so on.  Without numbers,
 * results are counted through all texts. */
void rly_program_number(rly_program *p, int n);
/* The next text is a part of a file and begins with its line `line`, from 1, so
 * that messages show the lines of the file. */
void rly_program_line(rly_program *p, int line);
/* Would rly_program_add_text answer RLY_INCOMPLETE to this text, which has a
 * NUL after its `len` bytes?  Nothing is added or reported. */
bool rly_text_unfinished(rly_program *p, const char *text, size_t len);
/* Does the newest text hold top-level expressions?  (Otherwise it is its @main
 * that is meant to run.) */
bool rly_program_has_expressions(const rly_program *p);

/* --- Operators of the host ---------------------------------------------- */

/* A tensor: contiguous elements, the last axis fastest. */
typedef struct rly_operand {
  const char *dtype; /* "float32" */
  int rank;
  const int64_t *shape;
  int64_t count; /* elements */
  void *data;    /* of an operand: only to be read */
} rly_operand;

/* One call; it and what it points at live until the function returns. */
typedef struct rly_operator_call {
  int count;
  const rly_operand *operands;
  rly_operand result;         /* its elements are 0, to be written */
  int threads;                /* how many the session may use */
  int result_count;           /* how many fields a tuple has; else 1 */
  const rly_operand *results; /* all of them; the first is `result` */
} rly_operator_call;

/* An operator that the host computes. */
typedef struct rly_operator {
  /* Its name and type, as a text defines an `op`, without `= {...}`:
   *
   *   "/// Prefix sums.\n"
   *   "op @prefix[n: Dim](%x: Tensor[(n), float32]) -> Tensor[(n), float32]\n"
   *   "  where n > 0: \"it needs an element\""
   *
   * It takes tensors, at least one, and gives one, or a tuple of 2 to 8, whose
   * dimensions are numbers, names that parameters bind, what is computed of
   * these, or `?`. */
  const char *signature;
  /* Its derivative, as "gradient @prefix(%x) -> (%y, %g) {...}"; NULL: none. */
  const char *gradient;
  /* It does more than to compute a result from its operands: no call is
   * dropped, repeated or moved. */
  bool effect;
  /* Fills in the dimensions of the result that are -1 in `shape`, those which
   * the signature leaves open (`?`); NULL where there are none.  The dimensions
   * of several results follow one another in `shape`. */
  bool (*shape)(void *data, rly_operator_call *call, int64_t *shape);
  /* Computes the results.  False: it failed (rly_operator_fail), or stopped. An
   * element that is none of its dtype (a bool is 0 or 1) fails the call, too.
   */
  bool (*run)(void *data, rly_operator_call *call);
  /* Called once when the program goes that the operator was added to; or
   * NULL. */
  void (*release)(void *data);
  void *data; /* handed to the functions */
} rly_operator;

/* Adds the operator to the program, whose later texts may use it; the struct
 * and its texts are copied.  On anything but RLY_OK the program is as it was,
 * and `release` is not called.  The functions are called on the thread that
 * runs the session, for several sessions at once if these run so, and under the
 * rules for callbacks (above).  Memory of operands and the result counts for
 * the session, what a function takes itself does not.  Limits of time and
 * interrupts end a call only if it asks for them.
 * Gives: refused, limit, misuse. */
rly_status rly_operator_add(rly_program *p, const rly_operator *op);
/* Says why the call fails, a run-time error (E0606).  Gives false. */
bool rly_operator_fail(rly_operator_call *call, const char *message);
/* Is the call to end soon?  Then the function returns false.  To be asked every
 * few milliseconds, from any thread. */
bool rly_operator_stopped(const rly_operator_call *call);

/* --- For tools -------------------------------------------------------------
 * that show programs: editors, notebooks, reviews. */

/* A text as `rly fmt` lays it out: *formatted is owned, and untouched unless
 * RLY_OK.  The text is parsed, not checked; it reads back as the same program,
 * comments included.  What is wrong with it is told by the context's
 * diagnostics, under `path`.
 * Gives: refused, limit, misuse. */
rly_status rly_text_format(rly_context *cx, const char *path, const char *text,
                           size_t len, char **formatted);

/* Every name in scope as it is written, the library's included: "@f", "%x" of
 * the top level, "Cons", "List".  `name` lives as long as the call. */
void rly_program_each_name(const rly_program *p,
                           void (*visit)(void *data, const char *name),
                           void *data);

/* What a name is, for people: a definition as it is written, a function up to
 * its body, then its doc comment; of an operator the sentence that `rly ops`
 * lists.  "@f", "%x", a type, a constructor, an operator; the library's
 * included.  NULL: there is nothing of that name.  To be freed. */
char *rly_program_doc(rly_program *p, const char *name);

/* The type of an expression, as `:type` shows it, over the names of the
 * program; the expression is not evaluated.  NULL after reporting.  To be
 * freed. */
char *rly_program_type_of(rly_program *p, const char *text, size_t len);

/* What stands at a place of a text. */
typedef enum rly_found_kind {
  RLY_FOUND_EXPRESSION, /* no name, but an expression: the innermost one */
  RLY_FOUND_VARIABLE,
  RLY_FOUND_GLOBAL,
  RLY_FOUND_TYPE,
  RLY_FOUND_CONSTRUCTOR,
  RLY_FOUND_OPERATOR, /* by its name, or by a sign such as `+` */
} rly_found_kind;
typedef struct rly_found {
  rly_found_kind kind;
  const char *name;   /* "@f", "%x", "List", "Cons", "nn.dense", as for
                         rly_program_doc; of an expression NULL */
  rly_place place;    /* of the name here, or of the expression */
  rly_place declared; /* of the name where it is declared; `file` is NULL where
                         no text does so: of operators and expressions.  The
                         files of the library begin with "stdlib/". */
} rly_found;
/* Finds it in the newest text of that path which the program has, at a line and
 * a column (of code points) from 1, also just after a name.  *type (may be
 * NULL) is to be freed: the type that a variable, function, constructor or
 * expression has here, the typing rule of an operator; NULL of a data type.
 * What `out` points at lives as long as the program.  False: nothing stands
 * there; and for misuse. */
bool rly_program_find(rly_program *p, const char *path, unsigned line,
                      unsigned column, rly_found *out, char **type);

/* --- The table of operators --------------------------------------------- */

/* The operators, in the order of `rly ops`; NULL beyond the last one. */
const char *rly_operator_name(size_t i);
/* One row of the table of operators; everything in it is static. */
typedef struct rly_operator_row {
  const char *name;    /* "nn.dense" */
  const char *aliases; /* its other names, blanks between; NULL: none */
  const char *type;    /* the rule: "(d..., k, t), (units, k, t) -> ..." */
  const char *doc, *formula, *example; /* `formula` may be NULL */
  const char *shows;                   /* what the example prints; or NULL */
  const char *gradient; /* "rule", "zero", "none"; NULL: not a question */
  /* Its effects: why it may fail at run time although it was checked, and all
   * its shapes were known, for a "divisor" of 0, something "empty", an "index",
   * or other "data"; NULL: it does not.  And whether it writes. */
  const char *fails;
  bool prints;
  bool random; /* draws from a key, which is an operand */
  int attribute_count;
} rly_operator_row;
bool rly_operator_get(size_t i, rly_operator_row *out);
/* How a call is written, with the defaults: "nn.dense(data, weight, units=None,
 * out_dtype=\"\")"; `x?` may be left out, `x...` is a tuple.  To be freed. */
char *rly_operator_signature(rly_context *cx, size_t i);
/* Its k-th attribute. */
typedef struct rly_attribute {
  const char *name;
  const char *type;  /* "int", "float", "bool", "string", "dtype", "ints", "int
                        or ints", "lists" (of ints), "floats", "ignored" */
  const char *words; /* the strings that it may be, "a|b|c"; NULL: any */
  bool required;     /* it has no default */
  bool optional;     /* it may be None */
  bool expression;   /* its value may be an expression */
  /* The default, by its type: None, or a number, a bool (0 or 1), a text, or
   * `count` numbers. */
  bool none;
  int64_t integer;
  double real;
  const char *text;
  int count;
  const int64_t *integers;
  const double *reals;
} rly_attribute;
bool rly_operator_attribute(size_t i, int k, rly_attribute *out);

/* --- Signatures --------------------------------------------------------- */

/* A global function by name (without `@`), NULL when there is none: a `def`, or
 * a `let @f` that holds one.  Lives as long as the program. */
const rly_function *rly_program_function(rly_program *p, const char *name);
int rly_function_param_count(const rly_function *f);
const char *rly_function_param_name(const rly_function *f, int i);
/* "fn (Tensor[(?, 4), float32]) -> int32"; to be freed. */
char *rly_function_type_text(rly_program *p, const rly_function *f);
const rly_type *rly_function_param_type(const rly_function *f, int i);
const rly_type *rly_function_result_type(const rly_function *f);

/* What a type says; all live as long as the program. */
typedef enum rly_kind {
  RLY_TENSOR, /* scalars included */
  RLY_TUPLE,
  RLY_CONSTRUCTOR,
  RLY_REF,
  RLY_FUNCTION,
  RLY_UNKNOWN, /* a type variable; NULL */
} rly_kind;
rly_kind rly_type_kind(const rly_type *t);
const char *rly_type_dtype(const rly_type *t);     /* of a tensor; or NULL */
int rly_type_rank(const rly_type *t);              /* of a tensor; or -1 */
int64_t rly_type_dim(const rly_type *t, int axis); /* -1: not known */
/* The fields of a tuple, the content of a ref, and of a function the parameters
 * and after them the result. */
int rly_type_field_count(const rly_type *t);
const rly_type *rly_type_field(const rly_type *t, int i);
/* "Tensor[(?, 4), float32]", "List[int32]"; to be freed. */
char *rly_type_text(rly_program *p, const rly_type *t);
/* Of a data type: its name, "List", and its constructors, of which the i-th has
 * fields; a label is NULL where the fields have no names. */
const char *rly_type_name(const rly_type *t);
int rly_type_constructor_count(const rly_type *t);
const char *rly_type_constructor(const rly_type *t, int i);
int rly_constructor_field_count(const rly_type *t, int i); /* or -1 */
const char *rly_constructor_label(const rly_type *t, int i, int k);
const rly_type *rly_constructor_field(rly_program *p, const rly_type *t, int i,
                                      int k);

/* The program's `param`s, in the order of the text. */
int rly_program_param_count(rly_program *p);
const char *rly_program_param_name(rly_program *p, int i); /* or NULL */
const rly_type *rly_program_param_type(rly_program *p, int i);
bool rly_program_param_has_default(rly_program *p, int i);
/* Is something bound to it by the functions below?  Of one that is made of
 * parts, to a part of it. */
bool rly_program_param_is_bound(rly_program *p, int i);

/* --- Binding `param`s and arguments ----------------------------------------
 * Values are bound by name before anything runs.  Later calls win over earlier
 * ones; what a file holds beyond the program's names is ignored, an unknown
 * name in rly_program_bind_text is an error. */

/* The tensors of a file, of any format that rly_tensors_read takes.
 * Gives: refused, limit, misuse. */
rly_status rly_program_bind_file(rly_program *p, const char *path);
/* Gives: limit, misuse. */
rly_status rly_program_bind_tensor(rly_program *p, const char *name,
                                   const rly_tensor *t);
/* The same of a `param` that the program has by now: a name of none, told with
 * those that are near, and a tensor that does not fit are refused at once and
 * leave what was bound.
 * Gives: refused, limit, misuse. */
rly_status rly_program_bind_param(rly_program *p, const char *name,
                                  const rly_tensor *t);
/* "NAME=VALUE", or a bare VALUE for the entry's next parameter: a literal, a
 * tensor literal, a string, @file.npy, or @FILE for the bytes of any other
 * file, a vector of uint8.  Unsuffixed literals take the declared dtype.
 * Gives: refused, limit, misuse. */
rly_status rly_program_bind_text(rly_program *p, const char *argument);
/* Checks that every `param`, and every parameter of `entry` when that is not
 * NULL, is bound to a tensor of its type; reports all that is not.
 * Gives: refused, limit, misuse. */
rly_status rly_program_bindings_check(rly_program *p,
                                      const rly_function *entry);

/* --- Sessions ----------------------------------------------------------- */

typedef struct rly_session_options {
  size_t size;
  void (*write)(void *data, const char *text, size_t len); /* print's target;
                                                NULL: text is thrown away */
  void *data;
  int width; /* of display forms; 0: 80 */
  /* What to look at while it runs; nothing of it changes a result. */
  bool count;        /* instructions, for rly_session_stats */
  bool profile;      /* for rly_session_profile */
  const char *trace; /* a file that receives calls and operators over time as
                        Chrome's trace events, when the session is freed;
                        NULL: there is none */
} rly_session_options;

rly_session *rly_session_new(rly_program *p,
                             const rly_session_options *options);
void rly_session_free(rly_session *s);

/* Evaluates what the texts added since the last run hold, in order.  `show`
 * (may be NULL) is given each expression's value; it borrows it.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_run(rly_session *s,
                           void (*show)(void *data, rly_value *value),
                           void *data);
/* Calls a global function by name, after evaluating the `let`s (but not the
 * expressions) of texts that were not run yet.  Arguments are borrowed;
 * *result is owned (untouched unless RLY_OK).
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_call(rly_session *s, const char *name, int count,
                            rly_value *const *args, rly_value **result);
/* The same without looking up the name.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_call_function(rly_session *s, const rly_function *f,
                                     int count, rly_value *const *args,
                                     rly_value **result);
/* Calls `entry` with the arguments bound to its parameters' names.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_call_bound(rly_session *s, const rly_function *entry,
                                  rly_value **result);
/* Calls a value that is a function, such as one that another call gave.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_value_call(rly_value *function, int count,
                          rly_value *const *args, rly_value **result);
/* Stops the run under way.  What it leaves to free the next run frees first, or
 * rly_session_free: structures of millions of cells do not hold it up. */
void rly_session_interrupt(rly_session *s);
/* Leaves out what was added since the last run: a `let` of it has no value in
 * this session, which a use reports.
 * Gives: misuse. */
rly_status rly_session_skip(rly_session *s);
/* Sets max_memory, max_depth, max_steps, timeout and tape_memory, all five, of
 * the runs to come; 0 is what it is in rly_options, so it takes a limit away,
 * and the other members mean nothing.  To set one, change it in what
 * rly_session_limits gives: what they are now, in a struct whose `size` is set.
 * The memory is the context's, for all its sessions.
 * Gives: misuse. */
rly_status rly_session_set_limits(rly_session *s, const rly_options *limits);
rly_status rly_session_limits(rly_session *s, rly_options *limits);
typedef struct rly_stats {
  uint64_t instructions, cells, reused, tensors, buffers, checks;
  size_t live_bytes, peak_bytes; /* of the context */
  uint64_t allocations;          /* blocks asked of the system, by it */
  size_t tape_bytes; /* the most that a run of grad, vjp or jvp kept for its
                        sweep, in it and while it was computed again */
  uint64_t records, recomputed; /* of such runs; those that were made again */
} rly_stats;
rly_stats rly_session_stats(const rly_session *s);
/* A table of calls, time, bytes moved, operations and bytes per second, by
 * source line and operator, then by operator; NULL when that was not asked for.
 * To be freed. */
char *rly_session_profile(rly_session *s);
/* Begins a new profile, or ends it.
 * Gives: limit, misuse. */
rly_status rly_session_set_profile(rly_session *s, bool on);

/* --- State --------------------------------------------------------------
 * A session's state is the mutable cells that its global values lead to, in
 * the order of the text.  A path names a cell: `@name`, then `.N` (a tuple's
 * field), `.Ctor.N` (a constructor's), `{%x}` (what a function captured), `^`
 * (what a cell holds); `%name` for a top-level `let %name`.  Of several `let`s
 * of one name the last has the name, and `@name#2` is the one before it.  The
 * functions below first evaluate `let`s that were not run yet. */

/* The list as it is now; NULL when the session is at work, or after
 * reporting.  What its functions give lives as long as it does. */
rly_state *rly_session_state(rly_session *s);
void rly_state_free(rly_state *st);
size_t rly_state_count(const rly_state *st);
const char *rly_state_path(const rly_state *st, size_t i); /* or NULL */
/* "ref(int32)", by which it is declared; NULL when only a type variable was
 * known where it was made. */
const char *rly_state_type(rly_state *st, size_t i);
/* Further paths to the same cell (the first thousand of all). */
size_t rly_state_alias_count(const rly_state *st, size_t i);
const char *rly_state_alias(const rly_state *st, size_t i, size_t k);

/* What a cell holds: owned, or NULL after reporting. */
rly_value *rly_session_get(rly_session *s, const char *path);
/* Puts a value of the cell's type into it.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_set(rly_session *s, const char *path, rly_value *v);

/* A cell of the host's own, which from now on belongs to the session's state:
 * it is listed, read, saved, loaded and carried as `$name`.  So a state that is
 * handed from step to step can be kept with that in cells.  The name has
 * letters, digits, `_` and `.`.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_add_cell(rly_session *s, const char *name, rly_value *v);

/* Remembers what the cells hold; NULL when the session is at work, or after
 * reporting.  Elements are shared, so it costs a few words a cell. */
rly_snapshot *rly_session_snapshot(rly_session *s);
/* Puts it back, into the very cells.  A snapshot serves any number of times,
 * only its own session.
 * Gives: misuse. */
rly_status rly_session_restore(rly_session *s, const rly_snapshot *snapshot);
void rly_snapshot_free(rly_snapshot *snapshot);

/* A session that goes on from here on its own.  `options` are its own, too. */
rly_session *rly_session_fork(rly_session *s,
                              const rly_session_options *options);
/* Every cell holds again what it would in a new session.  Until that is so the
 * session's memory holds the old contents and the new ones.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_reset(rly_session *s);

/* To a file, which is replaced whole or not at all: .safetensors, a tensor
 * named as each cell's path.  A cell that holds a function is refused, and so
 * is a path that ends as another format's, such as .npz. Gives: refused,
 * runtime, limit, interrupted, misuse. */
rly_status rly_session_save(rly_session *s, const char *path);
/* From such a file, all cells or none: names, types, shapes and the checksum
 * must fit.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_load(rly_session *s, const char *path);
/* Into a changed program: cells of the same path and type keep what they held.
 * *report (may be NULL) is to be freed: a line for each cell, "kept",
 * "changed", "dropped" or "added", then its path and why, tabs between.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_carry(rly_session *from, rly_session *to, char **report);
/* The same from a file.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_carry_file(rly_session *to, const char *path,
                                  char **report);

/* --- Values ------------------------------------------------------------- */

void rly_value_free(rly_value *v);
/* Another handle on the same value, for what a callback is given; owned, or
 * NULL. */
rly_value *rly_value_keep(rly_value *v);
rly_kind rly_value_kind(const rly_value *v);
const rly_type *rly_value_type(const rly_value *v);
bool rly_value_is_unit(const rly_value *v);
/* Display form, type, JSON: to be freed with rly_text_free.  The display form
 * is elided beyond ten thousand parts.  A ref that is met inside itself is
 * `<cycle N>`, in JSON {"cycle": N}: the N-th ref outward.  NULL with a
 * diagnostic when memory runs out or rly_session_interrupt was called. */
char *rly_value_text(rly_value *v);
/* The display form for so many columns (0: the session's), with floats of at
 * most so many significant digits (0: as many as read back to them). */
char *rly_value_text_fit(rly_value *v, int width, int digits);
char *rly_value_type_text(rly_value *v);
char *rly_value_json(rly_value *v);
/* Of one session and type, and equal in structure?  Tensors are compared bit
 * by bit, any NaN like any other; refs by what they lead to, functions by
 * identity. */
bool rly_value_equal(const rly_value *a, const rly_value *b);
/* Fields of a tuple or constructor, the content of a ref: owned; or NULL, when
 * there is none or memory ran out. */
int rly_value_field_count(const rly_value *v);
rly_value *rly_value_field(rly_value *v, int i);
const char *rly_value_constructor(const rly_value *v); /* or NULL */
/* The tensor of a RLY_TENSOR value, sharing its elements; owned, or NULL. */
rly_tensor *rly_value_tensor(rly_value *v);
/* A value that shares the tensor's elements; owned.  NULL after reporting to
 * the session that memory is out, and for misuse. */
rly_value *rly_value_of_tensor(rly_session *s, const rly_tensor *t);
/* The same without handles between, for streams: a tensor value made of copied
 * row-major elements, where an element that is none of the dtype is misuse; and
 * the elements of one, which live as long as it. */
rly_value *rly_value_of_elements(rly_session *s, const char *dtype, int rank,
                                 const int64_t *shape, const void *elements);
const char *rly_value_dtype(const rly_value *v);     /* or NULL */
int rly_value_rank(const rly_value *v);              /* or -1 */
int64_t rly_value_dim(const rly_value *v, int axis); /* or -1 */
int64_t rly_value_count(const rly_value *v);         /* of elements */
const void *rly_value_elements(rly_value *v);        /* or NULL */
/* Numbers in the host's own memory.  Axis k steps strides[k] elements from one
 * to the next, also 0 or backwards; they are row-major where `strided` is
 * false. */
typedef struct rly_array {
  void *data; /* element (0, ..., 0); only results are written to */
  const char *dtype;
  int rank; /* at most 8 */
  bool strided;
  int64_t shape[8], strides[8];
  size_t room; /* of a result: bytes from `data` on that may be written */
} rly_array;
/* A value of an array's elements: copied, or with `release` borrowed, for which
 * they must be aligned and stay as they are until release(owner) is called. */
rly_value *rly_value_of_array(rly_session *s, const rly_array *elements,
                              void (*release)(void *owner), void *owner);
/* Where the elements of a tensor value lie, strided as they are; not to be
 * written to, and to be found there as long as the handle. */
bool rly_value_array(rly_value *v, rly_array *out);
/* A call that makes no handles, for functions of tensors.  The arguments are
 * copied.  The result is written, row-major, to the `room` bytes at
 * result->data, whose other members are set, and *value is NULL.  A result that
 * needs more room, or is no tensor, is *value, owned, and `result` stays as it
 * was; so it does, and *value, unless RLY_OK.
 * Gives: refused, runtime, limit, interrupted, misuse. */
rly_status rly_session_call_arrays(rly_session *s, const rly_function *f,
                                   int count, const rly_array *args,
                                   rly_array *result, rly_value **value);
/* A tuple, and a value of the data type `t`, from fields, which are borrowed
 * and shared.  NULL after reporting to the session a field that does not fit,
 * or that memory is out, and for misuse: a constructor that the type does not
 * have, another number of fields, more than 1000 of a tuple. */
rly_value *rly_value_tuple(rly_session *s, int count, rly_value *const *fields);
rly_value *rly_value_construct(rly_session *s, const rly_type *t,
                               const char *constructor, int count,
                               rly_value *const *fields);
/* A function of the program as a value, which can be an argument or a field.
 * An operator of the host (rly_operator_add) is such a function, so a program
 * can take what the host computes as a fn (float32) -> float32.  Owned; NULL
 * after reporting to the session. */
rly_value *rly_value_of_function(rly_session *s, const rly_function *f);
/* Every tensor in the value, tuples and constructors flattened in order, to a
 * file as out0, out1, ..., in a format as of rly_tensors_write.
 * Gives: runtime, limit, interrupted, misuse. */
rly_status rly_value_write(rly_value *v, const char *path);
/* The same under the names by which rly_program_bind_file gives them to a
 * `param` called `name`, `name.layers.0.bias`, and so on; with "" the paths
 * begin below it.  A ref gives RLY_RUNTIME, as no param has one.
 * Gives: runtime, limit, interrupted, misuse. */
rly_status rly_value_write_as(rly_value *v, const char *name, const char *path);

/* --- Values by their parts ----------------------------------------------
 * What a type's values are made of, named by path: of a tuple `x` the parts are
 * `x.0` and `x.1`, of a constructor with named fields `x.left`, of one without
 * `x.0`; the value of an Option is `x` itself and may be missing. */

typedef enum rly_parts {
  RLY_TENSORS, /* down to tensors; a type with lists or choices is refused */
  RLY_PIECES,  /* tuples and sole constructors are taken apart, no others */
} rly_parts;

/* `name` begins the paths; with "" they begin below it.  *out is owned, and
 * untouched unless RLY_OK.
 * Gives: refused, limit, misuse. */
rly_status rly_layout_new(rly_program *p, const rly_type *t, const char *name,
                          rly_parts what, rly_layout **out);
void rly_layout_free(rly_layout *l);
size_t rly_layout_count(const rly_layout *l);
/* Of part i; they live as long as the program. */
const char *rly_layout_path(const rly_layout *l, size_t i);
const rly_type *rly_layout_type(const rly_layout *l, size_t i);
bool rly_layout_optional(const rly_layout *l, size_t i);
/* A value of the type from all its parts, which are borrowed; NULL stands for
 * one that is missing.  NULL after reporting one that does not fit, or that
 * memory is out. */
rly_value *rly_layout_build(const rly_layout *l, rly_session *s,
                            rly_value *const *parts);
/* The parts of a value of the type, owned; NULL where one is missing.
 * Gives: limit, misuse. */
rly_status rly_layout_split(const rly_layout *l, rly_value *v,
                            rly_value **parts);

/* --- Tensors ------------------------------------------------------------ */

/* dtypes by name, "float32"; an int4 and a uint4 take a byte.  `shape` has
 * `rank` (at most 8) dims.  Elements are row-major; they are copied.  NULL when
 * the arguments make no sense (a bool that is neither 0 nor 1 is one) or memory
 * is short. */
rly_tensor *rly_tensor_new(rly_context *cx, const char *dtype, int rank,
                           const int64_t *shape, const void *elements);
/* The same without a copy: the memory must stay as it is until `release(owner)`
 * is called (by rly_tensor_free or later, when the last view goes, on that
 * one's thread).  It is never written to, and must be aligned for the dtype. */
rly_tensor *rly_tensor_borrow(rly_context *cx, const char *dtype, int rank,
                              const int64_t *shape, const void *elements,
                              void (*release)(void *owner), void *owner);
void rly_tensor_free(rly_tensor *t);
const char *rly_tensor_dtype(const rly_tensor *t);
int rly_tensor_rank(const rly_tensor *t);
int64_t rly_tensor_dim(const rly_tensor *t, int axis); /* -1: no such axis */
int64_t rly_tensor_count(const rly_tensor *t);
/* Row-major elements; valid as long as the tensor. */
const void *rly_tensor_data(const rly_tensor *t);

/* A tensor from the text of a literal, which rly_program_bind_text takes, too.
 * `dtype` is that of unsuffixed numbers; NULL: as in a program.  Owned; NULL
 * after reporting. */
rly_tensor *rly_program_literal(rly_program *p, const char *dtype,
                                const char *text);

/* --- Tensors of other libraries -------------------------------------------
 * torch, numpy, jax and others hand tensors to each other as DLManagedTensors
 * (DLPack, https://dmlc.github.io/dlpack), which share their elements.  Here
 * these lie in the CPU's memory, have any strides, and a dtype of rly's. */

struct DLManagedTensor;

/* A value of the tensor's shape, dtype and elements.  The elements are shared,
 * unless `copied` is set or their address is no multiple of their size.  The
 * tensor is then rly's: rly calls its deleter, on any thread, when the elements
 * are not needed any more, and they must not change before.  NULL, and the
 * tensor stays the caller's, when it cannot be taken (rly_misuse). */
rly_value *rly_value_of_dlpack(rly_session *s, struct DLManagedTensor *t,
                               bool copied);
/* The same as a tensor to be bound to a param; elements that are not row-major
 * are copied, too. */
rly_tensor *rly_tensor_of_dlpack(rly_context *cx, struct DLManagedTensor *t,
                                 bool copied);
/* The tensor for another library, which shares its elements, may not write to
 * them, and calls the deleter, on any thread, when it needs them no more.  They
 * outlive the handle.  NULL for a value that is no tensor, for int4 and uint4,
 * which DLPack packs, and when memory runs out (rly_misuse). */
struct DLManagedTensor *rly_value_dlpack(rly_value *v);
struct DLManagedTensor *rly_tensor_dlpack(const rly_tensor *t);

/* --- Tensors by name -------------------------------------------------------
 * What a file of tensors holds.  The file's extension tells its format:
 * .safetensors, .npz, .params (TVM's), .npy (one tensor, named as the file);
 * read only: .gguf (tensors that are not quantized), .json (the index of a
 * model in several .safetensors files, which lie beside it).
 * Any other file is read as what it begins like, and written as .safetensors.
 * Archives (.npz) need libzip, which is loaded when the first one is met. */

rly_tensors *rly_tensors_new(rly_context *cx);
void rly_tensors_free(rly_tensors *ts);
/* *out is owned, and untouched unless RLY_OK.  Elements stay on a mapping of
 * the file where its format allows: do not change it meanwhile.
 * Gives: refused, limit, misuse. */
rly_status rly_tensors_read(rly_context *cx, const char *path,
                            rly_tensors **out);
/* Writes beside the file and renames: it is replaced whole or not at all.
 * Gives: runtime, limit, misuse. */
rly_status rly_tensors_write(const rly_tensors *ts, const char *path);
size_t rly_tensors_count(const rly_tensors *ts);
const char *rly_tensors_name(const rly_tensors *ts, size_t i); /* or NULL */
/* Shares the elements; owned, or NULL when there is no such name. */
rly_tensor *rly_tensors_get(const rly_tensors *ts, const char *name);
/* Shares the elements, too.  The name must be new, not empty, UTF-8, and not
 * `__metadata__`.
 * Gives: limit, misuse. */
rly_status rly_tensors_add(rly_tensors *ts, const char *name,
                           const rly_tensor *t);
/* Text that goes with the tensors, NULL when there is none under the key.
 * Formats other than .safetensors leave it out.
 * Gives: limit, misuse. */
const char *rly_tensors_metadata(const rly_tensors *ts, const char *key);
rly_status rly_tensors_add_metadata(rly_tensors *ts, const char *key,
                                    const char *value);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
