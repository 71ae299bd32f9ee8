/*
 * The explorer on a terminal: ncurses shows the canvas, and brings keys, clicks and sizes.
 *
 * ncurses keeps what the terminal shows and sends only what differs. It takes care of SIGWINCH;
 * restore.c of signals that stop or end the program. Nothing of a trace reaches the
 * terminal but through the cells of the canvas, which hold printable characters only.
 */
#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "profiler/text.h"
#include "tui/keys.h"
#include "tui/restore.h"
#include "tui/state.h"

#define IDLE_MS 100 /* between looks at what was loaded, */
#define SCAN_MS 20  /* and at what was read for a view */
#define WHEEL_ROWS 3
#define FIRST_PAIR 1

struct terminal {
	SCREEN *screen;
	bool colors, eight; /* it has colours, and no more than eight of them */
	enum kp_theme theme;
	bool ascii;
};

static const struct {
	int curses;
	uint32_t key;
} keys[] = {
	{KEY_UP, KP_KEY_UP},        {KEY_DOWN, KP_KEY_DOWN},     {KEY_LEFT, KP_KEY_LEFT},
	{KEY_RIGHT, KP_KEY_RIGHT},  {KEY_PPAGE, KP_KEY_PAGE_UP}, {KEY_NPAGE, KP_KEY_PAGE_DOWN},
	{KEY_HOME, KP_KEY_HOME},    {KEY_END, KP_KEY_END},       {KEY_BTAB, KP_KEY_BACK_TAB},
	{KEY_F(1), KP_KEY_F1},      {KEY_ENTER, KP_KEY_ENTER},   {KEY_BACKSPACE, KP_KEY_BACKSPACE},
	{KEY_DC, KP_KEY_BACKSPACE},
};

static void start_colors(struct terminal *terminal)
{
	if (terminal->theme == KP_THEME_MONO || !has_colors() || start_color() == ERR)
		return;
	terminal->colors = use_default_colors() == OK && COLOR_PAIRS > KP_ROLE_COUNT;
	terminal->eight = COLORS < 256;
	for (int i = 0; i < KP_ROLE_COUNT && terminal->colors; i++) {
		struct kp_look look = kp_role_look((enum kp_role)i, terminal->theme);
		short front = look.foreground, back = look.background;
		if (terminal->eight) {
			front = kp_look_of_eight(front);
			back = kp_look_of_eight(back);
		}
		init_pair((short)(FIRST_PAIR + i), front, back);
	}
}

static const char *capability(const char *name)
{
	const char *sequence = tigetstr(name);

	return sequence == (char *)-1 ? NULL : sequence; /* it is no string */
}

/* What must be written to leave the screen as it was, and to come back, for restore.c. */
static void prepare_restore(bool mouse)
{
	static const char *const leaving[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
	static const char *const returning[] = {"smcup", "smkx", "civis"};

	if (mouse)
		kp_restore_add("\033[?1006l\033[?1002l\033[?1000l");
	for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
		kp_restore_add(capability(leaving[i]));
	if (!capability("rmcup"))
		kp_restore_add("\r\n");
	for (size_t i = 0; i < sizeof returning / sizeof *returning; i++)
		kp_restore_add_return(capability(returning[i]));
	if (mouse && capability("kmous"))
		kp_restore_add_return("\033[?1000h\033[?1006h");
}

static enum kp_status complain(char *complaint, const char *text, const char *what)
{
	snprintf(complaint, KP_TUI_COMPLAINT_BYTES, text, what);
	return KP_UNSUPPORTED;
}

/* Starts ncurses. Errors: KP_UNSUPPORTED with a line for the user. */
static enum kp_status start(struct terminal *terminal, const struct kp_tui_settings *settings,
			    char complaint[KP_TUI_COMPLAINT_BYTES])
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return complain(complaint, "%s is no terminal; --keys prints screens without one",
				isatty(STDIN_FILENO) ? "the standard output"
						     : "the standard input");
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return complain(
			complaint,
			"TERM is %s: no terminal that the explorer can draw on; kprof report "
			"prints text",
			term && *term ? term : "not set");
	if (!kp_restore_remember(STDIN_FILENO))
		return complain(complaint, "%s: its modes cannot be read", "the terminal");
	terminal->screen = newterm(NULL, stdout, stdin);
	if (!terminal->screen)
		return complain(complaint, "nothing is known of terminals called %s (TERM)", term);
	raw(); /* Ctrl-C and Ctrl-Z are keys here: what they do is ours to order */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	start_colors(terminal);
	if (settings->mouse)
		mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED,
			  NULL);
	mouseinterval(0);
	prepare_restore(settings->mouse);
	kp_restore_arm();
	return KP_OK;
}

static void stop(struct terminal *terminal)
{
	/* Where there is no other screen to leave, the shell goes on in the last line. */
	attrset(A_NORMAL);
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	kp_restore_disarm();
	delscreen(terminal->screen);
}

