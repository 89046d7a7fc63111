// What a page begins with while its editor is still being loaded: the engines,
// what the link holds, or the first example, and a look at it.  A bundle of its
// own, which main.js imports.
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
