/* kprof tui: explores a trace on the terminal, or prints its screens. */
#include "profiler/ceilings_cache.h"
#include "profiler/commands.h"
#include "profiler/document.h"
#include "profiler/open.h"
#include "profiler/open_ab.h"
#include "profiler/print.h"
#include "profiler/rules.h"
#include "profiler/say.h"
#include "profiler/tui_screen.h"
#include "tui/tui.h"

static enum kp_status write_document(FILE *file, const struct kp_report *report, const char *path)
{
	int format = kp_format_of_path(path);

	if (format != KP_FORMAT_YAML && format != KP_FORMAT_JSON)
		return KP_UNSUPPORTED;
	return kp_document_report(file, report, (enum kp_format)format);
}

/* Explores open traces with the user's rules and what is known of GPUs. */
static enum kp_status run(const struct kp_settings *settings, const struct kp_tui_settings *screen,
			  struct kp_reader *reader, struct kp_reader *base,
			  const struct kp_ab_saved *ab)
{
	struct kp_ceilings_cache cache = {0};
	const struct kp_ceilings_finder finder = {kp_ceilings_cache_answer, &cache};
	char complaint[KP_TUI_COMPLAINT_BYTES] = "";
	struct kp_operators *operators;
	struct kp_tui_source source = {
		.paths = (const char *const *)settings->operands,
		.path_count = settings->operand_count,
		.reader = reader,
		.base = base,
		.base_path = settings->tui.against,
		.ab = ab,
		.options = kp_view_analysis(settings, KP_FORMAT_YAML), /* everything */
		.document = write_document,
	};

	if (!kp_rules_open(settings, &operators))
		return KP_INVALID;
	source.options.operators = operators;
	/* Without a cache, or with a broken one, datasheets stand in for it. */
	if (kp_ceilings_load(NULL, &cache) == KP_OK)
		source.options.ceilings = &finder;
	enum kp_status status =
		kp_tui_screen_show(&source, screen, settings->tui.keys,
				   "--keys prints screens, kprof report prints text", complaint);
	kp_ceilings_cache_fini(&cache);
	kp_operators_destroy(operators);
	if (complaint[0])
		kp_fail("%s", complaint);
	return status;
}

int kp_cmd_tui(const struct kp_settings *settings)
{
	struct kp_tui_settings screen;
	struct kp_reader *reader, *base = NULL;
	struct kp_ab_saved ab = {0};
	enum kp_status status = KP_IO;

	if (!kp_tui_screen_settings(settings, &screen))
		return KP_EXIT_FAILURE;
	reader = kp_open_traces((const char *const *)settings->operands, settings->operand_count);
	if (reader && settings->tui.against)
		base = kp_open_traces(&settings->tui.against, 1);
	if (reader && (base || !settings->tui.against) &&
	    (!settings->tui.ab || kp_open_ab(settings->tui.ab, &ab)))
		status = run(settings, &screen, reader, base, settings->tui.ab ? &ab : NULL);
	kp_ab_saved_fini(&ab);
	kp_reader_close(base);
	kp_reader_close(reader);
	return status == KP_OK ? 0 : KP_EXIT_FAILURE;
}
