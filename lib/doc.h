/* Definitions as they are written, with their doc comments.  A doc comment is
 * the lines that begin with `///` and stand right above a definition.  Its text
 * is Markdown; a line with four more blanks belongs to an example, which `rly
 * test` runs. */
#ifndef LIB_DOC_H
#define LIB_DOC_H

#include "lib/handles.h"

/* The texts lie in the program's sources or in the library, and live as long
 * as those. */
typedef struct DefinitionText {
  const char *sigil, *name; /* "@" and "f" */
  const char *text;         /* the definition, from its first word on */
  size_t len;
  const char *doc; /* the lines of the doc comment, slashes included */
  size_t doc_len;  /* 0: there is none */
  const char *path;
  unsigned line; /* of the definition */
  bool library;
} DefinitionText;

/* The newest definition of `@f`, `%x`, a type or a constructor: the user's own,
 * otherwise the library's.  False when there is none.  `out` may be NULL. */
bool program_definition_for(const char *function, rly_program *p,
                            const char *name, DefinitionText *out);
#define program_definition(...) program_definition_for(__func__, __VA_ARGS__)
/* How the program's texts say that an operator is differentiated, `@f`, and
 * their rules of rewriting that call it, `@f` or "sigmoid": as they are
 * written, each line after `indent`. */
void program_print_rules(rly_program *p, StrBuf *out, const char *name,
                         const char *indent);
/* The library's rule of differentiation of an operator; false: it has none. */
bool library_gradient(const char *op, DefinitionText *out);
/* Gives the library's functions and types in the order of the library's
 * files.  The copies that a template makes for further dtypes are left out,
 * unless `all`. */
void library_each_definition(rly_program *p, bool all,
                             void (*visit)(void *data, const DefinitionText *d),
                             void *data);

/* The doc comment without its slashes, each line after `indent`. */
void doc_print(StrBuf *out, const DefinitionText *d, const char *indent);
/* "def @id[A](%x: A) -> A": a function up to its body; anything else whole. */
void definition_print_head(StrBuf *out, const DefinitionText *d);

#endif
