/*
 * Kernel names for people: demangled C++ as clean, valid UTF-8.
 *
 * Escaping is injective, so that distinct names stay distinct whatever bytes they hold: a backslash
 * becomes two; bytes that are not valid UTF-8, control characters (C0, DEL, C1) and the characters
 * that reorder or break lines on a terminal (U+2028, U+2029, U+202A–U+202E, U+2066–U+2069) become
 * \xNN, byte by byte. No real kernel name holds any of these: real names pass unchanged.
 *
 * Thread-safe.
 */
#ifndef KP_ANALYZERS_DEMANGLE_H
#define KP_ANALYZERS_DEMANGLE_H

#include "trace/arena.h"
#include "trace/records.h"

/* Longer mangled names, and names that would demangle to more, stay mangled (escaped). */
#define KP_DEMANGLE_INPUT_MAX ((size_t)16 * 1024)
#define KP_DEMANGLE_OUTPUT_MAX ((size_t)64 * 1024)

/*
 * The demangled name, escaped; names that are not mangled C++ (nvjet_…, triton_…) come back escaped
 * only. NUL-terminated, in the arena; NULL without memory.
 */
const char *kp_demangle(struct kp_arena *arena, struct kp_text mangled);

/* `text` escaped as above. NUL-terminated, in the arena; NULL without memory. */
const char *kp_demangle_escape(struct kp_arena *arena, struct kp_text text);

#endif
