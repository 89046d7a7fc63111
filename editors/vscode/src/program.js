// The program `rly`, as a command that is run to its end.
import {execFile} from 'node:child_process';

import {workspace} from 'vscode';

export const setting = (name) => workspace.getConfiguration('rly').get(name);
export const program = () => setting('path');

const MOST = 64 << 20; // bytes of output

// What a command of rly prints, and its exit status; null: it was ended, or
// could not be started.
export function rly(args) {
  return new Promise((done) =>
    execFile(program(), args, {maxBuffer: MOST}, (error, out, err) => {
      const status = error ? error.code : 0;
      done({out, err: err || (error && !out ? error.message : ''),
            status: typeof status === 'number' ? status : null});
    }));
}
