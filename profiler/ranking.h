/* From an open trace to a written report; see cmd_report.c. Says what is wrong where it fails. */
#ifndef KP_PROFILER_RANKING_H
#define KP_PROFILER_RANKING_H

#include <stdbool.h>

#include "analyzers/report.h"
#include "profiler/format.h"
#include "profiler/settings.h"

/* The format that --format, else the extension of the output, asks for; text without either. */
enum kp_format kp_ranking_format(const struct kp_settings *settings);
/* The analysis that the format needs; NULL on failure. kp_report_destroy frees it. */
struct kp_report *kp_ranking_build(struct kp_reader *reader, const struct kp_settings *settings,
				   enum kp_format format);
/* Writes it to `path`, or to the standard output where that is NULL. */
bool kp_ranking_write(const struct kp_report *report, const struct kp_settings *settings,
		      enum kp_format format, const char *path);

#endif
