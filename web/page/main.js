// The page: an editor, and views of the program in it.  All that is known of the
// program is asked of the module: of its language server (language.js), or by
// the words that one types at a shell.
import {Editor} from './editor.js';
import {examples} from './examples.js';
import {FILE} from './look.js';
import {link_of, page_of} from './share.js';
import {start_theme} from './theme.js';
import {VIEWS} from './views.js';

const byId = (id) => document.getElementById(id);
const say = (text) => byId('status').textContent = text;
const count = (what, n) => document.documentElement.dataset[what] = n;

const {first, given, started} = globalThis.begun; // begin.js
const engines = {};
const FIRST = Object.keys(VIEWS)[0];
const asked = {}; // what the field of a view has, by its name
const listed = {}; // a promise of what it may name
let editor, view = FIRST, shared;

/* --- Views ------------------------------------------------------------------ */

// One of the places in the panel has what a view shows, the others are away.
const PLACES = ['text', 'frame', 'drawn'];
function place(id) {
  for (const one of PLACES) byId(one).hidden = one !== id;
  return byId(id);
}

function show_text(text) {
  place('text').textContent = text || VIEWS[view].empty || '';
}

function show_drawn(what) {
  if (typeof what === 'string') show_text(what);
  else place('drawn').replaceChildren(what);
}

// In a frame of its own: one that was away while another view was shown stays blank
// in Chromium.
function show_page(html) {
  const old = place('frame'), frame = old.cloneNode();
  frame.srcdoc = html;
  old.replaceWith(frame);
}

async function run_view() {
  const {words, draw, made: [file] = []} = VIEWS[view], {runner} = engines;
  const files = editor.files();
  if (draw)
    return draw({file: FILE, files, text: editor.source, line: editor.line,
                 given: given.words, run: (...how) => runner.run(...how)});
  return words && runner.run(words(FILE, given.words, answer(view)), {
    files, wanted: file ? [file] : []});
}

function show_view(output, err, done) {
  const {made: [file] = [], page, draw} = VIEWS[view];
  if (!done) show_text(output + err);
  else if (draw) show_drawn(done);
  else if (file && done.made[file])
    show_page(new TextDecoder().decode(done.made[file]));
  else if (page && done.status === 0) show_page(done.out);
  else show_text(done.out + done.err);
}

function show_tab(name, focus) {
  view = name;
  show_asks();
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const chosen = tab.dataset.view === name;
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) byId('panel').setAttribute('aria-labelledby', tab.id);
    if (chosen && focus) tab.focus();
  }
}

function choose_view(...which) {
  show_tab(...which);
  editor.look();
}

function make_tabs() {
  const list = document.querySelector('[role=tablist]'), names = Object.keys(VIEWS);
  for (const name of names) {
    const tab = document.createElement('button');
    tab.role = 'tab';
    tab.dataset.view = name;
    tab.id = `tab-${name}`;
    tab.textContent = VIEWS[name].title;
    tab.setAttribute('aria-controls', 'panel');
    tab.onclick = () => choose_view(name);
    list.append(tab);
  }
  list.onkeydown = (e) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (!by) return;
    const i = names.indexOf(view) + by + names.length;
    choose_view(names[i % names.length], true);
  };
}

/* --- What a view asks ------------------------------------------------------------ */

const answer = (name) => asked[name] ?? VIEWS[name].asks?.first;

function show_asks() {
  const {asks} = VIEWS[view], label = byId('asks');
  label.hidden = !asks;
  if (!asks) return;
  label.firstChild.textContent = asks.label;
  byId('asked').value = answer(view);
  byId('answers').replaceChildren();
}

// Offers names for what is typed after the last comma or blank.  The module is asked
// for the names when somebody first types.
async function offer() {
  const of = view, typed = byId('asked').value, {names: words} = VIEWS[of].asks;
  if (!words) return;
  const begun = /^.*[\s,]|/.exec(typed)[0];
  listed[of] ??= engines.runner?.run(words)
    .then((done) => JSON.parse(done.out).map(({name}) => name))
    .catch(() => { // the run was stopped
      delete listed[of];
      return [];
    });
  const names = await listed[of] ?? [];
  if (byId('asked').value === typed)
    byId('answers').replaceChildren(...names.map((name) => new Option(begun + name)));
}

