/* As sysctl(3) of FreeBSD has them. */
#include <stddef.h>

#define CTL_KERN 1
#define KERN_PROC 14
#define KERN_PROC_PATHNAME 12

int sysctl(const int *name, unsigned count, void *old, size_t *size,
           const void *set, size_t set_size);
