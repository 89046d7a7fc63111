/* The line editor, loaded where a terminal is read: by RLY_READLINE, GNU
 * Readline (1, readline.c) or libedit (2, libedit.c), which answers to the same
 * names.  Others include this header alone.
 *
 * The dynamic linker looks up some 1,200 of the library's own names whenever it
 * is loaded, which would be half of the instructions of `rly -e '1 + 1'`.  So
 * the program is not linked with it: a row below for each name that is used,
 * and `rl` points to what stands behind them. */
#ifndef REPL_READLINE_H
#define REPL_READLINE_H

#include <stdbool.h>
#include <stdio.h> /* which readline's headers want */

#if RLY_READLINE == 2
#include "repl/libedit.h"
#else
#include <readline/history.h>
#include <readline/readline.h>
#endif

/* ROW(name here, name there) */
#define READLINE_NAMES(ROW)                                                \
  /* the line */                                                           \
  ROW(line, readline)                                                      \
  ROW(buffer, rl_line_buffer)                                              \
  ROW(point, rl_point)                                                     \
  ROW(end, rl_end)                                                         \
  ROW(state, rl_readline_state)                                            \
  ROW(last_func, rl_last_func)                                             \
  ROW(display_prompt, rl_display_prompt)                                   \
  /* changes of it */                                                      \
  ROW(insert_text, rl_insert_text)                                         \
  ROW(delete_text, rl_delete_text)                                         \
  ROW(kill_text, rl_kill_text)                                             \
  ROW(begin_undo_group, rl_begin_undo_group)                               \
  ROW(end_undo_group, rl_end_undo_group)                                   \
  /* commands */                                                           \
  ROW(insert, rl_insert)                                                   \
  ROW(newline, rl_newline)                                                 \
  ROW(beg_of_line, rl_beg_of_line)                                         \
  ROW(end_of_line, rl_end_of_line)                                         \
  ROW(kill_line, rl_kill_line)                                             \
  ROW(unix_line_discard, rl_unix_line_discard)                             \
  ROW(clear_screen, rl_clear_screen)                                       \
  ROW(bracketed_paste_begin, rl_bracketed_paste_begin)                     \
  ROW(vi_editing_mode, rl_vi_editing_mode)                                 \
  ROW(get_previous_history, rl_get_previous_history)                       \
  ROW(get_next_history, rl_get_next_history)                               \
  /* keys */                                                               \
  ROW(read_key, rl_read_key)                                               \
  ROW(get_keymap_by_name, rl_get_keymap_by_name)                           \
  ROW(bind_keyseq_in_map, rl_bind_keyseq_in_map)                           \
  ROW(function_of_keyseq, rl_function_of_keyseq)                           \
  ROW(invoking_keyseqs_in_map, rl_invoking_keyseqs_in_map)                 \
  /* settings and hooks */                                                 \
  ROW(initialize, rl_initialize)                                           \
  ROW(prep_terminal, rl_prep_terminal)                                     \
  ROW(deprep_terminal, rl_deprep_terminal)                                 \
  ROW(variable_bind, rl_variable_bind)                                     \
  ROW(get_termcap, rl_get_termcap)                                         \
  ROW(readline_name, rl_readline_name)                                     \
  ROW(catch_signals, rl_catch_signals)                                     \
  ROW(catch_sigwinch, rl_catch_sigwinch)                                   \
  ROW(getc_function, rl_getc_function)                                     \
  ROW(startup_hook, rl_startup_hook)                                       \
  ROW(redisplay_function, rl_redisplay_function)                           \
  /* completion */                                                         \
  ROW(completion_matches, rl_completion_matches)                           \
  ROW(filename_completion_function, rl_filename_completion_function)       \
  ROW(filename_completion_desired, rl_filename_completion_desired)         \
  ROW(attempted_completion_function, rl_attempted_completion_function)     \
  ROW(attempted_completion_over, rl_attempted_completion_over)             \
  ROW(completion_append_character, rl_completion_append_character)         \
  ROW(completion_word_break_hook, rl_completion_word_break_hook)           \
  ROW(completion_display_matches_hook, rl_completion_display_matches_hook) \
  /* the history */                                                        \
  ROW(add_history, add_history)                                            \
  ROW(history_get, history_get)                                            \
  ROW(history_base, history_base)                                          \
  ROW(history_length, history_length)

typedef struct Readline {
#define ROW(here, there) __typeof__(there) *here;
  READLINE_NAMES(ROW)
#undef ROW
} Readline;

extern Readline rl;

/* Fills in `rl`; false: this system has no readline of the version that the
 * program was built with, and lines are read as they come. */
bool readline_load(void);

/* Is readline in one of these states, RL_STATE_...? */
static inline bool readline_is(unsigned long states) {
  return *rl.state & states;
}

#endif
