/* As getentropy(2) of macOS has it. */
#include <stddef.h>

int getentropy(void *bytes, size_t size);
