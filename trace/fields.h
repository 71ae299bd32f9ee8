/*
 * The fields of the records that describe a process, a device, a clock, counts, notes and the end.
 *
 * One list a record, one row a field: F(key, TYPE, name). TYPE is U64 or TEXT (bytes, no terminator
 * on disk). A key is the field's identity on disk: never reuse one, never change what it means. A
 * field that is absent was not measured; absent is not zero.
 */
#ifndef KP_TRACE_FIELDS_H
#define KP_TRACE_FIELDS_H

#define KP_PROCESS_FIELDS(F)                                                                       \
	F(1, U64, pid)                                                                             \
	F(2, U64, parent_pid)                                                                      \
	F(3, TEXT, host)                                                                           \
	F(4, TEXT, command)    /* arguments joined by one space, secrets redacted */               \
	F(5, TEXT, executable) /* path of /proc/self/exe */                                        \
	F(6, U64, start_ns)    /* when the collector started, on the trace's clock */              \
	F(7, TEXT, kprof_version)                                                                  \
	F(8, U64, driver_version) /* cuDriverGetVersion: 1000 * major + 10 * minor */              \
	F(9, U64, cupti_version)  /* cuptiGetVersion, CUPTI API version */                         \
	F(10, TEXT, cupti_path)                                                                    \
	F(11, TEXT, rank)            /* RANK, SLURM_PROCID, …: the first that is set */          \
	F(12, TEXT, driver_name)     /* NVIDIA kernel driver release, as in 580.159.04 */          \
	F(13, U64, process_start_ns) /* when the process itself started, on the trace's clock */   \
	F(14, TEXT, local_rank)      /* LOCAL_RANK, SLURM_LOCALID, …: the first that is set */   \
	F(15, U64, untraced) /* kprof cannot see into this program: how many processes ran it */   \
	F(32, TEXT, source)  /* what kprof import made this of; absent: kprof recorded it */

#define KP_DEVICE_FIELDS(F)                                                                        \
	F(1, U64, device) /* CUDA ordinal in this process */                                       \
	F(2, TEXT, name)                                                                           \
	F(3, TEXT, uuid)                                                                           \
	F(4, U64, compute_major)                                                                   \
	F(5, U64, compute_minor)                                                                   \
	F(6, U64, sm_count)                                                                        \
	F(7, U64, sm_clock_khz)     /* maximum */                                                  \
	F(8, U64, memory_clock_khz) /* maximum */                                                  \
	F(9, U64, memory_bus_bits)                                                                 \
	F(10, U64, memory_bytes)                                                                   \
	F(11, U64, l2_bytes)                                                                       \
	F(12, U64, threads_per_sm)                                                                 \
	F(13, U64, registers_per_sm)                                                               \
	F(14, U64, shared_bytes_per_sm)                                                            \
	F(15, TEXT, pci) /* domain:bus:device */                                                   \
	F(16, U64, blocks_per_sm)                                                                  \
	F(17, U64, mig) /* 1: this is a MIG slice */

#define KP_CLOCK_FIELDS(F)                                                                         \
	F(1, U64, monotonic_ns) /* the trace's clock */                                            \
	F(2, U64, realtime_ns)  /* the same instant, CLOCK_REALTIME */

#define KP_COUNTS_FIELDS(F)                                                                        \
	F(1, U64, kernels_issued)   /* launches seen at the driver's door, graph nodes included */ \
	F(2, U64, kernels_recorded) /* kernel records that CUPTI delivered */                      \
	F(3, U64, records_dropped)  /* records that CUPTI says it dropped */                       \
	F(4, U64, kernels_invalid)  /* delivered with impossible times (counted in recorded) */    \
	F(5, U64, kernels_untimed)  /* delivered with no times (counted in recorded) */            \
	F(6, U64, kernels_unwritten) /* delivered, but the trace could not be written */           \
	F(7, U64, memops_recorded)   /* memory copies and sets that CUPTI delivered */             \
	F(8, U64, memops_unwritten)                                                                \
	F(9, U64, ranges_recorded)                                                                 \
	F(10, U64, ranges_unwritten)                                                               \
	F(11, U64, write_errno)      /* the first error of a write to the trace */                 \
	F(12, U64, records_unknown)  /* CUPTI records of a kind or size that kprof cannot read */  \
	F(16, U64, kernels_filtered) /* delivered, and left out by --kernels, --skip-kernels */    \
	F(17, U64, kernels_out_of_window) /* issued while nothing was recorded, or kept */         \
	F(18, U64, kernels_unsampled)     /* of these: between the windows of --duty */            \
	F(19, U64, unsampled_ns)          /* time between the windows of --duty */                 \
	F(24, U64, host_calls)            /* calls that launched kernels, timed for --host */      \
	F(25, U64, host_kernels)    /* kernels that these issued; absent: not all are known */     \
	F(26, U64, host_calls_lost) /* such calls that could not be kept */                        \
	F(27, U64, host_calls_unwritten) /* kept, but the trace could not be written */            \
	F(28, U64, library_calls)        /* of cuBLAS and its kin, seen at the door */             \
	F(29, U64, library_launches) /* launches in them that were kept, graphs' first launches */ \
	F(30, U64, library_launches_lost)      /* that could not be kept */                        \
	F(31, U64, library_launches_unwritten) /* kept, but the trace could not be written */      \
	F(32, U64, kernels_unnumbered) /* issued while records were off: no ordinal counts them */ \
	F(33, U64, kernels_lost)   /* that could not be read when the trace was made of others */  \
	F(48, U64, runs_begin_ns)  /* launches are in runs from then on; 0: from the start */      \
	F(49, U64, run_records)    /* records of runs */                                           \
	F(50, U64, run_kernels)    /* kernels of their launches */                                 \
	F(51, U64, runs_lost)      /* launches since then that are surely, or perhaps, in none */  \
	F(52, U64, runs_unwritten) /* records that could not be written */

