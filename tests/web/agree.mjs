// The same words to the program for this machine and to that for WebAssembly:
// what they print, their exit status and the files that they write must be the
// same bytes.
//
//   node tests/web/agree.mjs NATIVE MODULE.wasm [--one-in N]
//
// But for one thing: which NaN an operation makes, its sign and its payload, is
// the processor's to choose, here as there; so in files NaNs are one.
//
// Over all programs of both conformance suites, of tests/run and of the
// examples: `run`, `check`, `fmt` and `dump` of each.  Prints a line for each
// difference, and at the end how many there were.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync}
  from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Worker, isMainThread, workerData} from 'node:worker_threads';

import {capture} from '../../web/host/capture.mjs';
import {files} from '../../web/host/files-node.mjs';
import {instance_of, later_of} from '../../web/host/parts.mjs';
import {system} from '../../web/host/wasi.mjs';

const STACK = 512, FRAMES = 128; // megabytes, as in web/host/rly.mjs

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

function main(native, path, ...flags) {
  const [module, later] = [path, later_of(path)]
    .map((part) => new WebAssembly.Module(readFileSync(part)));
  const one_in = flags[0] === '--one-in' ? +flags[1] : 1;
  const out = mkdtempSync(join(tmpdir(), 'rly-web-'));
  const env = {PATH: process.env.PATH, HOME: out, RLY_ISA: ''};

  function in_module(words) {
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
  }
  function on_machine(words) {
    const r = spawnSync(native, words, {env, input: '', maxBuffer: 2 ** 30});
    return [r.status, String(r.stdout), String(r.stderr)];
  }

  let count = 0, wrong = 0;
  function compare(words, written) {
    const results = [];
    for (const run of [on_machine, in_module]) {
      if (written) rmSync(written, {force: true});
      const result = run(words);
      if (written && existsSync(written))
        result.push(plain(readFileSync(written)));
      results.push(JSON.stringify(result));
    }
    count++;
    if (results[0] === results[1]) return;
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
      compare(['run', file, '--inputs', given, '--outputs', made], made);
    } else {
      compare(['run', '--timeout', '0', file]);
    }
    compare(['check', '--types', '--effects', file]);
    compare(['fmt', file]);
    compare(['dump', '--ir', file]);
  }
  rmSync(out, {recursive: true});
  console.log(`${count} comparisons of ${all.length} programs, ` +
              `${wrong} differences`);
  return wrong ? 1 : 0;
}

if (isMainThread) {
  new Worker(new URL(import.meta.url), {
    workerData: process.argv.slice(2), resourceLimits: {stackSizeMb: STACK},
  }).on('exit', (status) => process.exitCode = status);
} else {
  process.exit(main(...workerData));
}
