/* See system.h: where FreeBSD differs from Linux. */
#include "base/system.h"

#ifdef __FreeBSD__
#include <sys/types.h>
/* sysctl.h needs types.h first. */
#include <sys/mman.h>
#include <sys/sysctl.h>

bool system_program(char *path, size_t size) {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PATHNAME, -1};
  return sysctl(name, 4, path, &size, NULL, 0) == 0;
}

/* Memory is not set aside before it is touched, and there is no flag for that.
 * MAP_STACK would let the room grow by itself, downwards from its end. */
void *system_reserve(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
#endif
