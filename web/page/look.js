// A look at a text: one engine checks it while the other runs it.  Both refuse a
// text with mistakes; the check tells them, and the output of the run is not used.
import {ask} from './language.js';

export const FILE = '/main.rly', KEPT = '/kept';

// The program's file, with those that give values to params (given.js), if any.
export const files_of = (text, given) =>
  ({...given?.files, [FILE]: new TextEncoder().encode(text)});

// The arguments of the command that runs it.
export const words_of = (given) =>
  ['watch', '--once', '--cells', '--kept', KEPT, ...given?.words ?? [], FILE];

// For runs in which the calls of functions are counted.  A value is kept where its
// step took long, which depends on how busy the machine is; with this none is kept.
export const keeps_no_value = {words: ['--keep-over', '1000']};

// What a run leaves for the next one, which runs only what has changed since
// (`rly watch --kept`): bytes, or nothing before the first run.
let kept;
// Its first line, without the number of steps, which is that of the run that left
// it: a run that is refused leaves what was there.
const HEAD = new TextEncoder().encode('rly kept: from the run before');

function with_head(rest) {
  const bytes = new Uint8Array(HEAD.length + rest.length);
  bytes.set(HEAD);
  bytes.set(rest, HEAD.length);
  return bytes;
}

async function run(runner, text, given) {
  const files = files_of(text, given);
  if (kept) files[KEPT] = kept;
  const shown = await runner.run(words_of(given), {files, wanted: [KEPT]});
  const left = shown?.made[KEPT];
  if (!left) return shown;
  const end = left.indexOf(10), head = new TextDecoder().decode(left.subarray(0, end));
  kept = with_head(left.subarray(end));
  return {...shown, ran: /^rly kept: (\d+ of \d+) steps ran/.exec(head)?.[1]};
}

// `said` promises the answers of the language server (language.js), `shown` the
// result of the run (engine.js) and `ran`, how many of the steps it ran; either is
// null if its engine was stopped.
export function look_at({language, runner}, text, given) {
  return {
    said: ask(language, text, files_of(text, given), ['semanticTokens/full', {}]),
    shown: run(runner, text, given),
  };
}
