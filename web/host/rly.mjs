// rly as a WebAssembly module under node, on the files of this machine:
//
//   node web/host/rly.mjs MODULE.wasm [ARGUMENTS...]
//
// Beside MODULE.wasm lies MODULE.later.wasm, its second part (parts.mjs).
//
// The module runs in a worker, for only there a thread's stack can be chosen.
// The recursion of the program is on it (web/wasi/stack.c).
import {readFileSync} from 'node:fs';
import {Worker, isMainThread, workerData} from 'node:worker_threads';

import {files, opened} from './files-node.mjs';
import {instance_of, later_of} from './parts.mjs';
import {system} from './wasi.mjs';

// Megabytes of the thread's stack, and how many of them the module's frames in
// memory may take; what the engine keeps of a frame elsewhere takes the rest.
const STACK = 512, FRAMES = 128;

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: {args: process.argv.slice(2), folder: process.cwd()},
    resourceLimits: {stackSizeMb: STACK},
  });
  worker.on('error', (e) => {
    console.error(`rly: ${e.message}`);
    process.exitCode = 3;
  });
  worker.on('exit', (status) => process.exitCode ||= status);
} else {
  const [path, ...args] = workerData.args;
  const s = system({
    args: ['rly', ...args],
    env: {...process.env, PWD: workerData.folder},
    files,
    streams: [0, 1, 2].map((fd) => opened(fd)),
    random: (bytes) => crypto.getRandomValues(bytes),
  });
  const load = (part) => new WebAssembly.Module(readFileSync(part));
  const instance = instance_of(load(path), () => load(later_of(path)), {
    ...s.imports,
    rly: {stack: () => FRAMES * 2 ** 20},
  });
  process.exit(s.start(instance));
}
