// The same words to the program for this machine and to that for WebAssembly:
// what they print, their exit status and the files that they write must be the
// same bytes.
//
//   node tests/web/agree.mjs NATIVE MODULE.wasm [--one-in N]
//   node tests/web/agree.mjs NATIVE CHROMIUM [--one-in N]
//
// The second runs the module of build/web/ in a browser, whose stack is smaller.  A
// program that nests too deep for that stack ends there as out of memory
// (docs/WEB.md); such a run is named and counted apart from the differences.
//
// But for one thing: which NaN an operation makes, its sign and its payload, is
// the processor's to choose, here as there; so in files NaNs are one.
//
// Over all programs of both conformance suites, of tests/run and of the
// examples: `run`, `check`, `fmt` and `dump` of each.  Prints a line for each
// difference, and at the end how many there were.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync}
  from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {Worker, isMainThread, workerData} from 'node:worker_threads';

import {capture} from '../../web/host/capture.mjs';
import {files} from '../../web/host/files-node.mjs';
import {instance_of, later_of} from '../../web/host/parts.mjs';
import {system} from '../../web/host/wasi.mjs';
import {browser} from './browser.mjs';

const STACK = 512, FRAMES = 128; // megabytes, as in web/host/rly.mjs

const TOO_DEEP = /E0701|nests deeper than the browser/;

const NANS = { // by dtype: the bytes, and the bits of infinity, above which NaNs are
  F64: [8, 0x7ff0000000000000n], F32: [4, 0x7f800000n], F16: [2, 0x7c00n],
  BF16: [2, 0x7f80n],
};

// A safetensors file whose NaNs are all the same.
function plain(bytes) {
  const size = Number(bytes.readBigUInt64LE(0)), begin = 8 + size;
  const header = JSON.parse(bytes.subarray(8, begin));
  delete header.__metadata__;
  for (const {dtype, data_offsets: [from, to]} of Object.values(header)) {
    const [wide, infinity] = NANS[dtype] ?? [];
    for (let at = begin + from; wide && at < begin + to; at += wide) {
      let bits = 0n;
      for (let i = wide; i-- > 0;) bits = bits << 8n | BigInt(bytes[at + i]);
      if ((bits & (1n << BigInt(8 * wide - 1)) - 1n) > infinity)
        bytes.fill(0xff, at, at + wide);
    }
  }
  return bytes.toString('latin1');
}

function programs_below(folder) {
  return readdirSync(folder, {withFileTypes: true}).flatMap((e) =>
    e.isDirectory() ? programs_below(join(folder, e.name))
      : e.name.endsWith('.rly') ? [join(folder, e.name)] : []).sort();
}

// The module of a path under node: a function of words.
function in_node(path) {
  const [module, later] = [path, later_of(path)]
    .map((part) => new WebAssembly.Module(readFileSync(part)));
  return (words, env) => {
    const c = capture();
    const s = system({
      args: ['rly', ...words], env: {...env, PWD: process.cwd()}, files,
      streams: c.streams, random: (b) => crypto.getRandomValues(b),
    });
    const instance = instance_of(module, () => later, {
      ...s.imports, rly: {stack: () => FRAMES * 2 ** 20},
    });
    let status;
    try {
      status = s.start(instance);
    } catch (e) {
      status = String(e);
    }
    return [status, ...c.text()];
  };
}

// The module in a browser: a function of words, the environment (which a browser
// has not) and the file to be written, if any.  The page is sent the files that
// the words name; for a program with imports, all programs of its folder.
function in_browser({run}) {
  return async (words, env, written) => {
    const own = words.filter((word) => existsSync(word));
    const given = own.flatMap((path) => path.endsWith('.rly') &&
      /^import /m.test(readFileSync(path)) ? programs_below(dirname(path)) : [path]);
    const tree = Object.fromEntries(
      given.map((path) => [`/${path}`, readFileSync(path)]));
    if (written) tree[written] = []; // for its folder
    const made = await run(words, tree, written ? [written] : []);
    if (made.made[written]?.length) writeFileSync(written, made.made[written]);
    return [made.status, made.out, made.err];
  };
}

async function main(native, path, ...flags) {
  const one_in = flags[0] === '--one-in' ? +flags[1] : 1;
  const out = mkdtempSync(join(tmpdir(), 'rly-web-'));
  const env = {PATH: process.env.PATH, HOME: out, RLY_ISA: ''};
  const page = path.endsWith('.wasm') ? null : browser(path);
  const in_module = page ? in_browser(page) : in_node(path);

  function on_machine(words) {
    const r = spawnSync(native, words, {env, input: '', maxBuffer: 2 ** 30});
    return [r.status, String(r.stdout), String(r.stderr)];
  }

  let count = 0, wrong = 0, deep = 0;
  async function compare(words, written) {
    const results = [];
    for (const run of [on_machine, in_module]) {
      if (written) rmSync(written, {force: true});
      const result = [...await run(words, env, written)];
      if (written && existsSync(written))
        result.push(plain(readFileSync(written)));
      results.push(JSON.stringify(result));
    }
    count++;
    if (results[0] === results[1]) return;
    if (page && TOO_DEEP.test(results[1])) {
      deep++;
      console.log(`too deep for a browser: rly ${words.join(' ')}`);
      return;
    }
    wrong++;
    console.log(`not the same: rly ${words.join(' ')}`);
    for (const r of results) console.log(`  ${r.slice(0, 600)}`);
  }

  const all = ['tests/conformance', 'tests/run', 'examples']
    .flatMap(programs_below).filter((_, i) => i % one_in === 0);
  for (const file of all) {
    const given = file.replace(/\.rly$/, '.safetensors');
    if (file.includes('/conformance/ops/') && existsSync(given)) {
      const made = join(out, 'made.safetensors');
      await compare(['run', file, '--inputs', given, '--outputs', made], made);
    } else {
      await compare(['run', '--timeout', '0', file]);
    }
    await compare(['check', '--types', '--effects', file]);
    await compare(['fmt', file]);
    await compare(['dump', '--ir', file]);
  }
  rmSync(out, {recursive: true});
  await page?.end();
  console.log(`${count} comparisons of ${all.length} programs, ` +
              `${wrong} differences${page ? `, ${deep} too deep` : ''}`);
  return wrong ? 1 : 0;
}

if (isMainThread && process.argv[3].endsWith('.wasm')) {
  new Worker(new URL(import.meta.url), {
    workerData: process.argv.slice(2), resourceLimits: {stackSizeMb: STACK},
  }).on('exit', (status) => process.exitCode = status);
} else {
  process.exit(await main(...workerData ?? process.argv.slice(2)));
}
