// A look at a text: one engine checks it while the other runs it.  Both refuse a
// text with mistakes; the check tells them, and the output of the run is not used.
import {ask} from './language.js';

export const FILE = '/main.rly';

// The program's file, with those that give values to params (given.js), if any.
export const files_of = (text, given) =>
  ({...given?.files, [FILE]: new TextEncoder().encode(text)});

// `said` promises the answers of the language server (language.js), `shown` the
// result of the run (engine.js); either is null if its engine was stopped.
export function look_at({language, runner}, text, given) {
  const files = files_of(text, given);
  return {
    text,
    said: ask(language, text, files, ['semanticTokens/full', {}]),
    shown: runner.run(['watch', '--once', ...given?.words ?? [], FILE], {files}),
  };
}
