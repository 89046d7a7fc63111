// The view Gradient: a call at top level whose value is one float, and beside each
// of its arguments the value and the gradient.  The program is read as data
// (docs/DATA.md), in which the call becomes one of `grad` of the same function with
// the same arguments, and is run again in this form.
import {DIVERGING} from './picture.js';
import {pictures, tensor_pictures} from './value.js';

const PROGRAM = '/gradient.json';
const NOTHING = 'No call at top level has a gradient to show. One whose value is'
  + ' one float has, such as @loss([3f, 1f]); for a function @loss of yours.';

/* --- Which call ------------------------------------------------------------- */

const is_float = (type) =>
  type.kind === 'tensor' && /float/.test(type.dtype) && type.shape.length === 0;

// The call that an item is, or of which it takes a part, as in `grad(@f)(1f).1`;
// undefined: it is something else, or has no gradient.  `same` says that it is a
// call of what `grad` gives.
function call_of({nodes, types}, item) {
  let node = nodes[item.value];
  while (node?.kind === 'proj') node = nodes[node.value];
  if (node?.kind !== 'call' || !node.args.length) return undefined;
  const callee = nodes[node.callee], same = callee?.op === 'grad';
  if (!same && !(is_float(types[node.type]) && (callee || node.global)))
    return undefined;
  const what = same ? nodes[callee.args[0]] : callee;
  const global = what ? what.kind === 'global' && what.name : node.global;
  return {item, node, same, what, name: global ? `@${global}` : `%${what.name}`};
}

const name_of = ({kind, name}) => (kind === 'local' ? '%' : '@') + name;

// The call in the cursor's line; or the last one of the function in which the
// cursor stands; or the last one of the text.
function chosen(program, file, line) {
  const own = program.items.filter(({span, continues}) =>
    span && program.files[span[0]].path === file && !continues);
  const here = own.find(({span}) => span[1] <= line && line <= span[3]);
  const calls = own.map((item) => call_of(program, item)).filter(Boolean);
  return calls.find(({item}) => item === here)
    ?? calls.findLast(({name}) => here && name === name_of(here)) ?? calls.at(-1);
}

// The names of the function's parameters, as far as its text is there.
function names_of({nodes, items}, {node, what, name}) {
  const item = items.findLast((i) => name_of(i) === name);
  const fn = what?.kind === 'fn' ? what : nodes[item?.fn ?? item?.value];
  return node.args.map((_, i) =>
    fn?.params?.[i] ? `%${fn.params[i].name}` : `argument ${i + 1}`);
}

// The types of the arguments.
const kinds_of = ({nodes, types}, {args}) => args.map((arg) => types[nodes[arg].type]);

/* --- The program with the question ------------------------------------------- */

// Whether a value of this type, or its gradient, is `()`, which is not printed.
const is_unit = ({kind, args}) => kind === 'tuple' && !args.length;
const has_unit_gradient = (type) =>
  is_unit(type) || type.kind === 'fn' || type.kind === 'ref';

// Binds the arguments, the call of `grad` and the function's value before the
// call's item, and puts the value's name in the place of the call.  Beside the
// bindings are expressions: the arguments, as they are before the call, the
// function's value, and the gradients.  No expression follows, so their values are
// the last that the program shows.
function ask_gradient(program, {item, node, same}) {
  const {nodes, items} = program, kinds = kinds_of(program, node);
  const add = (row) => nodes.push({...row, span: node.span}) - 1;
  const use = (name) => add({kind: 'var', name});
  const part = (value, index) => add({kind: 'proj', value, index});
  const bind = (name, value, annotation) =>
    ({kind: 'local', name, value, annotation, span: item.span});
  const show = (value) => ({kind: 'expr', value, span: item.span});
  const names = node.args.map((_, i) => `gradient_argument_${i}`);
  const all = (unit, question) => names.flatMap((name, i) =>
    unit(kinds[i]) ? [] : [show(question(name, i))]);
  let {callee} = node;
  if (!same) {
    const body = add({...node, args: names.map(use)});
    const fn = add({kind: 'fn', params: names.map((name) => ({name})), body});
    callee = add({kind: 'call', op: 'grad', args: [fn]});
  }
  const both = add({kind: 'call', callee, args: names.map(use)});
  const rest = items.splice(items.indexOf(item)).filter(({kind}) => kind !== 'expr');
  items.push(
    ...node.args.map((arg, i) => bind(names[i], arg, nodes[arg].type)),
    ...all(is_unit, use),
    bind('gradient_both', both),
    bind('gradient_value', part(use('gradient_both'), 0)),
    show(use('gradient_value')),
    ...all(has_unit_gradient, (_, i) => part(part(use('gradient_both'), 1), i)),
    ...rest);
  const {span} = node;
  for (const key in node) delete node[key];
  Object.assign(node, {kind: 'var', span,
                       name: same ? 'gradient_both' : 'gradient_value'});
}

