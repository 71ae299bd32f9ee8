/*
 * One pass of the transformer over `seq` tokens of each sequence of a lane.
 */
#ifndef LLM_DECODE_FORWARD_H
#define LLM_DECODE_FORWARD_H

#include "lane.h"

/*
 * Takes ids[batch][seq] (device) in at the lane's position, moves the position on by seq, and puts
 * the most likely next tokens in lane->next_ids. `keys` is how many rows of the cache
 * attention_math covers: at least position + seq, and all in a pass that is captured. Asynchronous.
 */
void forward_pass(struct lane *lane, const struct model *model, const int *ids, int seq, int keys);

#endif
