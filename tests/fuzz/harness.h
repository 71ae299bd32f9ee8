/*
 * One input of the fuzzer: bytes that claim to be a trace. Used by the fuzzer itself (libFuzzer
 * calls LLVMFuzzerTestOneInput) and by replay.c, which runs the same without a fuzzer.
 */
#ifndef KP_FUZZ_HARNESS_H
#define KP_FUZZ_HARNESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the bytes as a trace to the end, twice, and builds a report; aborts where reader or report
 * break a promise of reader.h or report.h. An odd number of bytes is read as a trace of two equal
 * files. Returns 0.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
