// The page: an editor, and views of the program in it.  All that is known of the
// program is asked of the module: of its language server (language.js), or by
// the words that one types at a shell.
import {autocompletion, closeBrackets, completionKeymap}
  from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap, indentWithTab}
  from '@codemirror/commands';
import {lintGutter, lintKeymap, setDiagnostics} from '@codemirror/lint';
import {highlightSelectionMatches, searchKeymap} from '@codemirror/search';
import {EditorState, StateEffect, StateField} from '@codemirror/state';
import {Decoration, EditorView, WidgetType, drawSelection, highlightActiveLine,
        highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers}
  from '@codemirror/view';

import {Engine} from './engine.js';
import {examples} from './examples.js';
import {ask} from './language.js';
import {packed, unpacked} from './share.js';
import {VIEWS} from './views.js';

const FILE = '/main.rly';
const PAUSE = 120; // milliseconds after a key, before the program is looked at
const byId = (id) => document.getElementById(id);
const say = (text) => byId('status').textContent = text;

/* --- Decorations: set whole, moved with the text until they are set again --- */

function decorations() {
  const set = StateEffect.define();
  const field = StateField.define({
    create: () => Decoration.none,
    update(old, change) {
      let now = old.map(change.changes);
      for (const e of change.effects) if (e.is(set)) now = e.value;
      return now;
    },
    provide: (f) => EditorView.decorations.from(f),
  });
  return {set, field};
}

const colours = decorations(), values = decorations();

class Value extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }
  eq(other) {
    return other.text === this.text;
  }
  toDOM() {
    const span = document.createElement('span');
    span.className = 'value';
    span.textContent = this.text;
    return span;
  }
}

/* --- Places: the server's lines and columns count from 0 ------------------- */

const offset = (doc, {line, character}) => {
  const at = doc.line(Math.min(line + 1, doc.lines));
  return Math.min(at.from + character, at.to);
};
const position = (doc, at) => {
  const line = doc.lineAt(at);
  return {line: line.number - 1, character: at - line.from};
};

/* --- The program ------------------------------------------------------------ */

let editor, language, runner, version = 0, timer, view = 'values';

const source = () => editor.state.doc.toString();
const files = () => ({[FILE]: new TextEncoder().encode(source())});

function show_colours(doc, legend, tokens) {
  const marks = [];
  let line = 0, column = 0;
  for (let i = 0; i < tokens.length; i += 5) {
    column = tokens[i] ? tokens[i + 1] : column + tokens[i + 1];
    line += tokens[i];
    const from = offset(doc, {line, character: column});
    const to = Math.min(from + tokens[i + 2], doc.length);
    if (from < to)
      marks.push(Decoration.mark({class: `t-${legend[tokens[i + 3]]}`})
        .range(from, to));
  }
  editor.dispatch({effects: colours.set.of(Decoration.set(marks, true))});
}

const SEVERITY = ['', 'error', 'warning', 'info', 'hint'];

function problems(doc, diagnostics) {
  return diagnostics.map((d) => ({
    from: offset(doc, d.range.start),
    to: Math.max(offset(doc, d.range.end), offset(doc, d.range.start)),
    severity: SEVERITY[d.severity ?? 1], message: d.message,
    source: d.code && String(d.code),
  }));
}

// What a run says of places: `/main.rly:2:3: error[E0602]: ...`, and below it
// the line with carets under the part that is meant.
function run_problems(doc, err) {
  const said = /^\/main\.rly:(\d+):(\d+): error\[(\w+)\]: (.*)\n.*\n( *\| *)?(\^*)/gm;
  return [...err.matchAll(said)].map(([, line, column, code, message, , mark]) => {
    const from = offset(doc, {line: line - 1, character: column - 1});
    return {from, to: Math.min(from + Math.max(mark.length, 1), doc.length),
            severity: 'error', message, source: code};
  });
}

