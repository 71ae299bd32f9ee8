/* What the tables of a plan hold, and how much of it; see ab_plan.h. */
#ifndef KP_TRACE_AB_PLAN_PARTS_H
#define KP_TRACE_AB_PLAN_PARTS_H

#include <stdint.h>

#define KP_AB_RULES_MOST 32U /* a bit each */
#define KP_AB_TENSORS_MOST 8U
#define KP_AB_ARGUMENTS_MOST 32U
#define KP_AB_MEMBERS_MOST 16U     /* of a sequence */
#define KP_AB_ALL_MEMBERS_MOST 64U /* of all sequences: a bit each */
#define KP_AB_BUFFERS_MOST 16U     /* that the members of a sequence read and write */
#define KP_AB_ACCESSES_MOST 16U    /* of a member */
#define KP_AB_OPERANDS_MOST 5U     /* of a recognised sequence: three inputs, two outputs */
#define KP_AB_KINDS_MOST 64U       /* of recognised sequences */
#define KP_AB_HOLD_US_MOST 10000000U
#define KP_AB_NONE UINT32_MAX
/* The hash of no code: a rule that fits nothing, and shows what there is. */
#define KP_AB_MODULE_NONE UINT64_MAX

enum kp_ab_builtin {
#define BUILTIN(name, what) KP_AB_BUILTIN_##name,
#define ARG(builtin, name, kind, needed, otherwise, what)
#include "trace/ab_builtins.def"
	KP_AB_BUILTIN_COUNT
};

enum kp_ab_argument_row {
#define BUILTIN(name, what)
#define ARG(builtin, name, kind, needed, otherwise, what) KP_AB_ARG_##builtin##_##name,
#include "trace/ab_builtins.def"
	KP_AB_ARGUMENT_ROW_COUNT
};

/* Kinds of arguments: of built-ins, and of kernels of the user's, where the kind sets the size. */
enum kp_ab_kind {
	KP_AB_POINTER,
	KP_AB_COUNT,
	KP_AB_STRIDE,
	KP_AB_REAL,
	KP_AB_DTYPE,
	KP_AB_CHOICE,
	KP_AB_FLAG
};

enum kp_ab_match {
	KP_AB_MATCH_NAME,
	KP_AB_MATCH_REGEX,
	KP_AB_MATCH_GEMM,
	KP_AB_MATCH_SEQUENCE, /* the pattern is the names of its members, to be read */
	/*
	 * Of rules: a sequence by what its launches are known to do, which has two members, one for
	 * each launch that may be its first and one for each that may be of it. The pattern is the
	 * key of its kind.
	 */
	KP_AB_MATCH_RECOGNISED
};
enum kp_ab_replace { KP_AB_REPLACE_BUILTIN, KP_AB_REPLACE_MODULE, KP_AB_REPLACE_LIBRARY };
enum kp_ab_role { KP_AB_INPUT, KP_AB_OUTPUT, KP_AB_INOUT };
enum kp_ab_mode { KP_AB_SHADOW, KP_AB_SWAP, KP_AB_MEASURE };

/* A piece of code: steps from `first` on; count 0: absent. */
struct kp_ab_span {
	uint32_t first, count;
};

/* rows × columns elements of one type, strides in elements. */
struct kp_ab_tensor {
	uint32_t name; /* text */
	uint32_t role; /* enum kp_ab_role */
	struct kp_ab_span address, dtype, rows, columns, row_stride, column_stride;
};

struct kp_ab_argument {
	uint32_t row;  /* of a built-in: enum kp_ab_argument_row; else KP_AB_NONE */
	uint32_t type; /* of a user's kernel: enum kp_ab_load */
	struct kp_ab_span value;
};

/* What a member of a sequence reads or writes: all that it does is said. */
struct kp_ab_access {
	uint32_t buffer; /* accesses of one number are of the same bytes */
	uint32_t writes; /* 1; 0: it reads */
	struct kp_ab_span address, bytes;
};

/* A launch of a sequence; its code sees its own parameters and symbols. */
struct kp_ab_member {
	uint32_t match, pattern;         /* NAME or REGEX, as of rules */
	uint32_t parameters;             /* how many */
	uint32_t first_size, size_count; /* as of rules */
	uint32_t optional;               /* 1: it may be missing; neither the first nor the last */
	uint32_t first_parameter;        /* where the code of the rule sees its first one */
	uint32_t first_access, access_count;
	struct kp_ab_span when;
};

/* How far a result may be from the original's; all that is given must hold. */
struct kp_ab_tolerance {
	double relative; /* an element may differ by so much of itself, */
	double scaled;   /* and by so much of the rms of the whole */
	double rms;      /* rms of all differences over the rms of the whole */
	uint64_t ulps;   /* an element that is nearer than this is never wrong */
};

struct kp_ab_rule {
	uint32_t name;         /* text */
	uint32_t line;         /* of its file */
	uint32_t match;        /* enum kp_ab_match */
	uint32_t pattern;      /* text; of GEMM: a regex of entries, or KP_AB_NONE */
	uint32_t parameters;   /* how many the kernel has; KP_AB_NONE: any */
	uint32_t replace;      /* enum kp_ab_replace */
	uint32_t builtin;      /* enum kp_ab_builtin */
	uint32_t file, symbol; /* texts */
	uint32_t first_argument, argument_count;
	uint32_t first_tensor, tensor_count;
	uint32_t first_size, size_count; /* bytes of each parameter; 0: any */
	uint32_t repeatable;             /* 1: running the original twice is as running it once */
	uint32_t first_member, member_count; /* of a sequence */
	uint32_t row_local;                  /* 1: what it updates in place may be an input */
	uint32_t hold_us;                    /* how long launches of it are held */
	uint32_t elided; /* buffers that the replacement may leave unwritten, as bits */
	struct kp_ab_span when, grid[3], block[3], shared; /* grid, block: of a module; absent: 1 */
	uint32_t as_given;   /* 1: not with other inputs than the program's */
	uint32_t recognised; /* enum kp_torch_sequence_kind; 0: of no such rule */
	uint32_t unseen;     /* 1: also where layouts of launches were never seen on a GPU */
	uint32_t reserved;
	uint64_t module; /* kp_image_hash of the code that it is from; 0: any */
	struct kp_ab_tolerance tolerance;
};

#endif
