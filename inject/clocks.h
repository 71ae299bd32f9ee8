/*
 * What the GPUs' clocks, power and temperature were, a few times a second, by NVML.
 *
 * NVML is loaded and started on the worker thread, when that has run for a quarter of a second and
 * a device was seen, so that short programs never wait for it; from then on a reading takes the
 * worker some milliseconds at most. Only the program's own GPUs are asked, and nothing is ever
 * changed. Where there is no NVML, or it does not know a GPU, its readings are absent. Worker only,
 * but for kp_clocks_forget.
 */
#ifndef KP_INJECT_CLOCKS_H
#define KP_INJECT_CLOCKS_H

#include "trace/writer.h"

/* A reading is begun only where nothing else is due on the worker for so long. */
#define KP_CLOCKS_ROOM_MS 20

/* A device that the program uses; `device` and `pci` are read. */
void kp_clocks_watch(const struct kp_device_info *info);
/* Writes a reading of each device that is watched, if one is due. */
void kp_clocks_tick(struct kp_writer *writer);
/* In a forked child: NVML was the parent's, and is left alone. Takes no lock, frees nothing. */
void kp_clocks_forget(void);

#endif
