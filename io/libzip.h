/* libzip, loaded with the first archive: starting it and the libraries it needs
 * takes longer than the rest of the program's start. */
#ifndef IO_LIBZIP_H
#define IO_LIBZIP_H

#include <zip.h>

#include "base/diag.h"

/* The functions used of zip.h, without their prefix.  From this list come the
 * struct's fields, with the types that zip.h declares, and the names that are
 * looked up. */
#define LIBZIP_FUNCTIONS(F)        \
  F(close)                         \
  F(discard)                       \
  F(error_fini)                    \
  F(error_init)                    \
  F(error_set)                     \
  F(error_strerror)                \
  F(error_to_data)                 \
  F(fclose)                        \
  F(file_add)                      \
  F(file_get_error)                \
  F(file_set_dostime)              \
  F(fopen_index)                   \
  F(fread)                         \
  F(get_error)                     \
  F(get_num_entries)               \
  F(open_from_source)              \
  F(set_file_compression)          \
  F(source_buffer_create)          \
  F(source_buffer_fragment_create) \
  F(source_free) F(source_function_create) F(stat_index) F(strerror)

typedef struct Libzip {
  void *library;
#define F(name) __typeof__(zip_##name) *name;
  LIBZIP_FUNCTIONS(F)
#undef F
} Libzip;

/* False after reporting, with `code`, that the file at `path` needs libzip. */
bool libzip_load(Libzip *z, const char *path, DiagCode code, Diags *diags);
void libzip_unload(Libzip *z);

#endif
