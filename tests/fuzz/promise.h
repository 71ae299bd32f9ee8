/* Promises that must hold for any input; a broken one ends the program with a line and SIGABRT. */
#ifndef KP_FUZZ_PROMISE_H
#define KP_FUZZ_PROMISE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__,         \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct kp_reader;
struct kp_report;

/* Builds a report from a rewound reader that delivers `launches` launches, and checks it. */
void fuzz_check_report(struct kp_reader *reader, uint64_t launches);
/* Compares a report, which has its step parts, with itself, and checks what comes out. */
void promise_diff(const struct kp_report *report);

#endif
