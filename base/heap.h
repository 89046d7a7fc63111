/* The heap of the process, for a program that owns the process.  A library
 * leaves the heap as its host has it: until the program has said that it is its
 * own, nothing here does anything. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/* Says so. */
void heap_is_own(void);

/* Puts the next GiB that malloc hands out into huge pages, and keeps freed
 * memory for later requests; once.  This pays in a process that fills and frees
 * the same megabytes again and again.  It does nothing where malloc is not
 * glibc's, or where the address space has no GiB to spare. */
void heap_in_huge_pages(void);

#endif
