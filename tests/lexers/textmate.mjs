// The classes of the characters of files, by VS Code's reader of TextMate
// grammars with the grammar of editors/vscode: as classes.py.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';

import {grammar} from '../../editors/vscode/grammar.mjs';

const require = createRequire(join(process.cwd(), 'build/deps/vscode/'));
const oniguruma = require('vscode-oniguruma');
const {INITIAL, Registry, parseRawGrammar} = require('vscode-textmate');

const CLASSES = [['keyword', 'K'], ['constant.numeric', 'N'],
                 ['constant.language', 'N'], ['string', 'S'],
                 ['constant.character', 'S'], ['comment', 'C'], ['meta', 'C']];
const class_of = (scopes) => CLASSES.find(([prefix]) =>
  scopes.at(-1).startsWith(prefix))?.[1] ?? '.';

await oniguruma.loadWASM(readFileSync(
  require.resolve('vscode-oniguruma/release/onig.wasm')).buffer);
const reader = await new Registry({
  onigLib: {
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  },
  loadGrammar: async () =>
    parseRawGrammar(JSON.stringify(grammar()), 'rly.tmLanguage.json'),
}).loadGrammar('source.rly');

for (const path of readFileSync(0, 'utf8').split('\n').slice(0, -1)) {
  let state = INITIAL;
  const lines = readFileSync(path, 'utf8').split('\n').map((line) => {
    const {tokens, ruleStack} = reader.tokenizeLine(line, state);
    state = ruleStack;
    return tokens.map(({startIndex, endIndex, scopes}) =>
      class_of(scopes).repeat(Math.min(endIndex, line.length) - startIndex)).join('');
  });
  console.log(lines.join('.'));
}
