/* The views of kprof top; see pages.h. */
#ifndef KP_TUI_LIVE_PAGES_H
#define KP_TUI_LIVE_PAGES_H

#include "tui/pages.h"

/* Those of kprof top. */
#define KP_PAGES_LIVE_TABLES                                                                       \
	(KP_PAGE_BIT(LIVE_KERNELS) | KP_PAGE_BIT(LIVE_OPERATORS) | KP_PAGE_BIT(LIVE_RANGES) |      \
	 KP_PAGE_BIT(LIVE_GPUS) | KP_PAGE_BIT(LIVE_RULES))
#define KP_PAGES_RULES (KP_PAGE_BIT(LIVE_RULES) | KP_PAGE_BIT(LIVE_RULE))
#define KP_PAGES_LIVE (KP_PAGES_LIVE_TABLES | KP_PAGE_BIT(LIVE_KERNEL) | KP_PAGES_RULES)

#define KP_LIVE_COLUMNS 9
#define KP_LIVE_GPUS_COLUMNS 6
#define KP_LIVE_RULES_COLUMNS 9

/* page_live.c: kernels, operators and ranges alike. */
enum kp_status kp_page_live_fill(struct kp_tui *tui);
void kp_page_live_draw(struct kp_tui *tui, struct kp_area area);
void kp_page_live_enter(struct kp_tui *tui);
const char *kp_page_live_name(const struct kp_tui *tui, const struct kp_item *item);
const char *kp_page_live_full(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_live_columns[KP_LIVE_COLUMNS];

enum kp_status kp_page_live_gpus_fill(struct kp_tui *tui);
void kp_page_live_gpus_enter(struct kp_tui *tui);
const char *kp_page_live_gpus_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_live_gpus_columns[KP_LIVE_GPUS_COLUMNS];

enum kp_status kp_page_live_rules_fill(struct kp_tui *tui);
void kp_page_live_rules_enter(struct kp_tui *tui);
const char *kp_page_live_rules_name(const struct kp_tui *tui, const struct kp_item *item);
extern const struct kp_column kp_page_live_rules_columns[KP_LIVE_RULES_COLUMNS];

enum kp_status kp_page_live_rule_fill(struct kp_tui *tui);
enum kp_status kp_page_live_kernel_fill(struct kp_tui *tui);

#endif
