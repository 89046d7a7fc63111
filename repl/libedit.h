/* The part of readline's interface that the editor uses, over libedit: what
 * stands behind repl/readline.h in a build with READLINE=2.
 *
 * libedit's own imitation of readline has none of the hooks that edit.c needs.
 * Its other interface, histedit.h, keeps a line and its cursor, reads keys and
 * runs commands by them; libedit.c makes of these what is declared here, with
 * readline's names and meanings, and libedit_complete.c adds completion. */
#ifndef REPL_LIBEDIT_H
#define REPL_LIBEDIT_H

#include <stdbool.h>
#include <stdio.h>

typedef int rl_command_func_t(int count, int key);
typedef struct LibeditKeys *Keymap;
typedef struct HIST_ENTRY {
  char *line;
} HIST_ENTRY;

enum { RL_STATE_ISEARCH = 1, RL_STATE_NSEARCH = 2, RL_STATE_MOREINPUT = 4 };

/* --- libedit.c ------------------------------------------------------------ */

char *readline(const char *prompt);
extern char *rl_line_buffer; /* as it is before the next key; never NULL */
extern int rl_point, rl_end; /* bytes of it */
extern unsigned long rl_readline_state;
extern rl_command_func_t *rl_last_func;
extern char *rl_display_prompt;

int rl_insert_text(const char *text);
int rl_delete_text(int from, int to);
int rl_kill_text(int from, int to);
int rl_begin_undo_group(void);
int rl_end_undo_group(void);

rl_command_func_t rl_insert, rl_newline, rl_beg_of_line, rl_end_of_line,
    rl_kill_line, rl_unix_line_discard, rl_clear_screen,
    rl_bracketed_paste_begin, rl_vi_editing_mode, rl_get_previous_history,
    rl_get_next_history;

int rl_read_key(void);
Keymap rl_get_keymap_by_name(const char *name);
int rl_bind_keyseq_in_map(const char *keys, rl_command_func_t *command,
                          Keymap map);
rl_command_func_t *rl_function_of_keyseq(const char *keys, Keymap map,
                                         int *type);
char **rl_invoking_keyseqs_in_map(rl_command_func_t *command, Keymap map);

int rl_initialize(void);
void rl_prep_terminal(int meta); /* as editing wants it */
void rl_deprep_terminal(void);   /* as it was before */
int rl_variable_bind(const char *name, const char *value);
char *rl_get_termcap(const char *name);
extern const char *rl_readline_name;
extern int rl_catch_signals, rl_catch_sigwinch; /* no signal is caught */
extern int (*rl_getc_function)(FILE *in);
extern int (*rl_startup_hook)(void);
extern void (*rl_redisplay_function)(void);

void add_history(const char *line);
HIST_ENTRY *history_get(int number);
extern int history_base, history_length;

/* What is on the terminal's row is not the editor's any more. */
void libedit_row_lost(void);

/* --- libedit_complete.c --------------------------------------------------- */

rl_command_func_t rl_complete;
char **rl_completion_matches(const char *word,
                             char *(*next)(const char *word, int state));
char *rl_filename_completion_function(const char *word, int state);
extern int rl_filename_completion_desired, rl_attempted_completion_over,
    rl_completion_append_character;
extern char **(*rl_attempted_completion_function)(const char *word, int start,
                                                  int end);
extern char *(*rl_completion_word_break_hook)(void);
extern void (*rl_completion_display_matches_hook)(char **matches, int count,
                                                  int longest);

#endif
