/*
 * The versions of linear_skinny that read the weight through rings: their numbers, for the plan
 * (linear_skinny.c) and the code (linear_skinny.cu) alike. Not installed.
 *
 *   LINEAR_RING_ROWS(name, rows, kept, stages, warps)
 *   LINEAR_RING_TILES(name, tiles, sides, kept, stages, warps)
 *
 * rows, tiles: that a warp takes at once (a tile is 16 rows); sides: of 8 tokens; kept: chunks of x
 * that a warp holds in registers for good, of those in 16 bits; 0: x goes through the ring too;
 * stages: of a warp's ring. A chunk of x is what a warp meets with a turn's vectors.
 */
#ifndef KP_KERNELS_LINEAR_RING_H
#define KP_KERNELS_LINEAR_RING_H

#define LINEAR_RINGS(ROWS, TILES)                                                                  \
	ROWS(linear_ring_row, 4, 4, 4, 16)                                                         \
	TILES(linear_ring_8_kept, 1, 1, 8, 4, 16)                                                  \
	TILES(linear_ring_8, 1, 1, 0, 6, 8)                                                        \
	TILES(linear_ring_16_kept, 1, 2, 4, 4, 16)                                                 \
	TILES(linear_ring_16, 2, 2, 0, 3, 8)

/* Vectors of 16 bytes of a row that a warp takes in a turn: a lane one, or a line of 128 bytes. */
#define LINEAR_RING_ROW_VECTORS 32
#define LINEAR_RING_LINE_VECTORS 8
#define LINEAR_RING_SUMS 32 /* rows of which a block puts sums together at once */

#define LINEAR_RING_ROWS_BYTES(rows, stages, warps)                                                \
	((warps) * ((stages) * (rows)*512 + 2 * LINEAR_RING_SUMS * 4))

/* inputs: vectors of x that a vector of the weight meets. */
#define LINEAR_RING_TILES_SLOTS(tiles, sides, kept, inputs)                                        \
	(4 * (tiles) + ((kept) ? 0 : 2 * (sides) * (inputs)))
#define LINEAR_RING_TILES_BYTES(tiles, sides, kept, inputs, stages, warps)                         \
	((warps) * ((stages)*LINEAR_RING_TILES_SLOTS(tiles, sides, kept, inputs) * 512 +           \
		    2 * (tiles)*16 * (sides)*8 * 4))

#endif
