/* Loading of code, which a module cannot: dlopen() fails, and dlerror() says
 * why. */
#ifndef WEB_WASI_DLFCN_H
#define WEB_WASI_DLFCN_H

enum {
  RTLD_LAZY = 1,
  RTLD_NOW = 2,
  RTLD_LOCAL = 0,
  RTLD_GLOBAL = 256,
  RTLD_NODELETE = 4096
};

void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);

#endif
