/*
 * Options as tables: one row an option. The parser, --help, the man page and the shell completion
 * all read the same rows.
 */
#ifndef KP_PROFILER_OPTIONS_H
#define KP_PROFILER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/settings.h"
#include "trace/status.h"

enum kp_option_type {
	KP_OPTION_FLAG,   /* bool: true when given */
	KP_OPTION_TEXT,   /* const char *: as given */
	KP_OPTION_FILE,   /* const char *: as given; the shell completes file names */
	KP_OPTION_CHOICE, /* int: index of the name in `choices` */
	KP_OPTION_NUMBER, /* double between minimum and maximum; may be followed by `suffix` */
	KP_OPTION_COUNT,  /* uint64_t */
	KP_OPTION_WORDS,  /* struct kp_words: as given, each time */
	KP_OPTION_SET     /* uint64_t: bit 1 << index in `choices`, of each time it is given */
};

struct kp_option {
	const char *name; /* long name, without the dashes */
	char letter;      /* 0: none */
	enum kp_option_type type;
	size_t offset;              /* of the member of struct kp_settings */
	const char *argument;       /* as help shows it; NULL for flags; choices may stand for it */
	const char *const *choices; /* ended by NULL */
	double minimum, maximum;
	char suffix;      /* 0: none */
	bool empty;       /* of texts: the value may be */
	bool once;        /* of files: a second one is refused; else the last counts */
	const char *help; /* one or more sentences */
};

/* Options under one heading of the help; commands share groups. */
struct kp_option_group {
	const char *title;
	const struct kp_option *options; /* ended by a row without a name */
};

struct kp_example {
	const char *command, *meaning;
};

struct kp_command {
	const char *name;
	const char *page; /* of the manual: "kprof", "kprof-report" */
	const char *operands;
	const char *summary;                         /* completes «kprof NAME: …» */
	const char *const *description;              /* paragraphs, ended by NULL */
	const struct kp_option_group *const *groups; /* ended by NULL */
	const struct kp_example *examples;           /* ended by a row without a command */
	const struct kp_example *statuses;           /* exit status → meaning; ended likewise */
	const struct kp_example *environment; /* variable → meaning; ended likewise; or NULL */
	const struct kp_example *keys;        /* of the keyboard; ended by a row of nothing */
	bool takes_command; /* operands are a command line: options end at the first operand */
	size_t least, most; /* operands */
	/* What it does; returns the exit status. */
	int (*run)(const struct kp_settings *settings);
};

#define KP_COMPLAINT_BYTES 512

/*
 * Fills `settings` from the words after the command's name (argv[0] is the first). Operands are
 * moved to the front of argv. Errors: KP_INVALID, with one line for the user in `complaint`.
 */
enum kp_status kp_options_parse(const struct kp_command *command, int argc, char **argv,
				struct kp_settings *settings, char complaint[KP_COMPLAINT_BYTES]);

/* The word of `count` that is most like `word`; NULL: none is alike. */
const char *kp_options_nearest(const char *word, const char *const *words, size_t count);

#endif
