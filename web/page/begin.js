// The work that need not wait for the editor, which takes longer to load: starting
// the engines, reading the program from the link (or taking the first example),
// and having it checked and run.  It stands in the page itself (inline.mjs), and
// leaves what it exports to main.js as `begun`.
import {start_engines} from './engine.js';
import {examples} from './examples.js';
import {Given} from './given.js';
import {look_at} from './look.js';
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
export const looked = Promise.all([started, first])
  .then(([engines, {text}]) => look_at(engines, text, given));
looked.catch(() => {}); // main.js awaits `started`, and says why it failed