function start_asks() {
  byId('asked').oninput = offer;
  byId('asked').onchange = (e) => {
    asked[view] = e.target.value;
    editor.look();
  };
}

/* --- Files --------------------------------------------------------------------- */

const RESULT = '/result.safetensors';

// What was dropped, a button each, which takes it away.
function show_given() {
  byId('given').replaceChildren(...Object.keys(given.files).map((path) => {
    const button = document.createElement('button');
    button.textContent = `${path.slice(1)} ×`;
    button.ariaLabel = `Take ${path.slice(1)} away`;
    button.onclick = () => {
      given.forget(path);
      show_given();
      editor.look();
    };
    return button;
  }));
}

async function take(list) {
  let program;
  try {
    for (const file of list)
      program = await given.take(file.name, new Uint8Array(await file.arrayBuffer()),
                                 (...how) => engines.runner.run(...how)) ?? program;
  } catch (e) {
    return say(e.message);
  }
  show_given();
  if (program === undefined) editor.look();
  else editor.source = program;
}

// The last value, or that of @main, as a file.
async function save() {
  engines.runner.stop();
  const done = await engines.runner.run(
    ['run', '--outputs', RESULT, ...given.words, FILE],
    {files: editor.files(), wanted: [RESULT]});
  const bytes = done?.made[RESULT];
  if (!bytes) return say(done ? done.err.split('\n')[0] : 'Stopped.');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes]));
  link.download = RESULT.slice(1);
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${link.download} has ${bytes.length} bytes.`);
}

function start_files() {
  byId('save').onclick = save;
  byId('open').onchange = (e) => take(e.target.files);
  addEventListener('dragover', (e) => e.preventDefault());
  addEventListener('drop', (e) => {
    e.preventDefault();
    if (e.dataTransfer.files.length) take(e.dataTransfer.files);
  });
}

/* --- Beginning ------------------------------------------------------------- */

async function share() {
  const {fragment, left_out} = await link_of({
    text: editor.source, view: view === FIRST ? null : view, at: editor.at,
    asked: asked[view], files: given.files});
  location.hash = shared = `#${fragment}`;
  const without = left_out ? ', without the files, which are too large' : '';
  try {
    await navigator.clipboard.writeText(location.href);
    say(`The link is in the clipboard${without}.`);
  } catch {
    say(`The link is in the address bar${without}.`);
  }
}

// Shows the rest of what a link holds: files, the cursor's place and the view.
function show_place({at, view: name, asked: text}) {
  show_given();
  if (at) editor.at = at;
  for (const one of Object.keys(asked)) delete asked[one];
  if (text !== undefined) asked[name] = text;
  show_tab(Object.hasOwn(VIEWS, name) ? name : FIRST);
}

async function follow() {
  if (location.hash === shared) return;
  const page = await page_of(location.hash.slice(1));
  if (!page) return say('This link holds no program.');
  given.files = page.files;
  editor.source = page.text;
  show_place(page);
}

const on = {
  say,
  checked: (version) => count('checked', version),
  mistakes: show_text,
  running: (whether) => byId('stop').disabled = !whether,
  stopped: (version) => count('stopped', version),
  after: run_view,
  follows: () => VIEWS[view].follows,
  ran(version, ...shown) {
    show_view(...shown);
    count('run', version);
  },
};

async function begin() {
  start_theme(byId('theme'));
  const page = await first;
  editor = new Editor({parent: byId('editor'), label: 'Program', engines, on,
                       given, text: page.text});
  make_tabs();
  start_asks();
  start_files();
  for (const name in examples) byId('examples').add(new Option(name));
  byId('examples').onchange = (e) => editor.source = examples[e.target.value];
  byId('format').onclick = () => editor.format();
  byId('share').onclick = share;
  byId('stop').onclick = () => editor.stop();
  onhashchange = follow;
  show_place(page);
  Object.assign(engines, await started);
  editor.look();
}

begin().catch((e) => say(`The page cannot begin: ${e.message}`));
