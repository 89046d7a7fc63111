/* wasm-ld 14 cannot write relocations where a program uses the addresses that
 * the linker itself defines.  These stand in their place in the module that is
 * read for its relocations and never run (split.mk). */
char __global_base[1], __heap_base[1], __data_end[1];
