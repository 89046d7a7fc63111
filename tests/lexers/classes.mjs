// The classes of the characters of files, by highlight.js: as classes.py.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';

import rly from '../../editors/highlightjs/rly.js';

const require = createRequire(join(process.cwd(), 'build/deps/npm/'));
const hljs = require('highlight.js/lib/core');
hljs.registerLanguage('rly', rly);

const CLASSES = {'hljs-keyword': 'K', 'hljs-number': 'N', 'hljs-literal': 'N',
                 'hljs-string': 'S', 'hljs-comment': 'C', 'hljs-meta': 'C'};

for (const path of readFileSync(0, 'utf8').split('\n').slice(0, -1)) {
  const {value} = hljs.highlight(readFileSync(path, 'utf8'), {language: 'rly'});
  const open = [];
  let line = '';
  for (const [piece, name] of
       value.matchAll(/<span class="([^"]*)">|<\/span>|&#?\w+;|[^]/g)) {
    if (name) open.push(CLASSES[name.split(' ')[0]]);
    else if (piece === '</span>') open.pop();
    else line += open.findLast((c) => c) ?? '.';
  }
  console.log(line);
}
