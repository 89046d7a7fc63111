// Blocks of the book that have become editors: a program with its values beside
// the lines, or the answer to an exercise, of which `rly learn` is the judge.
import {Editor} from '../page/editor.js';
import {start_engines} from '../page/engine.js';
import {packed} from '../page/share.js';
import {element} from './element.js';

const engines = {};
const started = start_engines('..').then((both) => Object.assign(engines, both));

// The editor of a block, with a line of buttons and a place for output below.
function editor_of(block, text, label, on) {
  const place = element('div', ''), bar = element('div', '', {className: 'bar'});
  const status = element('span', 'Loading.', {role: 'status'});
  const stop = element('button', 'Stop', {disabled: true});
  const output = element('pre', '', {className: 'output', hidden: true});
  const show = (words) => {
    output.hidden = !words.trim();
    output.textContent = words.trim();
  };
  block.append(place, bar, output);
  const editor = new Editor({parent: place, text, label, engines, on: {
    say: (words) => status.textContent = words,
    running: (whether) => stop.disabled = !whether,
    mistakes: show,
    ran(version, printed, err) {
      // What stands beside a line is not told again.
      show(printed.split('\n').filter((l) => !/^\d+: /.test(l)).join('\n') + err);
      block.dataset.run = version;
    },
    ...on?.({show, status})}});
  stop.onclick = () => editor.stop();
  bar.append(stop, status);
  return {editor, bar, status, output, show};
}

export async function run(block) {
  const still = block.querySelector('pre');
  const text = block.dataset.program ?? still.textContent;
  const {editor, bar} = editor_of(block, text, 'Program');
  const reset = element('button', 'Reset'), open = element('a', 'Playground');
  reset.onclick = () => editor.source = text;
  open.href = '../index.html';
  open.onclick = async (e) => {
    e.preventDefault();
    location.href = `../index.html#${await packed(editor.source)}`;
  };
  bar.append(reset, open);
  // A session keeps what it printed; a program's expectations stand in its text.
  if (!block.dataset.program || !/^rly> /m.test(still.textContent)) still.remove();
  editor.view.focus();
  await started;
  editor.look();
}

/* --- Exercises ---------------------------------------------------------------- */

// What `rly learn` says of an answer: that part of the lesson which follows the
// exercise's checks.
function verdict(out, number, checks) {
  const parts = out.split(/^(?=Exercise: )/m), own = parts[number] ?? '';
  const last = checks.trim().split('\n').at(-1).trim();
  return own.slice(own.indexOf(last) + last.length).trim();
}

export async function answer(block) {
  const {lesson, number} = block.dataset;
  const checks = block.querySelector('pre').textContent;
  const judge = async ({editor, show, status, output}) => {
    await started;
    const input = ':skip\n'.repeat(number - 1) + editor.source.trim() + '\n';
    engines.runner.stop();
    status.textContent = 'Checking.';
    const done = await engines.runner.run(['learn', lesson], {input: [input]});
    if (!done) return;
    const said = verdict(done.out, +number, checks);
    const right = /^Right\.$/m.test(said);
    show(said.replace(/^Right\.$[^]*/m, 'Right.') + '\n' + done.err);
    output.classList.toggle('right', right);
    output.classList.toggle('wrong', !right);
    status.textContent = right ? 'Right.' : 'Not yet.';
    block.dataset.judged = (+block.dataset.judged || 0) + 1;
  };
  const parts = editor_of(block, block.dataset.start ?? '', 'Answer');
  // An answer is a part of a lesson, which only the judge knows whole: by itself it
  // gets colours, and neither mistakes nor values.
  parts.editor.look = () => parts.editor.colour();
  const check = element('button', 'Check');
  check.onclick = () => judge(parts);
  parts.bar.prepend(check);
  parts.editor.view.focus();
  await started;
  parts.status.textContent = '';
  parts.editor.look();
}