// Puts values beside their lines; what the view of the output says of all.
function show_values(doc, out) {
  const beside = new Map(), all = [];
  for (const line of out.split('\n')) {
    const at = /^\/main\.rly:(\d+): (.*)$/.exec(line);
    if (at && +at[1] <= doc.lines) beside.set(+at[1], at[2]);
    all.push(at ? `${at[1]}: ${at[2]}` : line);
  }
  const marks = [...beside].sort(([a], [b]) => a - b).map(([line, text]) =>
    Decoration.widget({widget: new Value(text), side: 1})
      .range(doc.line(line).to));
  editor.dispatch({effects: values.set.of(Decoration.set(marks))});
  return all.join('\n');
}

// Looks at the text anew: colours and mistakes, then values.  A newer text ends
// what is under way for this one.
async function look() {
  const now = ++version;
  language.stop();
  runner.stop();
  const doc = editor.state.doc;
  const begun = performance.now();
  const said = await ask(language, source(), files(),
                         ['semanticTokens/full', {}]);
  if (!said || now !== version) return;
  const checked = performance.now() - begun;
  show_colours(doc, said.legend, said.answers[0]?.data ?? []);
  const wrong = problems(doc, said.diagnostics);
  editor.dispatch(setDiagnostics(editor.state, wrong));
  const errors = wrong.filter((p) => p.severity === 'error').length;
  const mistakes = errors === 1 ? '1 mistake' : `${errors} mistakes`;
  say(`${errors ? mistakes : 'Checked'} after ${checked.toFixed(0)} ms.`);
  document.documentElement.dataset.checked = version;
  if (errors) {
    editor.dispatch({effects: values.set.of(Decoration.none)});
    show_text(wrong.map((p) => {
      const {line, character} = position(doc, p.from);
      return `${line + 1}:${character + 1}: ${p.severity} ${p.source}: ` +
        p.message;
    }).join('\n'));
    return;
  }
  await run(now, doc, wrong);
}

async function run(now, doc, warnings) {
  const begun = performance.now();
  const waits = setTimeout(() => {
    byId('stop').disabled = false;
    say('Running.');
  }, 150);
  const done = VIEWS[view].words
    ? await runner.run(VIEWS[view].words(FILE),
                       {files: files(), wanted: VIEWS[view].made ?? []})
    : null;
  const shown = await runner.run(['watch', '--once', FILE], {files: files()});
  clearTimeout(waits);
  byId('stop').disabled = true;
  if (now !== version || !shown) return;
  const output = show_values(doc, shown.out);
  editor.dispatch(setDiagnostics(editor.state, [
    ...warnings, ...run_problems(doc, shown.err)]));
  if (done && VIEWS[view].made && done.made[VIEWS[view].made[0]])
    show_page(new TextDecoder().decode(done.made[VIEWS[view].made[0]]));
  else if (done && VIEWS[view].page && done.status === 0) show_page(done.out);
  else if (done) show_text(done.out + done.err);
  else show_text(output + shown.err);
  say(`Run in ${(performance.now() - begun).toFixed(0)} ms.`);
  document.documentElement.dataset.run = version;
}

/* --- Views ------------------------------------------------------------------ */

function show_text(text) {
  byId('frame').hidden = true;
  byId('text').hidden = false;
  byId('text').textContent = text || VIEWS[view].empty || '';
}

function show_page(html) {
  byId('text').hidden = true;
  byId('frame').hidden = false;
  byId('frame').srcdoc = html;
}

function choose_view(name, focus) {
  view = name;
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const chosen = tab.dataset.view === name;
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) tab.focus();
  }
  look();
}

