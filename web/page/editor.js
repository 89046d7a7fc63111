// An editor of a program: its text in colours, mistakes where they are, hovers,
// completion, formatting, and the values of its lines beside them.  The page
// (main.js) has one, the book one for each block that is being edited.
import {autocompletion, closeBrackets, completionKeymap}
  from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap, indentWithTab}
  from '@codemirror/commands';
import {forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics}
  from '@codemirror/lint';
import {highlightSelectionMatches, searchKeymap} from '@codemirror/search';
import {Compartment, EditorState, StateEffect, StateField} from '@codemirror/state';
import {Decoration, EditorView, WidgetType, drawSelection, highlightActiveLine,
        highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers}
  from '@codemirror/view';

import {ask} from './language.js';
import {files_of, look_at} from './look.js';
import {sliders} from './slider.js';
import {pictures} from './value.js';

const MENDED_MOST = 10; // mistakes of a text, the first ones, for which to ask
const PAUSE = 120; // milliseconds after a key, before the program is looked at

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

const NEXT = '\0'; // between what stands beside one line

// Pictures have the colours of the theme in which they were drawn.
class Value extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
    this.theme = document.documentElement.dataset.theme;
  }
  eq(other) {
    return other.text === this.text && other.theme === this.theme;
  }
  toDOM() {
    const span = document.createElement('span');
    span.className = 'value';
    // A value, after it what the cells of the line held.
    this.text.split(NEXT).forEach((text, i) =>
      span.append(...i ? ['; '] : [], ...pictures(text), text));
    return span;
  }
}

/* --- Lines on a phone, which has no room for a value beside a long one, wrap --- */

const narrow = matchMedia('(max-width: 720px)'); // as in style.css
const wrapping = new Compartment();
const wrap_if_narrow = () => narrow.matches ? EditorView.lineWrapping : [];

/* --- Places: the server's lines and columns count from 0 ------------------- */

const offset = (doc, {line, character}) => {
  const at = doc.line(Math.min(line + 1, doc.lines));
  return Math.min(at.from + character, at.to);
};
const position = (doc, at) => {
  const line = doc.lineAt(at);
  return {line: line.number - 1, character: at - line.from};
};

/* --- What is said of a text, as places in it --------------------------------- */

function colour_marks(doc, legend, tokens) {
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
  return Decoration.set(marks, true);
}

const SEVERITY = ['', 'error', 'warning', 'info', 'hint'];

function problems(doc, diagnostics) {
  return diagnostics.map((d) => ({
    from: offset(doc, d.range.start),
    to: Math.max(offset(doc, d.range.end), offset(doc, d.range.start)),
    severity: SEVERITY[d.severity ?? 1], message: d.message,
    source: d.code && String(d.code), told: d,
  })).sort((a, b) => a.from - b.from);
}

