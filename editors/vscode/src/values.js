// Values beside the lines of a file, as `rly watch` shows them, after each save.
import {MarkdownString, Range, ThemeColor, window} from 'vscode';

import {rly} from './program.js';

const LONGEST = 100; // characters of a value beside its line

// `rly watch --once` prints FILE:LINE: VALUE on a pipe; the further lines of a value
// follow as they are.  Gives a pair of line (from 0) and value for each, in order.
export function values_of(file, printed) {
  const all = [];
  for (const text of printed.split('\n')) {
    const own = text.startsWith(`${file}:`) &&
      /^(\d+): (.*)$/.exec(text.slice(file.length + 1));
    if (own) all.push([own[1] - 1, own[2]]);
    else if (all.length && text) all.at(-1)[1] += `\n${text}`;
  }
  return all;
}

export class Values {
  files = new Set();
  mark = window.createTextEditorDecorationType({after: {
    margin: '0 0 0 2em', color: new ThemeColor('editorCodeLens.foreground'),
  }});

  async toggle(file) {
    if (!this.files.delete(file)) this.files.add(file);
    await this.look(file);
  }

  async saved(file) {
    if (this.files.has(file)) await this.look(file);
  }

  async look(file) {
    const shown = this.files.has(file)
      ? values_of(file, (await rly('watch', '--once', file)).out) : [];
    for (const editor of window.visibleTextEditors)
      if (editor.document.fileName === file)
        editor.setDecorations(this.mark, shown.map(([line, value]) => ({
          range: new Range(line, Number.MAX_SAFE_INTEGER, line,
                           Number.MAX_SAFE_INTEGER),
          hoverMessage: new MarkdownString().appendCodeblock(value),
          renderOptions: {after: {
            contentText: value.replace(/\s+/g, ' ').slice(0, LONGEST)}},
        })));
  }

  dispose() {
    this.mark.dispose();
  }
}
