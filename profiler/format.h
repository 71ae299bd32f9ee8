/* The formats that a report can have: one table for the option, the file extensions and the help.
 */
#ifndef KP_PROFILER_FORMAT_H
#define KP_PROFILER_FORMAT_H

/* X(NAME, name, extensions): extensions are separated by one space. */
#define KP_FORMATS(X)                                                                              \
	X(TEXT, "text", ".txt")                                                                    \
	X(YAML, "yaml", ".yaml .yml")                                                              \
	X(JSON, "json", ".json")                                                                   \
	X(MARKDOWN, "markdown", ".md .markdown")                                                   \
	X(CSV, "csv", ".csv")                                                                      \
	X(SVG, "svg", ".svg")                                                                      \
	X(HTML, "html", ".html .htm")

enum kp_format {
#define KP_FORMAT_ROW(NAME, name, extensions) KP_FORMAT_##NAME,
	KP_FORMATS(KP_FORMAT_ROW)
#undef KP_FORMAT_ROW
		KP_FORMAT_COUNT
};

/* The names in the order of the enum, ended by NULL. */
extern const char *const kp_format_names[KP_FORMAT_COUNT + 1];
/* All extensions, for messages: ".txt .yaml .yml .json .md .markdown .csv .svg .html .htm". */
const char *kp_format_extensions(void);

/* The format that a file name's extension stands for; -1: none. */
int kp_format_of_path(const char *path);

#endif
