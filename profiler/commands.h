/* The table of kprof's commands, their options and their words. */
#ifndef KP_PROFILER_COMMANDS_H
#define KP_PROFILER_COMMANDS_H

#include "profiler/options.h"

/* All commands, `run` first, ended by NULL. */
extern const struct kp_command *const kp_commands[];

/* plan_command.c: its row of that table. */
extern const struct kp_command kp_plan_command;
/* tui_command.c likewise. */
extern const struct kp_command kp_tui_command;
/* top_command.c: the same. */
extern const struct kp_command kp_top_command;
/* export_command.c: the same. */
extern const struct kp_command kp_export_command;
/* ab_command.c: the same. */
extern const struct kp_command kp_ab_command;
/* cmd_diff.c: its row, likewise. */
extern const struct kp_command kp_diff_command;
/* import_command.c: the same. */
extern const struct kp_command kp_import_command, kp_merge_command;

/* The command of this name; NULL: there is none. */
const struct kp_command *kp_commands_find(const char *name);
/* The name most like `word`; NULL: none is alike. */
const char *kp_commands_nearest(const char *word);
/* Runs `command` on the words after its name; returns the exit status. */
int kp_commands_run(const struct kp_command *command, int argc, char **argv);

/* What each command does: one file each. All return the exit status. */
int kp_cmd_run(const struct kp_settings *settings);
int kp_cmd_record(const struct kp_settings *settings);
int kp_cmd_report(const struct kp_settings *settings);
int kp_cmd_info(const struct kp_settings *settings);
int kp_cmd_export(const struct kp_settings *settings);
int kp_cmd_import(const struct kp_settings *settings);
int kp_cmd_merge(const struct kp_settings *settings);
int kp_cmd_ctl(const struct kp_settings *settings);
int kp_cmd_bench(const struct kp_settings *settings);
int kp_cmd_doctor(const struct kp_settings *settings);
int kp_cmd_plan(const struct kp_settings *settings);
int kp_cmd_tui(const struct kp_settings *settings);
int kp_cmd_ab(const struct kp_settings *settings);
int kp_cmd_top(const struct kp_settings *settings);
int kp_cmd_help(const struct kp_settings *settings);
int kp_cmd_version(const struct kp_settings *settings);

#endif
