/* The heap of the process.  Only a program that owns its process may change it;
 * librly leaves the heap as its host has it. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/* The program says at its start that the process is its own.  Where none has
 * said so, what is below does nothing. */
void heap_is_own(void);

/* Puts the next GiB that malloc hands out into huge pages, and keeps freed
 * memory for later requests.  A second call does nothing.  This pays in a
 * process that fills and frees the same megabytes again and again.  It does
 * nothing where malloc is not glibc's, or where the address space has no GiB to
 * spare. */
void heap_in_huge_pages(void);

#endif
