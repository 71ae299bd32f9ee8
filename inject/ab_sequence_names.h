/* What a function of the driver means for launches that are held; by its name. */
#ifndef KP_INJECT_AB_SEQUENCE_NAMES_H
#define KP_INJECT_AB_SEQUENCE_NAMES_H

enum kp_ab_sequence_kind {
	KP_AB_SEQUENCE_ORDERED,   /* what is held goes first */
	KP_AB_SEQUENCE_MEMORY,    /* the same, and memory may be another's afterwards */
	KP_AB_SEQUENCE_FREES,     /* the same; where it may, it is held instead */
	KP_AB_SEQUENCE_ALLOCATES, /* where it may, it goes before what is held */
	KP_AB_SEQUENCE_MAPS, /* as MEMORY; a second time it puts memory at another address, too */
	KP_AB_SEQUENCE_RELEASES, /* as MEMORY; its handle is no more */
	KP_AB_SEQUENCE_ENDS,     /* as ORDERED, and nothing can be held any more */
	/* A query about memory, its third argument, or its fourth; _POINTER may be more than that.
	 */
	KP_AB_SEQUENCE_ASKS,
	KP_AB_SEQUENCE_ASKS_FOURTH,
	KP_AB_SEQUENCE_ASKS_POINTER,
	KP_AB_SEQUENCE_QUERY /* it can show nothing of what is held, and changes nothing for it */
};

/* As exported («cuMemcpyDtoH_v2_ptds») or as cuGetProcAddress has it. No call of the C library. */
enum kp_ab_sequence_kind kp_ab_sequence_kind(const char *name);

#endif
