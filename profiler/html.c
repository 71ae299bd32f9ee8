/* What the parts of an HTML report share; see html.h. */
#include "profiler/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/text.h"

#define LINE_COLUMNS 4000 /* so that no line is wrapped */

void kp_html_text(FILE *file, const char *text)
{
	char shown[2048];

	if (!text)
		return;
	/* Longer ones are cut: a name that says something is shorter. */
	size_t length = strlen(text);
	kp_text_visible(shown, sizeof shown, text, length);
	kp_text_markup(file, shown, strlen(shown));
	if (length >= sizeof shown)
		fputs("\xe2\x80\xa6", file);
}

void kp_html_print(FILE *file, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	kp_html_text(file, text);
}

void kp_html_cell(FILE *file, const char *shown, double value, bool wide)
{
	fprintf(file, "<td%s data-v=\"%.9g\">", wide ? " class=\"wide\"" : "",
		isfinite(value) ? value : -1.0);
	kp_html_text(file, shown);
	fputs("</td>", file);
}

void kp_html_share(FILE *file, double pct, bool marked)
{
	double width = isfinite(pct) ? fmin(fmax(pct, 0), 100) : 0;

	fprintf(file,
		"<td class=\"share\" data-v=\"%.9g\"><i style=\"--w:%.1f%%\"></i><span%s>%.1f%%%s"
		"</span></td>",
		width, width, marked ? " class=\"mark\"" : "", width, marked ? " *" : "");
}

unsigned kp_html_color(size_t operator_index)
{
	return operator_index < KP_HTML_COLORS ? (unsigned)operator_index : KP_HTML_COLORS;
}

/* ---- lines of the text report ---- */

/* Takes the sequences of a terminal out of a line; whether it had one. */
static bool strip_colors(char *line)
{
	char *to = line;
	bool any = false;

	for (const char *from = line; *from;) {
		if (from[0] == '\033' && from[1] == '[') {
			any = true;
			from += 2 + strcspn(from + 2, "m");
			from += *from == 'm';
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return any;
}

static void put_line(FILE *file, char *line, bool *open)
{
	bool colored = strip_colors(line);
	const char *class = colored ? " class=\"warn\"" : "";
	size_t length = strlen(line);
	char label[KP_PRINT_LABEL + 1] = "";

	if (length <= KP_PRINT_LABEL)
		return;
	memcpy(label, line, KP_PRINT_LABEL);
	for (size_t end = KP_PRINT_LABEL; end > 0 && label[end - 1] == ' '; end--)
		label[end - 1] = '\0';
	if (!*open)
		fputs("<dl>\n", file);
	*open = true;
	fprintf(file, "<dt%s>", class);
	kp_html_text(file, label);
	fprintf(file, "</dt><dd%s>", class);
	kp_html_text(file, line + KP_PRINT_LABEL);
	fputs("</dd>\n", file);
}

bool kp_html_lines(FILE *file, const struct kp_report *report, const struct kp_view *view,
		   const char *title, const char *id,
		   void (*print)(FILE *file, const struct kp_report *report,
				 const struct kp_view *view))
{
	struct kp_view plain = {.by = view->by, .colors = true, .width = LINE_COLUMNS};
	char *text = NULL, *rest;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	bool open = false;

	if (!memory)
		return false;
	print(memory, report, &plain);
	if (fclose(memory) != 0) {
		free(text);
		return false;
	}
	bool any = strspn(text, "\n") < size;
	if (any)
		fprintf(file, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		put_line(file, line, &open);
	if (open)
		fputs("</dl>\n", file);
	if (any)
		fputs("</section>\n", file);
	free(text);
	return any;
}
