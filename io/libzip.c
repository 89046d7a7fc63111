/* Loads libzip when the first archive is met, and looks up its functions.
 *
 * Linking it would make every start of the program load it and the libraries
 * that it depends on, for a format that few runs touch.  Once loaded it stays
 * (RTLD_NODELETE): those libraries register handlers that would outlive
 * dlclose. */
#include "io/libzip.h"

#include <dlfcn.h>

#include "base/system.h"

/* Upstream's soname, and Debian's before version 13. */
static const char *const names[] = {SYSTEM_LIBRARY("libzip", "5"),
                                    SYSTEM_LIBRARY("libzip", "4")};

/* A library for another C library than the program's cannot be loaded, and
 * Debian's packages are for glibc. */
#ifdef __GLIBC__
static const char hint[] =
    "install the Debian package libzip4 (libzip5 since Debian 13)";
#else
static const char hint[] =
    "install libzip, built for the C library of this program";
#endif

static void *find_library(void) {
  void *library = NULL;
  for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return library;
}

/* Looks up every function; false when one is missing. */
static bool find_functions(Libzip *z) {
  bool found = true;
#define F(name)                                         \
  *(void **)&z->name = dlsym(z->library, "zip_" #name); \
  found &= z->name != NULL;
  LIBZIP_FUNCTIONS(F)
#undef F
  return found;
}

/* `code` is that of the file's reading or writing, whichever asked. */
bool libzip_load(Libzip *z, const char *path, DiagCode code, Diags *diags) {
  *z = (Libzip){.library = find_library()};
  if (z->library && find_functions(z)) return true;
  Diag *d = diag_error(diags, code, SPAN_NONE,
                       "%s is an archive, and libzip cannot be loaded", path);
  diag_hint(d, hint);
  libzip_unload(z);
  return false;
}

void libzip_unload(Libzip *z) {
  if (z->library) dlclose(z->library);
}
