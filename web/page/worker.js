// The engine's thread: runs the program with words, files and stdin, and posts
// back its exit status, what it printed and the files that were asked for.  Each
// run is a module of its own, so no run leaves anything to the next.
import {capture} from '../host/capture.mjs';
import {memory_files} from '../host/files-memory.mjs';
import {instance_of} from '../host/parts.mjs';
import {system} from '../host/wasi.mjs';

// A browser's own stack has about a megabyte, and no more of the module's frames
// in memory go with that (wasi/stack.c).  Where it ends first, the run ends.
const FRAMES = 1 << 20;

let module, later;

// The second module is fetched a while after the first answer, so that it is
// there when a program calls for it, and kept by the page for the next worker.
// A program that calls for it sooner waits.
const LATER = new URL('rly.later.wasm', self.location), PAUSE = 1000;
const early = new AbortController();
async function prefetch() {
  if (later) return;
  const answer = await fetch(LATER, {signal: early.signal});
  later ??= await WebAssembly.compile(await answer.arrayBuffer());
  postMessage({later});
}
// A browser lets a second request wait for the first one of an address, which
// goes on only when this thread reads it: so the first ends.
function fetched() {
  early.abort();
  const request = new XMLHttpRequest();
  request.open('GET', LATER, false);
  request.responseType = 'arraybuffer';
  request.send();
  return new WebAssembly.Module(request.response);
}

function run({words, files, input, wanted}) {
  const tree = memory_files(files);
  const c = capture(input);
  const s = system({
    args: ['rly', ...words], env: {PWD: '/', HOME: '/tmp'}, files: tree,
    streams: c.streams, random: (bytes) => crypto.getRandomValues(bytes),
  });
  const instance = instance_of(module, () => later ??= fetched(), {
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

let asked = false;

onmessage = ({data}) => {
  if (data.module) module = data.module;
  if (data.later) later = data.later;
  if (!data.words) return;
  postMessage({number: data.number, result: run(data)});
  // Who needs the module asks again, and is told why it is not there.
  if (!asked) setTimeout(() => prefetch().catch(() => {}), PAUSE);
  asked = true;
};
