import {gradient} from './gradient.js';

// The views, a row each: what the tab says, and the words that make it, with
// those that give values to params where the command takes them.  `made`
// are files that the program writes, `page` says that it prints HTML; without
// words a view has what the program printed.  Where more than one run makes a view,
// `draw` promises an element, or a text, of what is known of the program;
// `follows` says that it depends on the cursor's line.  A view that `asks` has a
// field: `label` stands before it, `first` is its text at first, and `words` takes its
// text as the third argument.  The command `names`, if there is one, prints as JSON
// what the text may name.
const OUT = '/view.html';

// `-O1`, `Inline,FoldConstant` or `Inline, FoldConstant`, and further flags of
// `rly opt`, whose values stand after a `=`.
function pipeline(text) {
  const words = text.split(/\s+/).filter(Boolean);
  const flags = words.filter((word) => word.startsWith('-'));
  const passes = words.filter((word) => !flags.includes(word))
    .join(',').replace(/,+/g, ',').replace(/^,|,$/g, '');
  return passes ? [...flags, '--passes', passes] : flags;
}

export const VIEWS = {
  values: {title: 'Output', empty: 'Values stand beside their lines.'},
  steps: {
    title: 'Steps', made: [OUT],
    // The page names this flag where there are more steps.
    asks: {label: '--steps', first: '300'},
    words: (file, given, asked) => ['step', '--html', OUT, '--steps', asked, ...given,
                                    file],
  },
  passes: {
    title: 'Passes', made: [OUT],
    asks: {label: 'Pipeline', first: '-O2', names: ['passes', '--json']},
    words: (file, given, asked) => ['opt', '--html', OUT, ...pipeline(asked), file],
  },
  gradient: {title: 'Gradient', draw: gradient, follows: true},
  // What `grad` computes where a function only calls operators.
  adjoint: {
    title: 'Adjoint', made: [OUT],
    words: (file) => ['opt', '--html', OUT, '--passes',
                      'Inline,FirstOrderGradient,SimplifyExpr,FoldConstant,'
                      + 'DeadCodeElimination', file],
  },
  graph: {
    title: 'Graph', page: true,
    words: (file) => ['graph', '--format', 'html', file],
  },
  bytecode: {title: 'Bytecode', words: (file) => ['dump', '--bytecode', file]},
  types: {
    title: 'Types', words: (file) => ['check', '--types', '--effects', file],
  },
};
