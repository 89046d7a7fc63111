// What a block of a page needs to run by itself.  On its page a block sees all
// that stands above it, as a file would; in an editor of its own it begins with
// those definitions from above that it uses.

const DEFINES = /^(?:let|def|type|param|op|extern|rule|gradient)\b/;
const FOR_GOOD = /^(?:def|type|op)\b/; // all of a text see these
const BLANK = /^(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/)/;

// The text without leading blanks and comments.
function bare(text) {
  let rest = text, blank;
  while ((blank = BLANK.exec(rest))) rest = rest.slice(blank[0].length);
  return rest;
}

// Cuts a text into its items, each with its `;`, and comments in front of it.
export function items_of(text) {
  const items = [];
  let depth = 0, from = 0;
  const piece = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\])*"|[()[\]{}]|;|[^]/g;
  const end = (at) => {
    items.push(text.slice(from, at));
    from = at;
  };
  for (let m; (m = piece.exec(text));) {
    if ('([{'.includes(m[0])) depth++;
    else if (')]}'.includes(m[0])) depth--;
    if (depth > 0) continue;
    const at = piece.lastIndex;
    if (m[0] === ';') end(at);
    else if (m[0] === '}' && /^(?!\s*(?:[.([;]|=>|with\b))/.test(text.slice(at)) &&
             /^(?!let|param)/.test(bare(text.slice(from))) &&
             DEFINES.test(bare(text.slice(from)))) end(at);
  }
  if (bare(text.slice(from))) end(text.length);
  return items;
}

// Names that an item defines for those after it.
function defined_by(item) {
  const text = bare(item), word = /^\w+/.exec(text)?.[0];
  if (!DEFINES.test(text)) return [];
  if (word === 'let') return text.split(/=(?!=)/)[0].match(/[@%][A-Za-z_]\w*/g) ?? [];
  if (word !== 'type')
    return text.slice(word.length).match(/^\s*([@%]?[A-Za-z_][\w.]*)/)?.slice(1) ?? [];
  let body = text.slice(4), shorter;
  while ((shorter = body.replace(/\([^()]*\)|\[[^[\]]*\]/g, '')) !== body)
    body = shorter;
  return body.split(/=/)[0].match(/\b[A-Z]\w*/g) ?? [];
}

// Names that a text uses but does not bind itself.
function used_by(text) {
  const used = new Set();
  const plain = text.replace(/\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\])*"/g, ' ');
  for (const [name] of plain.matchAll(/[@%]?[A-Za-z_][\w.]*/g)) {
    if (!/^[@%A-Z]|^\w+$/.test(name)) continue;
    used.add(name);
    used.add(name.split('.')[0]);
  }
  for (const [, name] of plain.matchAll(/(%\w+)\s*:/g)) used.delete(name);
  for (const [, names] of plain.matchAll(/\b(?:fn|def\s+@[\w.]+)\s*(?:\[[^\]]*\])?\s*\(([^()]*)\)/g))
    for (const [name] of names.matchAll(/%\w+/g)) used.delete(name);
  for (const [, names] of plain.matchAll(/([^;{}\n]*)=>/g))
    for (const [name] of names.matchAll(/%\w+/g)) used.delete(name);
  return used;
}

const REFUSED = /^\s*(?:\/\/ {3}[^\n]*\s*)*\/\/ expect (?:runtime )?error/;

// A page's blocks in their order: program(text) gives a block's program, the
// definitions from above in front of it, and keeps its own for those below, but
// for those that are shown to be refused.
export function page_of_blocks() {
  const known = new Map(); // name -> the item that defined it last
  let order = 0;
  const gather = (used, bound, into) => {
    for (const name of used) {
      const item = !bound.has(name) && known.get(name);
      if (!item || into.has(item)) continue;
      into.add(item);
      for (const before of item.needs) into.add(before);
    }
  };
  return (text) => {
    // Such a text is a whole program.
    if (text.startsWith('#[version')) return text;
    const above = new Set(), bound = new Set();
    let at = 0;
    const own = items_of(text).map((item) => {
      const refused = REFUSED.test(text.slice(at += item.length));
      return {text: item.trim(), names: defined_by(item), refused,
              order: order++, needs: new Set()};
    });
    for (const item of own) {
      // A definition may use itself and those that its block defines below.
      const own_names = FOR_GOOD.test(bare(item.text))
        ? own.flatMap((i) => FOR_GOOD.test(bare(i.text)) ? i.names : []) : [];
      gather(used_by(item.text), new Set([...bound, ...own_names]), above);
      for (const name of item.names) bound.add(name);
    }
    for (const item of own.filter((i) => !i.refused)) {
      gather(used_by(item.text), new Set(item.names), item.needs);
      for (const name of item.names) known.set(name, item);
    }
    return [...above].sort((a, b) => a.order - b.order)
      .map((item) => item.text + '\n').join('') + text;
  };
}

// The entries of a session at the prompt, as the items of a program.  A file that
// is loaded is put in, other commands of the prompt stay as comments, and `%it`
// is the expression before.  A name that is defined anew has no place in a
// program: such a session gives ''.
export function entries_of(session, load) {
  const entries = [];
  for (const line of session.split('\n')) {
    const more = /^ {2}\.\.\. ?(.*)$/.exec(line), begins = /^rly> (.*)$/.exec(line);
    if (begins) entries.push(begins[1]);
    else if (more && entries.length) entries[entries.length - 1] += '\n' + more[1];
  }
  let it, program = '';
  const defined = new Set();
  for (const entry of entries.filter((e) => e.trim())) {
    const file = /^:(?:load|l) (\S+)$/.exec(entry)?.[1];
    const text = bare(entry).replace(/%it\b/g, () => `(${it})`);
    for (const name of FOR_GOOD.test(text) ? new Set(defined_by(text)) : []) {
      if (defined.has(name)) return '';
      defined.add(name);
    }
    const whole = /;\s*$/.test(text) || (DEFINES.test(text) && /\}\s*$/.test(text));
    if (file) program += load(file);
    else if (entry.startsWith(':')) program += `// at the prompt: ${entry}\n`;
    else program += `${entry.replace(bare(entry), text)}${whole ? '' : ';'}\n`;
    if (!DEFINES.test(text) && !entry.startsWith(':')) it = text.replace(/;\s*$/, '');
  }
  return program;
}
