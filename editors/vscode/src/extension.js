// The extension of VS Code: a client of `rly lsp`, and the commands that the
// server's lenses name.  program.js runs the program, values.js shows values
// beside lines, steps.js shows steps.
import {commands, ProcessExecution, Task, TaskScope, tasks, Uri, window,
        workspace} from 'vscode';
import {LanguageClient} from 'vscode-languageclient/node';

import {program, setting} from './program.js';
import {Steps} from './steps.js';
import {Values} from './values.js';

let client;

async function start() {
  const command = program(), args = ['lsp', ...setting('flags')];
  client = new LanguageClient('rly', 'rly', {command, args}, {
    documentSelector: [{scheme: 'file', language: 'rly'},
                       {scheme: 'untitled', language: 'rly'}],
  });
  try {
    await client.start();
  } catch {
    window.showErrorMessage(`rly: \`${command} lsp\` did not start. ` +
                            'The setting rly.path names the program.');
  }
}

async function stop() {
  const before = client;
  client = undefined;
  if (before?.isRunning()) await before.stop();
}

// Saves the document that a lens or a menu names, or else that of the active editor.
async function saved(uri) {
  const document = uri
    ? await workspace.openTextDocument(uri instanceof Uri ? uri : Uri.parse(uri))
    : window.activeTextEditor?.document;
  if (document?.languageId !== 'rly') return undefined;
  return await document.save() ? document : undefined;
}

async function run(uri) {
  const document = await saved(uri);
  if (!document) return;
  const words = new ProcessExecution(program(), ['run', document.fileName]);
  await tasks.executeTask(new Task({type: 'rly'}, TaskScope.Workspace, 'run',
                                   'rly', words, '$rly'));
}

export async function activate(context) {
  const steps = new Steps(), values = new Values();
  context.subscriptions.push(
    steps, values,
    commands.registerCommand('rly.run', run),
    commands.registerCommand('rly.step', async (uri) => {
      const document = await saved(uri);
      if (document) await steps.show(document.fileName);
    }),
    commands.registerCommand('rly.values', async () => {
      const document = await saved();
      if (document) await values.toggle(document.fileName);
    }),
    commands.registerCommand('rly.restart', async () => {
      await stop();
      await start();
    }),
    workspace.onDidSaveTextDocument(async ({languageId, fileName}) => {
      if (languageId !== 'rly') return;
      await Promise.all([steps.saved(fileName), values.saved(fileName)]);
    }));
  await start();
}

export const deactivate = stop;
