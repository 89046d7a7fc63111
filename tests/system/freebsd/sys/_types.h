/* The headers of gcc ask for it; it may be empty. */
