// The steps of a program: the page of `rly step --html` in a panel, made anew
// when the file is saved.
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';

import {ViewColumn, window} from 'vscode';

import {rly} from './program.js';

const escaped = (text) => text.replace(/[&<>]/g, (c) =>
  ({'&': '&amp;', '<': '&lt;', '>': '&gt;'})[c]);

// The page of a file's steps, or, where rly writes none, a page of its mistakes.
async function page(file) {
  const folder = await mkdtemp(join(tmpdir(), 'rly-'));
  try {
    const to = join(folder, 'steps.html');
    const {err} = await rly('step', '--html', to, file);
    return await readFile(to, 'utf8').catch(() => `<pre>${escaped(err)}</pre>`);
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
}

export class Steps {
  panels = new Map(); // by file

  async show(file) {
    const panel = this.panels.get(file) ?? this.open(file);
    panel.reveal(undefined, true);
    panel.webview.html = await page(file);
  }

  open(file) {
    const panel = window.createWebviewPanel(
      'rly.steps', `Steps of ${basename(file)}`,
      {viewColumn: ViewColumn.Beside, preserveFocus: true},
      {enableScripts: true, localResourceRoots: []});
    this.panels.set(file, panel);
    panel.onDidDispose(() => this.panels.delete(file));
    return panel;
  }

  async saved(file) {
    if (this.panels.has(file)) await this.show(file);
  }

  dispose() {
    for (const panel of [...this.panels.values()]) panel.dispose();
  }
}