/* The characters of a cell: those that ncurses would not give the same width get a stand-in. */
static void cell_text(const struct kp_cell *cell, bool ascii, wchar_t text[KP_CELL_MARKS + 2])
{
	int width = (int)kp_text_codepoint_columns(cell->base);
	size_t used = 1;

	memset(text, 0, (KP_CELL_MARKS + 2) * sizeof *text);
	text[0] = (wchar_t)cell->base;
	if (ascii || wcwidth((wchar_t)cell->base) != width)
		text[0] = (wchar_t)(unsigned char)kp_canvas_ascii(cell->base);
	for (size_t i = 0; i < KP_CELL_MARKS && !ascii && cell->marks[i]; i++) {
		if (text[0] == (wchar_t)cell->base && wcwidth((wchar_t)cell->marks[i]) == 0)
			text[used++] = (wchar_t)cell->marks[i];
	}
}

static void show_cell(const struct terminal *terminal, int row, int column,
		      const struct kp_cell *cell)
{
	struct kp_look look = kp_role_look((enum kp_role)cell->role, terminal->theme);
	wchar_t text[KP_CELL_MARKS + 2];
	attr_t attributes = 0;
	cchar_t character;

	if (!terminal->colors)
		look = kp_role_look((enum kp_role)cell->role, KP_THEME_MONO);
	attributes |= look.attributes & KP_LOOK_BOLD ? A_BOLD : 0;
	attributes |= look.attributes & KP_LOOK_REVERSE ? A_REVERSE : 0;
	attributes |= look.attributes & KP_LOOK_UNDERLINE ? A_UNDERLINE : 0;
	cell_text(cell, terminal->ascii, text);
	setcchar(&character, text, attributes,
		 (short)(terminal->colors ? FIRST_PAIR + cell->role : 0), NULL);
	mvadd_wch(row, column, &character);
}

static void show(const struct terminal *terminal, struct kp_tui *tui)
{
	const struct kp_canvas *canvas = &tui->canvas;

	if (tui->redraw_all)
		clearok(curscr, TRUE);
	tui->redraw_all = false;
	for (size_t row = 0; row < canvas->rows; row++) {
		for (size_t column = 0; column < canvas->columns; column++) {
			const struct kp_cell *cell = kp_canvas_at(canvas, row, column);
			bool wide = column + 1 < canvas->columns && cell[1].base == 0;
			if (cell->base == 0)
				continue;
			show_cell(terminal, (int)row, (int)column, cell);
			/* A stand-in takes one column, and leaves the other blank. */
			if (wide && (terminal->ascii || wcwidth((wchar_t)cell->base) != 2))
				mvaddch((int)row, (int)column + 1, ' ');
		}
	}
	refresh();
}

/* Sizes that come in a storm are one new layout: those that wait are taken first. */
static enum kp_status take_size(struct kp_tui *tui)
{
	wint_t next;
	int kind;

	timeout(0);
	do {
		next = 0;
		kind = get_wch(&next);
	} while (kind == KEY_CODE_YES && next == KEY_RESIZE);
	if (kind == OK)
		unget_wch((wchar_t)next);
	else if (kind == KEY_CODE_YES)
		ungetch((int)next);
	tui->redraw_all = true;
	return kp_tui_resize(tui, LINES > 0 ? (size_t)LINES : 1, COLS > 0 ? (size_t)COLS : 1);
}

/* What terminals send for keys that the description of theirs (TERM) does not name. */
static const struct {
	const char *bytes;
	uint32_t key;
} sequences[] = {
	{"[A", KP_KEY_UP},       {"[B", KP_KEY_DOWN},     {"[C", KP_KEY_RIGHT},
	{"[D", KP_KEY_LEFT},     {"[H", KP_KEY_HOME},     {"[F", KP_KEY_END},
	{"OA", KP_KEY_UP},       {"OB", KP_KEY_DOWN},     {"OC", KP_KEY_RIGHT},
	{"OD", KP_KEY_LEFT},     {"OH", KP_KEY_HOME},     {"OF", KP_KEY_END},
	{"[1~", KP_KEY_HOME},    {"[4~", KP_KEY_END},     {"[7~", KP_KEY_HOME},
	{"[8~", KP_KEY_END},     {"[5~", KP_KEY_PAGE_UP}, {"[6~", KP_KEY_PAGE_DOWN},
	{"[Z", KP_KEY_BACK_TAB}, {"OP", KP_KEY_F1},       {"[11~", KP_KEY_F1},
	{"[[A", KP_KEY_F1},      {"OM", KP_KEY_ENTER},    {"[3~", KP_KEY_BACKSPACE},
};

static void take_sequence(struct kp_tui *tui, const char *bytes)
{
	for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
		if (strcmp(bytes, sequences[i].bytes) == 0)
			kp_tui_key(tui, sequences[i].key);
	}
}