function make_tabs() {
  const list = document.querySelector('[role=tablist]'), names = Object.keys(VIEWS);
  for (const name of names) {
    const tab = document.createElement('button');
    tab.role = 'tab';
    tab.dataset.view = name;
    tab.textContent = VIEWS[name].title;
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

/* --- What the editor asks for ----------------------------------------------- */

const hover = hoverTooltip(async ({state}, at) => {
  const said = await ask(language, source(), files(),
                         ['hover', {position: position(state.doc, at)}]);
  const answer = said?.answers[0];
  if (!answer) return null;
  const range = answer.range;
  return {
    pos: range ? offset(state.doc, range.start) : at,
    end: range ? offset(state.doc, range.end) : at,
    create() {
      const dom = document.createElement('div');
      dom.className = 'hover';
      dom.textContent = answer.contents.value.replace(/^```.*\n?/gm, '').trim();
      return {dom};
    },
  };
}, {hoverTime: 250});

const KINDS = {2: 'method', 3: 'function', 5: 'property', 6: 'variable', 7: 'class',
               12: 'constant', 13: 'enum', 14: 'keyword', 20: 'enum',
               21: 'constant', 25: 'type'};

async function complete(context) {
  const word = context.matchBefore(/[@%]?[\w.]*/);
  const asked = word.from < word.to || context.explicit ||
    '(,="'.includes(context.state.sliceDoc(context.pos - 1, context.pos));
  if (!asked) return null;
  const doc = context.state.doc;
  const said = await ask(language, source(), files(), ['completion', {
    position: position(doc, context.pos)}]);
  const list = said?.answers[0];
  const items = list?.items ?? list ?? [];
  if (!items.length) return null;
  const edit = items[0].textEdit;
  return {
    from: edit ? offset(doc, edit.range.start) : word.from,
    options: items.map((item) => ({
      label: item.label, apply: item.textEdit?.newText ?? item.insertText,
      type: KINDS[item.kind], detail: item.detail,
    })),
    validFor: /^[@%]?[\w.]*$/,
  };
}

async function format() {
  const doc = editor.state.doc;
  const said = await ask(language, source(), files(), ['formatting', {
    options: {tabSize: 2, insertSpaces: true}}]);
  const edits = said?.answers[0];
  if (doc !== editor.state.doc) return;
  if (!edits) return say('A program with mistakes is not formatted.');
  editor.dispatch({changes: edits.map((e) => ({
    from: offset(doc, e.range.start), to: offset(doc, e.range.end),
    insert: e.newText}))});
}

function stop() {
  if (!runner.busy()) return;
  version++;
  runner.stop();
  byId('stop').disabled = true;
  say('Stopped.');
  document.documentElement.dataset.stopped = version;
}

async function share() {
  location.hash = await packed(source());
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link is in the clipboard.');
  } catch {
    say('The link is in the address bar.');
  }
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.theme = name;
  } catch { /* a page without storage forgets */ }
}

/* --- Beginning ------------------------------------------------------------- */

function make_editor(text) {
  editor = new EditorView({
    parent: byId('editor'),
    state: EditorState.create({doc: text, extensions: [
      lineNumbers(), lintGutter(), history(), drawSelection(), closeBrackets(),
      highlightActiveLine(), highlightActiveLineGutter(),
      highlightSelectionMatches(), EditorState.tabSize.of(2),
      EditorView.contentAttributes.of({'aria-label': 'Program'}),
      keymap.of([
        {key: 'Shift-Alt-f', run: () => (format(), true)},
        {key: 'Mod-.', run: () => (stop(), true)},
        ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap,
        ...defaultKeymap, indentWithTab,
      ]),
      autocompletion({override: [complete]}), hover,
      colours.field, values.field,
      EditorView.updateListener.of((u) => {
        if (!u.docChanged) return;
        clearTimeout(timer);
        timer = setTimeout(look, PAUSE);
      }),
    ]}),
  });
}

function set_text(text) {
  editor.dispatch({changes: {from: 0, to: editor.state.doc.length, insert: text}});
}

async function begin() {
  theme((() => {
    try {
      return localStorage.theme;
    } catch { /* none is kept */ }
  })() ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  const shared = location.hash.length > 1
    ? await unpacked(location.hash.slice(1)) : undefined;
  const names = Object.keys(examples);
  make_editor(shared ?? examples[names[0]]);
  make_tabs();
  for (const name of names) byId('examples').add(new Option(name));
  byId('examples').onchange = (e) => set_text(examples[e.target.value]);
  byId('format').onclick = format;
  byId('share').onclick = share;
  byId('stop').onclick = stop;
  byId('theme').onclick = () =>
    theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  onhashchange = async () => {
    const text = await unpacked(location.hash.slice(1));
    if (text === undefined) say('This link holds no program.');
    else if (text !== source()) set_text(text);
  };
  const bytes = await (await fetch('rly.wasm')).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  language = new Engine(module);
  runner = new Engine(module);
  choose_view('values');
}

begin().catch((e) => say(`The page cannot begin: ${e.message}`));
