// Splits a module in two: the first holds the functions that first runs of a
// page call, the second the rest, and is loaded when one of these is called
// (host/parts.mjs).
//
//   node web/split/split.mjs WHOLE.wasm RELOCS.wasm FIRST.wasm LATER.wasm
//
// RELOCS is the same, linked with --emit-relocs.  The functions that first runs
// call are found by running them (called.mjs); Binaryen's wasm-split takes out
// the rest.  Data goes with the functions that can come to it: what no
// function of the first module can reach is filled in with the second.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {called} from './called.mjs';
import {DATA, body_of, data_of, data_section, functions, joined, module_of,
        sections, segments} from './module.mjs';
import {with_stubs} from './placeholders.mjs';

// What clang's code for wasm32 needs, and what engines of today all have.
const FEATURES = ['simd', 'mutable-globals', 'sign-ext']
  .map((name) => `--enable-${name}`);
const HASH = 8; // bytes of a profile before the functions' numbers

function tool(name, ...words) {
  execFileSync(name, [...words, ...FEATURES], {stdio: 'inherit'});
}

// The parts of segments within some ranges of addresses, and those without.
function divided(list, ranges) {
  const within = [], without = [];
  for (const {at, bytes} of list) {
    const end = at + bytes.length;
    const put = (to, low, high) => low < high &&
      to.push({at: low, bytes: bytes.subarray(low - at, high - at)});
    let done = at;
    for (const {low, high} of ranges) {
      if (high <= done || low >= end) continue;
      put(without, done, Math.min(low, end));
      put(within, Math.max(low, done), Math.min(high, end));
      done = Math.min(Math.max(high, done), end);
    }
    put(without, done, end);
  }
  return [within, without];
}

// The segments, with those that lie close together made one, and zeros in the
// gaps between them.  A gap is the end of a string, which is a zero, or data of
// the second module, which writes them over when it comes.  Compressed, the head
// of a segment is longer than such zeros.
function gathered(list) {
  const NEAR = 24; // bytes of the longest gap that is shorter than a head
  const runs = [];
  for (const s of list.sort((a, b) => a.at - b.at)) {
    const run = runs.at(-1);
    if (run && s.at - run.end <= NEAR)
      run.parts.push(new Uint8Array(s.at - run.end), s.bytes);
    else runs.push({at: s.at, parts: [s.bytes]});
    runs.at(-1).end = s.at + s.bytes.length;
  }
  return runs.map(({at, parts}) => ({at, bytes: joined(...parts)}));
}

// What two links of a program have in common if one can tell of the other.
const layout = (list) => JSON.stringify([
  functions(list).length,
  segments(body_of(list, DATA)).map((s) => [s.at, s.bytes.length])]);

async function split(whole, relocs, first, later, folder) {
  const path = (name) => join(folder, name);
  const list = sections(readFileSync(whole));
  writeFileSync(path('bare.wasm'), module_of(list));
  tool('wasm-split', '--instrument', path('bare.wasm'),
       '-o', path('counts.wasm'));
  const profile = await called(readFileSync(path('counts.wasm')));

  const numbers = new Uint32Array(profile.slice(HASH).buffer);
  writeFileSync(path('profile'), profile);
  tool('wasm-split', '--split', path('bare.wasm'), '--profile', path('profile'),
       '-o1', path('first.wasm'), '-o2', path('later.wasm'));

  const told = sections(readFileSync(relocs));
  if (layout(told) !== layout(list))
    throw new Error(`${relocs} is not laid out as ${whole} is`);
  const ranges = data_of(told, (i) => numbers[i]).sort((a, b) => a.low - b.low);
  const parts = with_stubs(sections(readFileSync(path('first.wasm'))));
  const data = parts.find((s) => s.id === DATA);
  const [here, there] = divided(segments(data.body), ranges);
  data.body = data_section(here).body;
  writeFileSync(path('first.wasm'), module_of(parts));
  const rest = sections(readFileSync(path('later.wasm')));
  writeFileSync(path('later.wasm'), module_of([...rest, data_section(there)]));

  // wasm-opt cuts segments where there are zeros, so they are gathered after it.
  tool('wasm-opt', '-Oz', path('first.wasm'), '-o', path('small.wasm'));
  const small = sections(readFileSync(path('small.wasm')));
  const held = small.find((s) => s.id === DATA);
  held.body = data_section(gathered(segments(held.body))).body;
  writeFileSync(first, module_of(small));
  tool('wasm-opt', '-Oz', path('later.wasm'), '-o', later);
  const size = (of) => of.reduce((n, s) => n + s.bytes.length, 0);
  const kept = numbers.filter((n) => n).length;
  console.log(`  first: ${kept} of ${numbers.length} functions, ` +
    `${size(here)} of ${size(here) + size(there)} bytes of data`);
}

const folder = mkdtempSync(join(tmpdir(), 'rly-split-'));
try {
  await split(...process.argv.slice(2), folder);
} finally {
  rmSync(folder, {recursive: true});
}
