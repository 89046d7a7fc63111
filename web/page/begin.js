// The work that need not wait for the editor, which takes longer to load: starting
// the engines, and reading the program from the link (or taking the first example).
// It stands in the page itself (inline.mjs), and leaves what it exports to main.js
// as `begun`.  The program is looked at when the editor is there: on two cores, a
// run before that makes the reader wait longer for the editor and no less for values.
import {start_engines} from './engine.js';
import {examples} from './examples.js';
import {Given} from './given.js';
import {page_of} from './share.js';

export const given = new Given();

async function first_page() {
  const shared = location.hash.length > 1
    ? await page_of(location.hash.slice(1)) : undefined;
  given.files = shared?.files ?? {};
  return shared ?? {text: Object.values(examples)[0]};
}

export const started = start_engines('.');
export const first = first_page();
started.catch(() => {}); // main.js awaits it, and says why it failed