// The answers in a run's output: the arguments' values, the function's, and the
// gradients.  `kinds` are the arguments' types.
const BESIDE = new RegExp(`^${PROGRAM}:\\d+: `);
function answers(out, kinds) {
  const printed = (unit) => kinds.filter((kind) => !unit(kind)).length;
  const said = out.split('\n').filter((line) => BESIDE.test(line))
    .slice(-1 - printed(is_unit) - printed(has_unit_gradient))
    .map((line) => line.replace(BESIDE, ''));
  const next = (unit) => kinds.map((kind) => unit(kind) ? 'nothing' : said.shift());
  return {values: next(is_unit), value: said.shift(),
          gradients: next(has_unit_gradient)};
}

/* --- The table ------------------------------------------------------------------ */

function element(name, ...inside) {
  const made = document.createElement(name);
  made.append(...inside);
  return made;
}

// A value in a cell of the table.  Its type stands beside the argument's name, and
// the picture of a long one tells more than its numbers.
const LETTERS = 200;
function shown(text, scale) {
  const plain = text.replace(/^Tensor\[[^\]]*\] /, '');
  const tensors = tensor_pictures(text, scale);
  return element('td', ...tensors.length ? tensors : pictures(text),
    plain.length > LETTERS ? `${plain.slice(0, LETTERS)}…` : plain);
}

// `rows` are a name, a type, a value and a gradient each.
function table_of(source, line, value, rows) {
  const head = element('tr', ...['Argument', 'Value', 'Gradient'].map((title) =>
    Object.assign(element('th', title), {scope: 'col'})));
  const body = rows.map(([name, type, value, gradient]) => {
    const title = element('th', name, element('small', type));
    title.scope = 'row';
    return element('tr', title, shown(value), shown(gradient, DIVERGING));
  });
  const caption = element('caption', element('code', source),
                          ` in line ${line} gives ${value}`);
  return element('div', element('table', caption, element('thead', head),
                                element('tbody', ...body)),
    element('p', 'A gradient says by how much the value grows for each unit that an'
      + ' element of the argument grows by. In pictures blue is above zero, red'
      + ' below.'));
}

// The part of a text from one place to another, as the program's data has them.
function part_of(text, [, line, column, end, end_column]) {
  const lines = text.split('\n').slice(line - 1, end).map((l) => [...l]);
  lines.push(lines.pop().slice(0, end_column - 1));
  lines[0] = lines[0].slice(column - 1);
  return lines.map((l) => l.join('').trim()).join(' ');
}

// Integers that a number of JavaScript would round are texts while the program is
// read and changed.
const EXACT = '\ue000';
const parsed = (json) => JSON.parse(json.replace(
  /"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g,
  (all) => all[0] === '"' ? all : `"${EXACT}${all}"`));
const written = (program) => JSON.stringify(program).replace(
  new RegExp(`"${EXACT}(-?\\d+)"`, 'g'), '$1');

// What the view shows of a text at the cursor's line: an element, or words that
// say why there is none.  `run` runs the module (Engine.run); null: it was stopped.
export async function gradient({run, file, files, text, line, given}) {
  const read = await run(['dump', '--format', 'json', file], {files});
  if (!read || read.status) return read?.err ?? null;
  const program = parsed(read.out), call = chosen(program, file, line);
  if (!call) return NOTHING;
  const names = names_of(program, call), kinds = kinds_of(program, call.node);
  const {span} = call.node;
  ask_gradient(program, call);
  const bytes = new TextEncoder().encode(written(program));
  const done = await run(['watch', '--once', ...given, PROGRAM],
                         {files: {...files, [PROGRAM]: bytes}});
  if (!done || done.status) return done?.err ?? null;
  const {value, values, gradients} = answers(done.out, kinds);
  return table_of(part_of(text, span), span[1], value, names.map((name, i) =>
    [name, kinds[i].text.replaceAll('[]', ''), values[i], gradients[i]]));
}
