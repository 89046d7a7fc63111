/* The heap of the process, for a program that owns the process.  A library
 * leaves the heap as its host has it. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/* Puts what malloc hands out from now on, the first GiB of it, into huge pages,
 * and keeps what is freed for the next request.  For a process that fills and
 * frees the same megabytes again and again.  Without effect where malloc is not
 * glibc's, or where the address space has no GiB to spare. */
void heap_in_huge_pages(void);

#endif
