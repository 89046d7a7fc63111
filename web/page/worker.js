// The engine's thread: runs the program with words, files and stdin, and posts
// back its exit status, what it printed and the files that were asked for.  Each
// run is a module of its own, so no run leaves anything to the next.
import {capture} from '../host/capture.mjs';
import {memory_files} from '../host/files-memory.mjs';
import {system} from '../host/wasi.mjs';

// A browser's own stack has about a megabyte, and no more of the module's frames
// in memory go with that (wasi/stack.c).  Where it ends first, the run ends.
const FRAMES = 1 << 20;

let module;

function run({words, files, input, wanted}) {
  const tree = memory_files(files);
  const c = capture(input);
  const s = system({
    args: ['rly', ...words], env: {PWD: '/', HOME: '/tmp'}, files: tree,
    streams: c.streams, random: (bytes) => crypto.getRandomValues(bytes),
  });
  const instance = new WebAssembly.Instance(module, {
    ...s.imports, rly: {stack: () => FRAMES},
  });
  let status, broken = '';
  try {
    status = s.start(instance);
  } catch (e) {
    status = 3;
    broken = e instanceof RangeError
      ? 'the program nests deeper than the browser has stack for\n' : `${e}\n`;
  }
  const [out, err] = c.text();
  const made = {};
  for (const path of wanted ?? []) made[path] = tree.get(path);
  return {status, out, err: err + broken, made};
}

onmessage = ({data}) => {
  if (data.module) module = data.module;
  else postMessage({number: data.number, result: run(data)});
};
