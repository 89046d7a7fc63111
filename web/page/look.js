// A look at a text: one engine checks it while the other runs it.  A text with
// mistakes is refused by both; then what the run says is of no use.
import {ask} from './language.js';

export const FILE = '/main.rly';

// The program's file, with those that give values to params (given.js), if any.
export const files_of = (text, given) =>
  ({...given?.files, [FILE]: new TextEncoder().encode(text)});

// `said` is what language.js tells of the text, `shown` what a run printed; both
// are promises, of null where an engine was stopped.
export function look_at({language, runner}, text, given) {
  const files = files_of(text, given);
  return {
    text,
    said: ask(language, text, files, ['semanticTokens/full', {}]),
    shown: runner.run(['watch', '--once', ...given?.words ?? [], FILE], {files}),
  };
}