#define KP_NOTE_FIELDS(F)                                                                          \
	F(1, U64, level) /* enum kp_note_level */                                                  \
	F(2, TEXT, text) /* one sentence with the remedy */

/*
 * One window of time in which records were on; a trace without any was recorded from start to end.
 * A later record of the same number completes an earlier one, which had no end yet.
 */
#define KP_WINDOW_FIELDS(F)                                                                        \
	F(1, U64, number)         /* 0, 1, … among the windows of the process */                 \
	F(2, U64, begin_ns)       /* on the trace's clock, once records were on */                 \
	F(3, U64, end_ns)         /* before they went off */                                       \
	F(4, U64, begin_reason)   /* enum kp_window_reason */                                      \
	F(5, U64, end_reason)     /* the same */                                                   \
	F(6, U64, kernels_issued) /* in it */                                                      \
	F(7, U64, on_cost_ns)     /* how long switching on took, before begin_ns */                \
	F(8, U64, off_cost_ns)    /* how long switching off took, after end_ns */                  \
	F(9, U64, detached)       /* 1: CUPTI was detached after it */

/* X(NAME, number, why a window began or ended): what stands in begin_reason and end_reason. */
#define KP_WINDOW_REASONS(X)                                                                       \
	X(PROGRAM, 0, "start or end of the program")                                               \
	X(DELAY, 1, "--delay")                                                                     \
	X(DURATION, 2, "--duration")                                                               \
	X(RANGE, 3, "--range")                                                                     \
	X(CAPTURE, 4, "--capture-range")                                                           \
	X(CTL, 5, "kprof ctl")                                                                     \
	X(DUTY, 6, "--duty")                                                                       \
	X(CLIENT, 7, "the program's own profiler")                                                 \
	X(PART, 8, "--from, --to or --range of the report") /* never written */

/*
 * One session of sampling the hardware counters of one GPU, or why there is none. A later record of
 * the same number adds to an earlier one: what is known only at the end comes then.
 */
#define KP_COUNTERS_FIELDS(F)                                                                      \
	F(1, U64, number)            /* 0, 1, … among the sessions of the process */             \
	F(2, U64, device)            /* CUDA ordinal in this process */                            \
	F(3, TEXT, chip)             /* CUPTI's name of it, such as GH100 */                       \
	F(4, TEXT, metrics)          /* what a sample holds, see metrics.h; absent: no samples */  \
	F(5, U64, interval_ns)       /* between samples, where time triggers them */               \
	F(6, U64, interval_cycles)   /* the same, where cycles of the system clock do */           \
	F(7, TEXT, absent)           /* why there are no samples: one sentence with the remedy */  \
	F(8, U64, owner_pid)         /* of these: another process of the recording samples it */   \
	F(9, U64, begin_ns)          /* of the first sample that was kept */                       \
	F(10, U64, end_ns)           /* of the last */                                             \
	F(11, U64, samples)          /* kept */                                                    \
	F(12, U64, samples_left_out) /* those from the start to the first trigger */               \
	F(13, U64, samples_invalid)  /* with values or times that cannot be */                     \
	F(14, U64, samples_unwritten)                                                              \
	F(15, U64, gaps)          /* places where samples are missing between two others */        \
	F(16, U64, overflows)     /* times that the hardware's buffer was full */                  \
	F(17, U64, decode_cpu_ns) /* of the thread that decoded them, once it was open */          \
	F(18, U64, start_cost_ns) /* how long the program waited for the start */                  \
	F(19, U64, stop_cost_ns)  /* and for the end */

#define KP_END_FIELDS(F)                                                                           \
	F(1, U64, end_ns) /* on the trace's clock */                                               \
	F(2, U64, forced) /* 1: kernels were still running; their records are untimed */           \
	F(3, U64, way)    /* enum kp_end_way */

#endif
