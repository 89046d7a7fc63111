// wasm-split leaves an import for each function of the second module; a call is
// one of JavaScript.  Thousands of imports would take most of the time that
// an instance takes.  So each becomes a function of a few bytes here, which
// asks the one import `later` to load the second module, and then calls the
// function that the table holds in its place.
import {CODE, ELEMENT, FUNCTION, IMPORT, Reader, TYPE, body_of, fail, joined,
        number, signed} from './module.mjs';

const FUNC = 0, CALL = 0x10, CALL_INDIRECT = 0x11, LOCAL_GET = 0x20,
  I32_CONST = 0x41, END = 0x0b;

const text = new TextEncoder();
const named = (name) => joined(number(name.length), text.encode(name));

// Of each type of functions, how many values it takes and gives.
function types_of(list) {
  const r = new Reader(body_of(list, TYPE));
  return r.many(() => {
    r.byte(); // a function type
    const taken = r.part(r.number()).length;
    return {taken, given: r.part(r.number()).length};
  });
}

// The functions among the imports, each {module, name, type}, and the bytes of
// each import; others have bytes alone.
function imports_of(list) {
  const r = new Reader(body_of(list, IMPORT));
  return r.many(() => {
    const from = r.at, module = r.name(), name = r.name(), kind = r.byte();
    if (kind !== FUNC) fail(`the import ${module}.${name} is no function`);
    const type = r.number();
    return {module, name, type, bytes: r.bytes.subarray(from, r.at)};
  });
}

// The segments of the table of functions, with other numbers of functions.
function elements(body, change) {
  const r = new Reader(body);
  const parts = r.many(() => {
    const from = r.at;
    if (r.number() !== 0 || r.byte() !== I32_CONST)
      fail('a segment of the table without place');
    r.signed();
    r.byte(); // end
    const head = r.bytes.subarray(from, r.at);
    const all = r.many(() => number(change(r.number())));
    return joined(head, number(all.length), ...all);
  });
  return joined(number(parts.length), ...parts);
}

const sized = (bytes) => joined(number(bytes.length), bytes);

// The sections of the first module with functions for its placeholders.
export function with_stubs(list) {
  const types = types_of(list), imports = imports_of(list);
  const first = imports.findIndex((i) => i.module === 'placeholder');
  const kept = imports.slice(0, first), holes = imports.slice(first);
  if (holes.some((i) => i.module !== 'placeholder'))
    fail('placeholders are not the last imports');
  // The first placeholder's number goes to `later`, and its function comes
  // last; so the numbers of all others stay.
  const later = first;
  const plain = types.findIndex((t) => !t.taken && !t.given);
  const code = new Reader(body_of(list, CODE));
  const codes = code.many(() => sized(code.part(code.number())));
  const kind = new Reader(body_of(list, FUNCTION));
  const kinds = kind.many(() => kind.number());
  const last = imports.length + codes.length;

  const stub = ({name, type}) => {
    const taken = Array.from({length: types[type].taken},
                             (_, i) => joined([LOCAL_GET], number(i)));
    return sized(joined(
      [0, CALL], number(later), ...taken, [I32_CONST], signed(+name),
      [CALL_INDIRECT], number(type), [0, END]));
  };
  const [head, ...rest] = holes;
  const bodies = [...rest.map(stub), ...codes, stub(head)];
  const all_kinds = [...rest.map((h) => h.type), ...kinds, head.type];
  const changed = {
    [IMPORT]: joined(number(first + 1), ...kept.map((i) => i.bytes),
                     named('rly'), named('later'), [FUNC], number(plain)),
    [FUNCTION]: joined(number(all_kinds.length), ...all_kinds.map(number)),
    [CODE]: joined(number(bodies.length), ...bodies),
    [ELEMENT]: elements(body_of(list, ELEMENT), (n) => n === later ? last : n),
  };
  return list.map((s) => ({...s, body: changed[s.id] ?? s.body}));
}
