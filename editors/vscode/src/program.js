// Commands of the program `rly`, and the settings that say how to call it.
import {execFile} from 'node:child_process';

import {workspace} from 'vscode';

export const setting = (name) => workspace.getConfiguration('rly').get(name);
export const program = () => setting('path');

const MOST = 64 << 20; // bytes of output
const SECONDS = '10'; // for one command

// What a command of rly prints when it has ended.  Where it prints nothing since it
// could not be started, or was ended, `err` says so.
export function rly(name, ...args) {
  return new Promise((done) =>
    execFile(program(), [name, '--timeout', SECONDS, ...args], {maxBuffer: MOST},
             (error, out, err) =>
               done({out, err: err || (error && !out ? error.message : '')})));
}
