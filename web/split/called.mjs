// Which functions of a module are called by a visitor's first programs, as a
// profile of Binaryen: an instrumented module notes them, from the page's own
// questions (page/language.js) and runs about its examples and those of docs/.
import {readFileSync} from 'node:fs';

import {capture} from '../host/capture.mjs';
import {memory_files} from '../host/files-memory.mjs';
import {system} from '../host/wasi.mjs';
import {examples} from '../page/examples.js';
import {ask} from '../page/language.js';
import {files_of, keeps_no_value, look_at} from '../page/look.js';

const HASH = 8;
const FRAMES = 1 << 20; // as in page/worker.js
// Where an instrumented module writes its profile: into the memory of a run that
// has ended.
const AT = 1 << 16, ROOM = 1 << 18;

// Texts as one types them: the examples, some that are not whole, one that is
// wrong, one whose run fails.
const PAGES = ['README', 'docs/LANGUAGE'];
const texts = [
  ...Object.values(examples),
  ...PAGES.flatMap((page) => readFileSync(`${page}.md`, 'utf8')
    .match(/^```rly\n[^]*?^```/gm).map((block) => block.slice(7, -3))),
  'let %x = [1f, 2f', 'nn.softm', '@fol', '1f + 2;\n%y;\n', '1 / 0;\n',
  '[1, 2] * 2; 1 < 2; {"a"}; (1, 2.5, true);',
];

class Runner {
  constructor(bytes) {
    this.module = new WebAssembly.Module(bytes);
    this.profiles = [];
  }

  // As Engine.run() of page/engine.js, here.
  async run(words, {files = {}, input = [], wanted = []} = {}) {
    const c = capture(input), tree = memory_files(files);
    const s = system({
      args: ['rly', ...words], env: {PWD: '/', HOME: '/tmp'},
      files: tree, streams: c.streams, random: (b) => b.fill(7),
    });
    const instance = new WebAssembly.Instance(this.module, {
      ...s.imports, rly: {stack: () => FRAMES},
    });
    const status = s.start(instance);
    const size = instance.exports.__write_profile(AT, ROOM);
    if (size > ROOM) throw new Error(`a profile of ${size} bytes`);
    this.profiles.push(
      new Uint8Array(instance.exports.memory.buffer, AT, size).slice());
    const [out, err] = c.text();
    const made = Object.fromEntries(wanted.map((path) => [path, tree.get(path)]));
    return {status, out, err, made};
  }
}

// Bytes: the module's hash, and for each function whether it was called.
export async function called(bytes) {
  const runner = new Runner(bytes);
  for (const text of texts) {
    const files = files_of(text);
    const position = {line: 0, character: Math.min(text.length, 6)};
    const lines = text.split('\n');
    const end = {line: lines.length - 1, character: lines.at(-1).length};
    // Twice: the second run has what the first one kept.
    for (let i = 0; i < 2; i++) {
      const {said, shown} = look_at({language: runner, runner}, text, keeps_no_value);
      await said;
      await shown;
    }
    await ask(runner, text, files, ['hover', {position}],
              ['completion', {position}], ['completion', {position: end}],
              ['formatting', {options: {tabSize: 2, insertSpaces: true}}]);
  }
  const [sum, ...others] = runner.profiles;
  for (const other of others)
    for (let i = HASH; i < sum.length; i++) sum[i] |= other[i];
  return sum;
}
