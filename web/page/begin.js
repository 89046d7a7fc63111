// What a page begins with while its editor is still being loaded: the engines,
// the text, of the link or the first example, and a look at it.  A bundle of its
// own, which main.js imports.
import {start_engines} from './engine.js';
import {examples} from './examples.js';
import {look_at} from './look.js';
import {unpacked} from './share.js';

async function first_text() {
  const shared = location.hash.length > 1
    ? await unpacked(location.hash.slice(1)) : undefined;
  return shared ?? Object.values(examples)[0];
}

export const started = start_engines('.');
export const text = first_text();
export const looked = Promise.all([started, text])
  .then(([engines, first]) => look_at(engines, first));
looked.catch(() => {}); // main.js awaits `started`, and says why it failed
