/*
 * Where shapes come from, and the dimensions that they have; see shapes.h.
 */
#ifndef KP_ANALYZERS_SHAPE_DIMS_H
#define KP_ANALYZERS_SHAPE_DIMS_H

/* X(NAME, name) */
#define KP_SHAPE_SOURCES(X)                                                                        \
	X(LAUNCH, "launch")                                                                        \
	X(CALL, "library call")                                                                    \
	X(PARAMETERS, "kernel parameters")

enum kp_shape_source {
#define KP_SHAPE_SOURCE_ROW(NAME, name) KP_SHAPE_FROM_##NAME,
	KP_SHAPE_SOURCES(KP_SHAPE_SOURCE_ROW)
#undef KP_SHAPE_SOURCE_ROW
};

/* X(NAME, source, name, ordered): dimensions; only those with an order can grow. Kernel parameters
 * have those of calls; sizes by name have no other name until it is known of which call. */
#define KP_SHAPE_DIMS(X)                                                                           \
	X(GRID_X, LAUNCH, "grid.x", 1)                                                             \
	X(GRID_Y, LAUNCH, "grid.y", 1)                                                             \
	X(GRID_Z, LAUNCH, "grid.z", 1)                                                             \
	X(BLOCK_X, LAUNCH, "block.x", 0)                                                           \
	X(BLOCK_Y, LAUNCH, "block.y", 0)                                                           \
	X(BLOCK_Z, LAUNCH, "block.z", 0)                                                           \
	X(STATIC_SHARED, LAUNCH, "static shared memory", 0)                                        \
	X(DYNAMIC_SHARED, LAUNCH, "dynamic shared memory", 1)                                      \
	X(M, CALL, "m", 1)                                                                         \
	X(N, CALL, "n", 1)                                                                         \
	X(K, CALL, "k", 1)                                                                         \
	X(BATCH, CALL, "batch", 1)                                                                 \
	X(INPUT_TYPES, CALL, "input types", 0)                                                     \
	X(OUTPUT_TYPES, CALL, "output types", 0)                                                   \
	X(LAYOUT, CALL, "layout", 0)                                                               \
	X(EPILOGUE, CALL, "epilogue", 0)                                                           \
	X(OPERATION, CALL, "operation", 0)                                                         \
	X(SIZE_1, CALL, "size 1", 1)                                                               \
	X(SIZE_2, CALL, "size 2", 1)                                                               \
	X(SIZE_3, CALL, "size 3", 1)                                                               \
	X(SIZE_4, CALL, "size 4", 1)                                                               \
	X(SIZE_5, CALL, "size 5", 1)                                                               \
	X(SIZE_6, CALL, "size 6", 1)                                                               \
	X(SIZE_7, CALL, "size 7", 1)                                                               \
	X(SIZE_8, CALL, "size 8", 1)                                                               \
	X(SIZE_9, CALL, "size 9", 1)                                                               \
	X(SIZE_10, CALL, "size 10", 1)                                                             \
	X(SIZE_11, CALL, "size 11", 1)                                                             \
	X(SIZE_12, CALL, "size 12", 1)

enum kp_shape_dim {
#define KP_SHAPE_DIM_ROW(NAME, source, name, ordered) KP_SHAPE_##NAME,
	KP_SHAPE_DIMS(KP_SHAPE_DIM_ROW)
#undef KP_SHAPE_DIM_ROW
		KP_SHAPE_DIM_COUNT
};

const char *kp_shape_source_name(enum kp_shape_source source);
const char *kp_shape_dim_name(enum kp_shape_dim dim);

#endif
