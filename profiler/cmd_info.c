/* kprof info: what a trace holds. */
#include "profiler/commands.h"
#include "profiler/contents.h"
#include "profiler/document.h"
#include "profiler/open.h"
#include "profiler/output.h"
#include "profiler/print_info.h"
#include "profiler/ranking.h"
#include "profiler/say.h"

static bool write_contents(const struct kp_contents *contents, enum kp_format format,
			   const char *path)
{
	struct kp_output output;
	enum kp_status status = KP_OK;

	if (!kp_output_open(&output, path))
		return false;
	if (format == KP_FORMAT_TEXT)
		kp_print_info(kp_output_text(&output), contents);
	else
		status = kp_document_info(output.file, contents, format);
	bool written = kp_output_close(&output);
	if (status != KP_OK)
		kp_fail("cannot write the contents: %s", kp_status_message(status));
	return written && status == KP_OK;
}

int kp_cmd_info(const struct kp_settings *settings)
{
	enum kp_format format = kp_ranking_format(settings);
	struct kp_contents contents;

	if (format > KP_FORMAT_JSON)
		return kp_fail("info is text, YAML or JSON; choose one with --format");
	struct kp_reader *reader =
		kp_open_traces((const char *const *)settings->operands, settings->operand_count);
	if (!reader)
		return KP_EXIT_FAILURE;
	enum kp_status status = kp_contents_init(&contents, reader);
	if (status != KP_OK)
		kp_fail("cannot read the trace: %s", kp_status_message(status));
	bool done = status == KP_OK && write_contents(&contents, format, settings->output);
	kp_contents_fini(&contents);
	kp_reader_close(reader);
	return done ? 0 : KP_EXIT_FAILURE;
}
