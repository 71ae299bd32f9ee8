/*
 * Activity records as the wished CUPTI version lays them out (KP_FAKE=version=N).
 *
 *	API version      kernel                 copy             set
 *	18 (11.8)        Kernel8, 200 bytes     Memcpy5, 88      Memset4, 88
 *	19 (12.0) …      Kernel9, 208           Memcpy5          Memset4
 *	26 (12.8) …      Kernel9                Memcpy6, 96      Memset4
 *	130000 (13.0) …  Kernel10, 216          Memcpy6          Memset4
 *	130200 (13.2) …  a longer one, 224      Memcpy6          Memset4
 *
 * Each is a prefix of the next, which is asserted where the headers allow. Threading: any.
 */
#ifndef KP_FAKE_GPU_RECORDS_H
#define KP_FAKE_GPU_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include <cupti_activity.h>

#include "tests/fake_gpu/common/link.h"

/* A kind that no header has, and the size of its records. */
#define KP_FAKE_KIND_UNKNOWN ((CUpti_ActivityKind)0x4b50)
#define KP_FAKE_UNKNOWN_BYTES 48
#define KP_FAKE_RECORD_MAX 256

/* The API version in force. */
uint32_t kp_fake_cupti_version(void);
/* Bytes of a record of this kind; 0: no such kind. */
size_t kp_fake_record_bytes(CUpti_ActivityKind kind);
/* Writes the record of an operation, without its times, in `kp_fake_record_bytes(kind)` bytes. */
void kp_fake_record_write(uint8_t *at, CUpti_ActivityKind kind, const struct kp_fake_op *op);
/* Fills in the times of a record. */
void kp_fake_record_finish(uint8_t *at, CUpti_ActivityKind kind, uint64_t start_ns,
			   uint64_t end_ns);

#endif
