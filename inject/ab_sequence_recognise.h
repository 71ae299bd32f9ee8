/*
 * Sequences by what PyTorch's launches are known to do (analyzers/torch_sequence.h), in the place
 * of members that a rule spells out. Private to inject/ab_sequence*.c; with the lock.
 */
#ifndef KP_INJECT_AB_SEQUENCE_RECOGNISE_H
#define KP_INJECT_AB_SEQUENCE_RECOGNISE_H

#include "inject/ab_sequence_match.h"

/* A launch was copied as number `at` of those that are held: what it does is read, if it is known.
 */
void kp_ab_sequence_read(const struct kp_ab_held *launch, uint32_t at);
/* As kp_ab_sequence_advance, but that whose memory it is was not asked. */
enum kp_ab_reason kp_ab_sequence_recognise(const struct kp_ab_rule *rule,
					   struct kp_ab_under_way *state, uint32_t at,
					   bool *complete);
/* What the rule's code may ask of a whole sequence. */
void kp_ab_sequence_see(const struct kp_torch_sequence *sequence, int64_t *symbols);

#endif
