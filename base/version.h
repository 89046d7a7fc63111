/* The version, as `rly --version` and rly_version() tell it. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H
#define RLY_VERSION_TEXT "0.1.0"
#endif
