// How a page begins, without a browser: the milliseconds to compile the first
// module, to check and run the first text, and to check a change of it; how much
// memory an instance begins with; and how often the second module was called for.
// No example of the page needs it.
//
//   node tests/web/begin.mjs MODULE.wasm
import {readFileSync} from 'node:fs';

import {capture} from '../../web/host/capture.mjs';
import {memory_files} from '../../web/host/files-memory.mjs';
import {instance_of, later_of} from '../../web/host/parts.mjs';
import {system} from '../../web/host/wasi.mjs';
import {examples} from '../../web/page/examples.js';
import {ask} from '../../web/page/language.js';
import {files_of, keeps_no_value, words_of} from '../../web/page/look.js';

const [path] = process.argv.slice(2);
const took = async (what) => {
  const begun = performance.now();
  await what();
  return `${(performance.now() - begun).toFixed(1)} ms`;
};
const load = (part) => new WebAssembly.Module(readFileSync(part));

let module, calls = 0, memory;

const engine = {
  async run(words, {files = {}, input = []} = {}) {
    const c = capture(input);
    const s = system({
      args: ['rly', ...words], env: {PWD: '/', HOME: '/tmp'},
      files: memory_files(files), streams: c.streams,
      random: (bytes) => crypto.getRandomValues(bytes),
    });
    const later = () => (calls++, load(later_of(path)));
    const instance = instance_of(module, later, {
      ...s.imports, rly: {stack: () => 1 << 20},
    });
    memory ??= instance.exports.memory.buffer.byteLength;
    s.start(instance);
    const [out, err] = c.text();
    return {out, err};
  },
};

async function check(text) {
  const said = await ask(engine, text, {}, ['semanticTokens/full', {}]);
  if (said.diagnostics.length) throw new Error(JSON.stringify(said));
}
async function run(text) {
  const {err} = await engine.run(words_of(keeps_no_value), {files: files_of(text)});
  if (err) throw new Error(err);
}

const [text, ...others] = Object.values(examples);
console.log(`compiled: ${await took(() => module = load(path))}`);
console.log(`checked: ${await took(() => check(text))}`);
console.log(`run: ${await took(() => run(text))}`);
for (const other of others) {
  await check(other);
  await run(other);
}
console.log(`checked again: ${await took(() => check(`${text}// more\n`))}`);
console.log(`an instance begins with ${memory} bytes`);
console.log(`the second module was called for ${calls} times`);
