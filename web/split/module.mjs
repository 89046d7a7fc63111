// Reads a WebAssembly module as `wasm-ld --emit-relocs` links it: where its
// functions and data are, and which addresses of data each of them holds.  The
// formats: the core specification, and Linking.md of the tool conventions.

export const TYPE = 1, IMPORT = 2, FUNCTION = 3, ELEMENT = 9,
  CODE = 10, DATA = 11;
const CUSTOM = 0, SYMBOL_TABLE = 8;
const UNDEFINED = 0x10, EXPLICIT_NAME = 0x40;
const SYMBOL = {function: 0, data: 1, section: 3};
// Types of relocations: those that hold an address of data, and those that are
// followed by an addend.
const ADDRESS = new Set([3, 4, 5]), ADDEND = new Set([3, 4, 5, 8, 9, 11, 21]);

const text = new TextDecoder();

// A place in bytes, which moves on as it is read.
export class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }
  byte() {
    return this.bytes[this.at++];
  }
  number() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.byte();
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }
  signed() {
    let value = 0, shift = 0, byte;
    do {
      byte = this.byte();
      value |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    return shift < 32 && byte & 64 ? value | -1 << shift : value;
  }
  part(size) {
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }
  name() {
    return text.decode(this.part(this.number()));
  }
  many(read) {
    return Array.from({length: this.number()}, () => read());
  }
}

export function number(value) {
  const bytes = [];
  do {
    bytes.push(value % 128 + (value > 127 ? 128 : 0));
    value = Math.floor(value / 128);
  } while (value);
  return Uint8Array.from(bytes);
}

export function signed(value) {
  const bytes = [];
  for (;;) {
    const low = value & 127;
    value >>= 7;
    const last = value === (low & 64 ? -1 : 0);
    bytes.push(low | (last ? 0 : 128));
    if (last) return Uint8Array.from(bytes);
  }
}

export function joined(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) all.set(part, at), at += part.length;
  return all;
}

// [{id, name, body}]; name: of a custom section, whose body begins after it.
export function sections(bytes) {
  const r = new Reader(bytes, 8), list = [];
  while (r.at < bytes.length) {
    const id = r.byte(), body = r.part(r.number());
    if (id !== CUSTOM) list.push({id, body});
    else {
      const inside = new Reader(body), name = inside.name();
      list.push({id, name, body: body.subarray(inside.at)});
    }
  }
  return list;
}

// Custom sections are not written.
export function module_of(list) {
  const parts = [Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)];
  for (const {id, body} of list)
    if (id !== CUSTOM) parts.push(Uint8Array.of(id), number(body.length), body);
  return joined(...parts);
}

export const body_of = (list, id) => list.find((s) => s.id === id)?.body;
const custom = (list, name) =>
  list.find((s) => s.name === name)?.body ??
    fail(`the module has no section ${name}: link it with --emit-relocs`);
export const fail = (why) => {
  throw new Error(why);
};

// [{at, bytes, from}]: the address, what stands there, and where in the section
// these bytes are.
export function segments(body) {
  const r = new Reader(body);
  return r.many(() => {
    if (r.number() !== 0 || r.byte() !== 0x41)
      fail('a segment without address');
    const at = r.signed();
    r.byte(); // end
    const bytes = r.part(r.number());
    return {at, bytes, from: r.at - bytes.length};
  });
}

export function data_section(list) {
  return {id: DATA, body: joined(number(list.length), ...list.flatMap((s) => [
    Uint8Array.of(0, 0x41), signed(s.at), Uint8Array.of(0x0b),
    number(s.bytes.length), s.bytes]))};
}

// Where in its section the code of each function of the module begins.
export function functions(list) {
  const code = new Reader(body_of(list, CODE));
  return code.many(() => {
    const size = code.number(), from = code.at;
    code.part(size);
    return from;
  });
}

// [{low, high}], by symbol: the addresses of data that has one.
function data_symbols(list) {
  const found = segments(body_of(list, DATA));
  const r = new Reader(custom(list, 'linking'));
  r.number(); // the version
  while (r.at < r.bytes.length) {
    const kind = r.byte(), end = r.number() + r.at;
    if (kind !== SYMBOL_TABLE) {
      r.at = end;
      continue;
    }
    return r.many(() => {
      const of = r.byte(), flags = r.number();
      if (of === SYMBOL.section) return r.number(), null;
      if (of !== SYMBOL.data) {
        r.number();
        if (!(flags & UNDEFINED) || flags & EXPLICIT_NAME) r.name();
        return null;
      }
      r.name();
      if (flags & UNDEFINED) return null;
      const segment = found[r.number()], low = r.number(), size = r.number();
      return segment ? {low: segment.at + low, high: segment.at + low + size}
        : null;
    });
  }
  return fail('the module has no symbols');
}

// [{at, to}], by place: where in a section an address of which data stands.
function references(list, name, symbols) {
  const r = new Reader(custom(list, `reloc.${name}`));
  r.number(); // the section
  return r.many(() => {
    const type = r.byte(), at = r.number(), to = r.number();
    if (ADDEND.has(type)) r.number();
    return ADDRESS.has(type) && symbols[to] ? {at, to: symbols[to]} : null;
  }).filter((ref) => ref).sort((a, b) => a.at - b.at);
}

// The ranges of addresses, [{low, high}], of the data that the chosen functions
// can come to: that whose address stands in their code, or in such data.  What
// they get from other functions is not counted.
export function data_of(list, chosen) {
  const symbols = data_symbols(list);
  const starts = functions(list);
  const reached = new Set(), open = [];
  const reach = (range) => {
    if (!reached.has(range)) reached.add(range), open.push(range);
  };
  let i = 0;
  for (const {at, to} of references(list, 'CODE', symbols)) {
    while (i + 1 < starts.length && starts[i + 1] <= at) i++;
    if (chosen(i)) reach(to);
  }
  const held = references(list, 'DATA', symbols);
  const places = segments(body_of(list, DATA));
  let s = 0;
  for (const ref of held) {
    while (s + 1 < places.length && places[s + 1].from <= ref.at) s++;
    ref.address = places[s].at + ref.at - places[s].from;
  }
  while (open.length) {
    const {low, high} = open.pop();
    let from = 0, to = held.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (held[middle].address < low) from = middle + 1;
      else to = middle;
    }
    for (; from < held.length && held[from].address < high; from++)
      reach(held[from].to);
  }
  return [...reached];
}
