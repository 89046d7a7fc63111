// A page of the book, as its reader uses it: search, contents on a phone, dark
// and light, and blocks that become editors (live.js, which is loaded when the
// first is wanted).
import {start_theme} from '../page/theme.js';
import {element} from './element.js';

const byId = (id) => document.getElementById(id);

/* --- Search ----------------------------------------------------------------- */

const MOST = 20;
let sections;

// How well a section fits all words, lower ones of the query: its heading counts
// for more than its page's title, and that for more than its text.
function fit([, , title, heading, text], words) {
  const name = heading.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = name.indexOf(word);
    if (name === word || name === `@${word}`) sum += 100;
    else if (at >= 0) sum += /\w/.test(name[at - 1] ?? '') ? 20 : 40;
    else if (title.toLowerCase().includes(word)) sum += 8;
    else if (text.toLowerCase().includes(word)) sum += 2;
    else return 0;
  }
  return sum - heading.length / 100;
}

// A piece of a section's text around a word.
function around(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return text.slice(at, at + 120).replace(/\s+/g, ' ').trim();
}

async function search() {
  const query = byId('search').value, found = byId('found');
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = !words.length;
  sections ??= fetch('search.json').then((answer) => answer.json());
  const all = await sections;
  if (query !== byId('search').value) return;
  const best = all.map((s) => [fit(s, words), s]).filter(([n]) => n > 0)
    .sort(([a], [b]) => b - a).slice(0, MOST);
  found.replaceChildren(...best.map(([, [page, anchor, title, heading, text]]) => {
    const link = element('a', heading, {href: `${page}.html#${anchor}`});
    link.append(element('small', `${title} · ${around(text, words[0])}`));
    return link;
  }));
  if (!best.length) found.append(element('p', 'Nothing was found.'));
  document.documentElement.dataset.found = query;
}

function start_search() {
  const box = byId('search'), found = byId('found');
  const links = () => [...found.querySelectorAll('a')];
  box.oninput = search;
  box.onfocus = () => box.value && search();
  found.onclick = () => found.hidden = true;
  document.addEventListener('click', (e) => {
    if (!e.target.closest('[role=search]')) found.hidden = true;
  });
  document.addEventListener('keydown', (e) => {
    const typing = e.target.closest?.('input, [contenteditable]');
    if (e.key === '/' && !typing) {
      e.preventDefault();
      box.focus();
    }
    if (!e.target.closest?.('[role=search]')) return;
    if (e.key === 'Escape') found.hidden = true;
    if (e.key === 'Enter' && e.target === box) links()[0]?.click();
    const by = {ArrowDown: 1, ArrowUp: -1}[e.key];
    if (!by) return;
    e.preventDefault();
    const all = [box, ...links()];
    all[all.indexOf(document.activeElement) + by]?.focus();
  });
}

/* --- Live blocks ------------------------------------------------------------- */

// A block has one button until it is an editor.
function offer(block, words, start) {
  const bar = element('div', '', {className: 'bar'});
  const button = element('button', words);
  button.onclick = async () => {
    button.disabled = true;
    const live = await import('./live.js');
    bar.remove();
    live[start](block);
  };
  bar.append(button);
  block.append(bar);
}

start_theme(byId('theme'));
start_search();
byId('open').onclick = () => {
  const open = document.body.classList.toggle('contents');
  byId('open').setAttribute('aria-expanded', open);
};
for (const block of document.querySelectorAll('.live')) offer(block, 'Run', 'run');
for (const block of document.querySelectorAll('.exercise'))
  offer(block, 'Answer', 'answer');
document.querySelector('nav [aria-current]')?.scrollIntoView({block: 'nearest'});
document.documentElement.dataset.ready = 1;
