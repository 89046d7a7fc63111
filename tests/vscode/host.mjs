// Runs the bundled extension as VS Code would, over a stand-in for VS Code:
//
//   node tests/vscode/host.mjs EXTENSION.js RLY FILE.rly
//
// The client is the real one, and so is the server that it starts.  What the
// extension does to the editor is a line on stdout: a command that it registers,
// diagnostics that it shows, a task, a panel's page, decorations.
import {readFileSync} from 'node:fs';
import Module, {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [extension, program, file] = process.argv.slice(2).map((p) => resolve(p));
const say = (...words) => console.log(words.join(' '));

class Position {
  constructor(line, character) { Object.assign(this, {line, character}); }
}
class Range {
  constructor(a, b, c, d) {
    this.start = a instanceof Position ? a : new Position(a, b);
    this.end = a instanceof Position ? b : new Position(c, d);
  }
}
class Uri {
  constructor(text) {
    Object.assign(this, {text, scheme: 'file', path: decodeURI(text.slice(7))});
  }
  static parse(text) { return new Uri(text); }
  static file(path) { return new Uri(pathToFileURL(path).href); }
  get fsPath() { return this.path; }
  toString() { return this.text; }
}
class EventEmitter {
  listeners = [];
  event = (f) => (this.listeners.push(f), {dispose() {}});
  fire(e) { for (const f of this.listeners) f(e); }
  dispose() {}
}
class CancellationTokenSource {
  token = {isCancellationRequested: false, onCancellationRequested: none};
  cancel() {}
  dispose() {}
}
class Disposable {
  constructor(end) { this.dispose = end ?? (() => {}); }
}
class CodeLens {
  constructor(range, command) { Object.assign(this, {range, command}); }
}
class CodeActionKind {
  static Empty = new CodeActionKind('');
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(`${this.value}.${part}`); }
}
function none() { return {dispose() {}}; }

const text = readFileSync(file, 'utf8'), starts = [0];
for (const line of text.matchAll(/\n/g)) starts.push(line.index + 1);
const document = {
  uri: Uri.file(file), fileName: file, languageId: 'rly', version: 1,
  isClosed: false, lineCount: starts.length, getText: () => text,
  save: async () => true,
};
const saves = new EventEmitter();
const registered = new Map();
let lenses;
const editor = {document, setDecorations: (_, all) => all.forEach((d) =>
  say('beside', d.range.start.line, d.renderOptions.after.contentText))};

// Whatever else the client's library looks for is a class that does nothing.
const anything = (own) => new Proxy(own, {
  get: (o, name) => name in o ? o[name] : (o[name] = class {}),
  has: () => true,
});
// Members that are not named here do nothing.
const room = (own) => new Proxy(own, {get: (o, name) => o[name] ?? none});

const settings = {path: program, flags: []};
const vscode = anything({
  Position, Range, Uri, EventEmitter, CancellationTokenSource,
  CodeActionKind, CodeLens, Disposable,
  ViewColumn: {Beside: -2}, TaskScope: {Workspace: 2},
  DiagnosticSeverity: {Error: 0, Warning: 1, Information: 2, Hint: 3},
  Diagnostic: class {
    constructor(range, message) { Object.assign(this, {range, message}); }
  },
  ProcessExecution: class {
    constructor(command, args) { Object.assign(this, {command, args}); }
  },
  Task: class {
    constructor(kind, scope, name, source, execution, matcher) {
      Object.assign(this, {name, source, execution, matcher});
    }
  },
  MarkdownString: class {
    appendCodeblock() { return this; }
  },
  version: '1.82.0',
  env: room({language: 'en', appName: 'a test'}),
  extensions: room({getExtension: () => undefined}),
  commands: room({
    registerCommand(name, run) {
      say('command', name);
      registered.set(name, run);
      return none();
    },
  }),
  tasks: room({executeTask: async ({execution, matcher}) =>
    say('task', execution.args[0], execution.args[1] === file, matcher)}),
  languages: room({
    match: () => 10,
    registerCodeLensProvider(_, provider) {
      lenses = provider;
      return none();
    },
    createDiagnosticCollection: () => ({
      set: (uri, all) => all.forEach((d) =>
        say('diagnostic', d.range.start.line, d.code?.value ?? d.code)),
      delete() {}, clear() {}, dispose() {}, forEach() {}, has: () => false,
    }),
  }),
  window: room({
    activeTextEditor: editor, visibleTextEditors: [editor],
    visibleNotebookEditors: [],
    tabGroups: room({all: [{tabs: []}]}),
    createOutputChannel: () => room({
      append: (words) => process.env.VERBOSE && say(words),
      appendLine: (words) => process.env.VERBOSE && say(words)}),
    showErrorMessage: async (words) => say('error', words),
    createWebviewPanel: (kind, title) => ({
      onDidDispose: none, reveal() {}, dispose() {},
      webview: {set html(page) {
        say('page', title, page.includes('id="heats"'), page.includes('<pre>'));
      }},
    }),
  }),
  workspace: room({
    textDocuments: [document], notebookDocuments: [], workspaceFolders: [],
    isTrusted: true,
    getConfiguration: () => ({get: (name, otherwise) =>
      settings[name] ?? otherwise, inspect: () => undefined}),
    openTextDocument: async () => document,
    onDidSaveTextDocument: saves.event,
    createFileSystemWatcher: () => room({}),
  }),
});

const load = Module._load;
Module._load = (name, ...more) =>
  name === 'vscode' ? vscode : load(name, ...more);
const own = createRequire(import.meta.url)(extension);
const context = {subscriptions: []};
await own.activate(context);
const run = registered.get.bind(registered);
for (const {command} of await lenses?.provideCodeLenses(
  document, new CancellationTokenSource().token) ?? []) {
  say('lens', command.title);
  await run(command.command)(...command.arguments);
}
await run('rly.values')();
await Promise.all(saves.listeners.map((f) => f(document)));
await run('rly.restart')();
await own.deactivate();
for (const one of context.subscriptions) one.dispose();
say('over');