/*
 * Esc, or the beginning of a key that ncurses does not know: then its bytes are there already. Read
 * one by one, those of PgUp would be Esc and the view of number 5.
 */
static void take_escape(struct kp_tui *tui)
{
	char bytes[16] = "";
	wint_t next = 0;
	int kind;

	timeout(0);
	kind = get_wch(&next);
	if (kind != OK || (next != '[' && next != 'O')) {
		if (kind == OK)
			unget_wch((wchar_t)next);
		else if (kind == KEY_CODE_YES)
			ungetch((int)next);
		kp_tui_key(tui, KP_KEY_ESCAPE);
		return;
	}
	bytes[0] = (char)next;
	for (size_t i = 1; i + 1 < sizeof bytes && get_wch(&next) == OK && next < 0x7F; i++) {
		bytes[i] = (char)next;
		if (next >= 0x40 && !(i == 1 && next == '['))
			break;
	}
	take_sequence(tui, bytes);
}

static void take_mouse(struct kp_tui *tui)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return;
	if (event.bstate & BUTTON4_PRESSED)
		kp_tui_wheel(tui, -WHEEL_ROWS);
	else if (event.bstate & BUTTON5_PRESSED)
		kp_tui_wheel(tui, WHEEL_ROWS);
	else if (event.y >= 0 && event.x >= 0)
		kp_tui_click(tui, (size_t)event.y, (size_t)event.x);
}

static enum kp_status take_key(struct kp_tui *tui, int kind, wint_t code)
{
	if (kind == OK && code == ('Z' & 0x1F)) {
		raise(SIGTSTP); /* see restore.c */
		return KP_OK;
	}
	if (kind == OK && code == KP_KEY_ESCAPE) {
		take_escape(tui);
		return KP_OK;
	}
	if (kind == OK) {
		kp_tui_key(tui, code == '\n' ? KP_KEY_ENTER : code == 8 ? KP_KEY_BACKSPACE : code);
		return KP_OK;
	}
	if (code == KEY_RESIZE)
		return take_size(tui);
	if (code == KEY_MOUSE)
		take_mouse(tui);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (code != (wint_t)keys[i].curses)
			continue;
		kp_tui_key(tui, keys[i].key);
		return KP_OK;
	}
	/* One of the description's own; it is known by what it sends. */
	char *bytes = code == KEY_MOUSE ? NULL : keybound((int)code, 0);
	if (bytes && bytes[0] == KP_KEY_ESCAPE)
		take_sequence(tui, bytes + 1);
	free(bytes);
	return KP_OK;
}

/* Draws and shows. */
static enum kp_status paint(const struct terminal *terminal, struct kp_tui *tui)
{
	enum kp_status status = kp_tui_draw(tui);

	if (status == KP_OK && !tui->closed)
		show(terminal, tui);
	return status;
}

static enum kp_status run(const struct terminal *terminal, struct kp_tui *tui)
{
	enum kp_status status = paint(terminal, tui);
	unsigned idle_ms = 0;

	while (status == KP_OK && !tui->closed) {
		wint_t code = 0;
		bool works = kp_tui_works(tui);
		int wait_ms = tui->scanning ? SCAN_MS : works ? IDLE_MS : -1;
		timeout(wait_ms);
		errno = 0;
		int kind = get_wch(&code);
		if (kind == ERR && errno != EINTR && (!works || !isatty(STDIN_FILENO)))
			break; /* the terminal is gone */
		if (kind != ERR)
			status = take_key(tui, kind, code);
		bool changed = kind != ERR || errno == EINTR;
		if (status == KP_OK)
			changed |= kp_tui_work(tui);
		/* How far reading has come is told at leisure. */
		idle_ms = changed || wait_ms < 0 ? IDLE_MS : idle_ms + (unsigned)wait_ms;
		if (status == KP_OK && idle_ms >= IDLE_MS) {
			status = paint(terminal, tui);
			idle_ms = 0;
		}
	}
	return status;
}

enum kp_status kp_tui_terminal(const struct kp_tui_source *source,
			       const struct kp_tui_settings *settings,
			       char complaint[KP_TUI_COMPLAINT_BYTES])
{
	struct terminal terminal = {.theme = settings->theme, .ascii = settings->ascii};
	struct kp_tui_settings sized = *settings;
	struct kp_tui tui;
	enum kp_status status = start(&terminal, settings, complaint);

	if (status != KP_OK)
		return status;
	sized.rows = LINES > 0 ? (size_t)LINES : 1;
	sized.columns = COLS > 0 ? (size_t)COLS : 1;
	status = kp_tui_init(&tui, source, &sized);
	if (status == KP_OK)
		status = run(&terminal, &tui);
	stop(&terminal);
	kp_tui_fini(&tui);
	if (status != KP_OK)
		snprintf(complaint, KP_TUI_COMPLAINT_BYTES, "cannot explore the trace: %s",
			 kp_status_message(status));
	return status;
}