// A button that mends a mistake: a code action of the server.  Where its changes
// are is told from the place of the mistake, which moves with the text.
function mending(doc, problem, {title, edit}) {
  const distance = (place) => offset(doc, place) - problem.from;
  const changes = Object.values(edit.changes)[0].map(({range, newText}) => ({
    from: distance(range.start), to: distance(range.end), insert: newText}));
  return {name: title, apply: (view, at) => view.dispatch({
    changes: changes.map(({from, to, insert}) =>
      ({from: at + from, to: at + to, insert}))})};
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function problem_lines(doc, list) {
  return list.map((p) => {
    const {line, character} = position(doc, p.from);
    return `${line + 1}:${character + 1}: ${p.severity} ${p.source}: ${p.message}`;
  }).join('\n');
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

// The values that `rly watch --once` printed, each beside its line, after them
// what the cells that the line makes held; and all that was printed as text.
const CELL = /^(cell(, 1 in \d+ of \d+)?: |\d+ more cells?$)/;
function value_marks(doc, out) {
  const beside = new Map(), all = [];
  for (const line of out.split('\n')) {
    const at = /^\/main\.rly:(\d+): (.*)$/.exec(line);
    if (at && +at[1] <= doc.lines) {
      const was = CELL.test(at[2]) ? beside.get(+at[1]) : undefined;
      beside.set(+at[1], was === undefined ? at[2] : was + NEXT + at[2]);
    }
    all.push(at ? `${at[1]}: ${at[2]}` : line);
  }
  const marks = [...beside].sort(([a], [b]) => a - b).map(([line, text]) =>
    Decoration.widget({widget: new Value(text), side: 1})
      .range(doc.line(line).to));
  return {marks: Decoration.set(marks), text: all.join('\n')};
}

const KINDS = {2: 'method', 3: 'function', 5: 'property', 6: 'variable', 7: 'class',
               12: 'constant', 13: 'enum', 14: 'keyword', 20: 'enum',
               21: 'constant', 25: 'type'};

/* --- The editor ---------------------------------------------------------------
 *
 * `engines` has `language`, which answers questions about the text, and
 * `runner`, which runs it; before they are there, the text is only edited.
 * `given` are the values of params (given.js); there may be none.  `on` has
 * functions that are told how it goes:
 *
 *   say(text)              in a word, for who waits
 *   checked(version)       colours and mistakes are there
 *   mistakes(text)         it is refused; a line for each mistake
 *   running(whether)       a run takes longer than an instant
 *   after()                runs more after the program, such as a view's command
 *   ran(version, text, err, what)   what it printed, and what after() gave
 *   follows()              whether a look depends on the cursor's line          */
export class Editor {
  constructor({parent, text, label, engines, on, given, keys = []}) {
    Object.assign(this, {engines, on, given, version: 0});
    this.view = new EditorView({
      parent,
      state: EditorState.create({doc: text, extensions: [
        lineNumbers(), lintGutter(), history(), drawSelection(), closeBrackets(),
        highlightActiveLine(), highlightActiveLineGutter(),
        highlightSelectionMatches(), EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({
          'aria-label': label,
          'aria-description': 'Tab indents. Escape, then Tab, leaves the text.',
          tabindex: '0',
        }),
        keymap.of([
          {key: 'Shift-Alt-f', run: () => (this.format(), true)},
          {key: 'Mod-.', run: () => (this.stop(), true)},
          {key: 'Alt-Enter', run: () => this.mend()}, ...keys,
          ...completionKeymap, ...lintKeymap, ...searchKeymap,
          ...historyKeymap, ...defaultKeymap, indentWithTab,
        ]),
        autocompletion({override: [(context) => this.complete(context)]}),
        hoverTooltip((view, at) => this.hover(at), {hoverTime: 250}),
        colours.field, values.field, sliders, wrapping.of(wrap_if_narrow()),
        EditorView.updateListener.of((u) => {
          const moved = u.startState.doc.lineAt(u.startState.selection.main.head)
            .number !== this.line;
          if (!u.docChanged && !(moved && this.on.follows?.())) return;
          clearTimeout(this.timer);
          this.timer = setTimeout(() => this.look(), PAUSE);
        }),
      ]}),
    });
    addEventListener('theme', () => this.look());
    narrow.addEventListener('change', () => this.view.dispatch({
      effects: wrapping.reconfigure(wrap_if_narrow())}));
  }

  get doc() {
    return this.view.state.doc;
  }

  get source() {
    return this.doc.toString();
  }

  set source(insert) {
    this.view.dispatch({changes: {from: 0, to: this.doc.length, insert}});
  }

  // Where the cursor is.
  get at() {
    return this.view.state.selection.main.head;
  }

  set at(at) {
    this.view.dispatch({selection: {anchor: Math.min(at, this.doc.length)},
                        scrollIntoView: true});
  }

  get line() {
    return this.doc.lineAt(this.at).number;
  }

  files() {
    return files_of(this.source, this.given);
  }

  // The engine for questions about the text as it is now; null before it is there.
  // A question about a newer text ends those about older ones.  One about the same
  // text waits for them: a completion may come while the text is looked at.
  asks() {
    const {language} = this.engines;
    if (!language) return null;
    if (this.asked !== this.doc) language.stop();
    this.asked = this.doc;
    return language;
  }

  ask(...questions) {
    const language = this.asks();
    return language && ask(language, this.source, this.files(), ...questions);
  }

  // Looks at the text anew: colours, mistakes and values, each as soon as it is
  // there.  A newer text ends what is under way for this one.
  async look() {
    const {runner} = this.engines;
    if (!runner) return;
    runner.stop();
    this.asks();
    const {said, shown} = look_at(this.engines, this.source, this.given);
    const now = {version: ++this.version, doc: this.doc, begun: performance.now(),
                 wrong: [], failed: []};
    await this.show_run(now, shown, this.show_check(now, said));
  }

  // Whether a look is over: by a newer one, or by an edit, which is looked at after
  // PAUSE; what is known of places in the old text would not fit the new one.
  is_old({version, doc}) {
    return version !== this.version || doc !== this.doc;
  }

  underline({wrong, failed}) {
    this.view.dispatch(setDiagnostics(this.view.state, [...wrong, ...failed]));
  }

  show_colours(doc, {legend, answers}) {
    this.view.dispatch({effects: colours.set.of(
      colour_marks(doc, legend, answers[0]?.data ?? []))});
  }

  // Colours alone, of a text that is a part of a program and would not check.
  async colour() {
    const {doc} = this, said = await this.ask(['semanticTokens/full', {}]);
    if (said && doc === this.doc) this.show_colours(doc, said);
  }

  // Whether the text has no mistakes.
  async show_check(now, question) {
    const said = await question;
    if (!said || this.is_old(now)) return false;
    const {doc} = now;
    now.wrong = problems(doc, said.diagnostics);
    now.errors = now.wrong.filter((p) => p.severity === 'error').length;
    this.show_colours(doc, said);
    this.underline(now);
    const mistakes = now.errors === 1 ? '1 mistake' : `${now.errors} mistakes`;
    if (now.errors || !now.shown)
      this.on.say(`${now.errors ? mistakes : 'Checked'} after ` +
                  `${(performance.now() - now.begun).toFixed(0)} ms.`);
    if (now.errors) {
      this.view.dispatch({effects: values.set.of(Decoration.none)});
      this.on.mistakes(problem_lines(doc, now.wrong));
      this.offer(now);
    }
    this.on.checked?.(now.version);
    return !now.errors;
  }

  // Gives mistakes the buttons that mend them.  The server checks the text with
  // each action, which takes longer than the check, so this comes after it.
  async offer(now) {
    const {doc, wrong} = now;
    const last = wrong[Math.min(wrong.length, MENDED_MOST) - 1];
    const said = await this.ask(['codeAction', {
      range: {start: position(doc, 0), end: position(doc, last.to)},
      context: {diagnostics: []}}]);
    if (!said?.answers[0]?.length || this.is_old(now)) return;
    for (const action of said.answers[0]) {
      const problem = wrong.find(({told}) => same(told, action.diagnostics[0]));
      if (problem) (problem.actions ??= []).push(mending(doc, problem, action));
    }
    this.underline(now);
  }

  // Mends the mistake at the cursor, or else the first of its line.
  mend() {
    const line = this.doc.line(this.line), found = [];
    forEachDiagnostic(this.view.state, (d, from, to) => {
      if (d.actions?.length && from <= line.to && to >= line.from)
        found.push({d, from, to});
    });
    const here = found.find(({from, to}) => from <= this.at && this.at <= to);
    const {d, from, to} = here ?? found[0] ?? {};
    d?.actions[0].apply(this.view, from, to);
    return !!d;
  }

  async show_run(now, run, check) {
    const waits = setTimeout(() => {
      if (this.is_old(now) || now.errors) return;
      this.on.running(true);
      this.on.say('Running.');
    }, 150);
    const shown = await run;
    clearTimeout(waits);
    if (!this.is_old(now)) this.on.running(false);
    // A text that did not run, or not to its end, may have mistakes, which the
    // check tells.
    if (!shown || this.is_old(now) || shown.status && !await check) return;
    now.shown = true;
    const {doc} = now, {marks, text} = value_marks(doc, shown.out);
    now.failed = run_problems(doc, shown.err);
    this.view.dispatch({effects: values.set.of(marks)});
    this.underline(now);
    const took = performance.now() - now.begun;
    const what = await this.on.after?.();
    if (this.is_old(now)) return;
    this.on.ran(now.version, text, shown.err, what);
    const ran = shown.ran ? `, ${shown.ran} steps` : '';
    this.on.say(`Run in ${took.toFixed(0)} ms${ran}.`);
  }

  stop() {
    if (!this.engines.runner?.busy()) return;
    this.version++;
    this.engines.runner.stop();
    this.on.running(false);
    this.on.say('Stopped.');
    this.on.stopped?.(this.version);
  }

  async hover(at) {
    const said = await this.ask(['hover', {position: position(this.doc, at)}]);
    const answer = said?.answers[0];
    if (!answer) return null;
    const range = answer.range;
    return {
      pos: range ? offset(this.doc, range.start) : at,
      end: range ? offset(this.doc, range.end) : at,
      create() {
        const dom = document.createElement('div');
        dom.className = 'hover';
        dom.textContent = answer.contents.value.replace(/^```.*\n?/gm, '').trim();
        return {dom};
      },
    };
  }

  async complete(context) {
    const word = context.matchBefore(/[@%]?[\w.]*/);
    const asked = word.from < word.to || context.explicit ||
      '(,="'.includes(context.state.sliceDoc(context.pos - 1, context.pos));
    if (!asked) return null;
    const doc = context.state.doc;
    const said = await this.ask(['completion', {
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

  async format() {
    const doc = this.doc;
    const said = await this.ask(['formatting', {
      options: {tabSize: 2, insertSpaces: true}}]);
    const edits = said?.answers[0];
    if (doc !== this.doc) return;
    if (!edits) return this.on.say('A program with mistakes is not formatted.');
    this.view.dispatch({changes: edits.map((e) => ({
      from: offset(doc, e.range.start), to: offset(doc, e.range.end),
      insert: e.newText}))});
  }
}
