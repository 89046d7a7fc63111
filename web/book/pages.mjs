// The book's contents: groups of pages, a row each. `from` is a file of the
// tree or words that print Markdown; `split` makes a page of each file of
// the library.  Every page of docs/ stands here, or the book is not built.
const tutorial = ['01-numbers', '02-names', '03-functions', '04-shapes', '05-data',
                  '06-files', '07-cells', '08-layers', '09-steps', '10-state',
                  '11-derivatives', '12-vanishing', '13-learning'];

const puzzles = ['14-shapes', '15-recursion', '16-state', '17-gradients'];

export const BOOK = [
  ['Tutorial', tutorial.map((name, i) => ({
    name: `tutorial-${name}`, from: `docs/tutorial/${name}.md`, lesson: i + 1}))],
  ['Puzzles', puzzles.map((name, i) => ({
    name: `puzzles-${name}`, from: `docs/puzzles/${name}.md`,
    lesson: tutorial.length + i + 1}))],
  ['The language', [
    {name: 'language', from: 'docs/LANGUAGE.md'},
    {name: 'types', from: 'docs/TYPES.md'},
    {name: 'state', from: 'docs/STATE.md'},
    {name: 'gradients', from: 'docs/GRADIENTS.md'},
    {name: 'rules', from: 'docs/RULES.md'},
    {name: 'coming-from', from: 'docs/COMING_FROM.md'},
    {name: 'relay', from: 'docs/relay.md'},
  ]],
  ['Reference', [
    {name: 'operators', from: 'docs/operators.md'},
    {name: 'diagnostics', from: 'docs/DIAGNOSTICS.md'},
    {name: 'passes', from: 'docs/PASSES.md'},
  ]],
  ['Library', [{name: 'library', from: 'docs/library.md', split: true}]],
  ['Tools', [
    {name: 'prompt', from: 'docs/PROMPT.md'},
    {name: 'editors', from: 'docs/EDITORS.md'},
    {name: 'stepper', from: 'docs/STEPPER.md'},
    {name: 'training', from: 'docs/TRAINING.md'},
    {name: 'optimiser', from: 'docs/OPTIMISER.md'},
    {name: 'import', from: 'docs/IMPORT.md'},
    {name: 'data', from: 'docs/DATA.md'},
    {name: 'web', from: 'docs/WEB.md'},
  ]],
  ['C and Python', [
    {name: 'embedding', from: 'docs/EMBEDDING.md'},
    {name: 'c', from: ['perl', 'web/book/c.pl'], stands_for: 'include/rly.h'},
    {name: 'python', from: 'python/README.md'},
    {name: 'python-names', from: ['python3', 'web/book/names.py', 'python/rly'],
     stands_for: 'python/rly/__init__.pyi'},
    {name: 'plugins', from: 'docs/PLUGINS.md'},
  ]],
  ['The project', [
    {name: 'readme', from: 'README.md'},
    {name: 'performance', from: 'docs/performance.md'},
    {name: 'reliability', from: 'docs/RELIABILITY.md'},
    {name: 'hacking', from: 'docs/HACKING.md'},
    {name: 'security', from: 'SECURITY.md'},
    {name: 'changes', from: 'CHANGELOG.md'},
  ]],
];
