/* As dyld(3) of macOS has it. */
#include <stdint.h>

int _NSGetExecutablePath(char *path, uint32_t *size);
