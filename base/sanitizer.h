/* What gcc and clang say of the sanitizer that they build for, as 0 or 1. */
#ifndef BASE_SANITIZER_H
#define BASE_SANITIZER_H

#ifdef __has_feature
#define SANITIZER_HAS(feature) __has_feature(feature)
#else
#define SANITIZER_HAS(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SANITIZER_HAS(address_sanitizer)
#define SANITIZER_ADDRESS 1
#else
#define SANITIZER_ADDRESS 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZER_HAS(thread_sanitizer)
#define SANITIZER_THREAD 1
#else
#define SANITIZER_THREAD 0
#endif

#endif
