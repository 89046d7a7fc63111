// The TextMate grammar of rly, made from the grammar for highlight.js.  Each mode
// there becomes a pattern here, in the same order; patterns of keywords follow.
import rly from '../highlightjs/rly.js';

// TextMate's scopes, which themes colour, by the names that highlight.js has.
const SCOPES = {
  attr: 'entity.other.attribute-name',
  built_in: 'support.function',
  'char.escape': 'constant.character.escape',
  comment: 'comment',
  keyword: 'keyword.control',
  literal: 'constant.language',
  meta: 'meta.preprocessor',
  number: 'constant.numeric',
  string: 'string.quoted.double',
  'title.class': 'entity.name.type',
  'title.function': 'entity.name.function',
  type: 'support.type',
  variable: 'variable.other',
};

function scope(name) {
  if (!(name in SCOPES)) throw new Error(`no TextMate scope for ${name}`);
  return `${SCOPES[name]}.rly`;
}

// A regular expression as Oniguruma spells it.  A pattern that is to match at the
// end of the file only is `(?![^])` for highlight.js.  TextMate reads line by line:
// there a pattern that never matches, `(?!)`, lets the mode run to the end.
const source = (regex) => (regex.source ?? regex).replace('(?![^])', '(?!)');

function pattern(mode) {
  if (mode === 'self') return {include: '#comment'};
  if (mode.beginScope)
    return {
      match: mode.begin.map((part) => `(${source(part)})`).join(''),
      captures: Object.fromEntries(Object.entries(mode.beginScope)
        .map(([i, name]) => [i, {name: scope(name)}])),
    };
  const name = scope(mode.scope);
  if (!mode.end) return {name, match: source(mode.begin)};
  return {name, begin: source(mode.begin), end: source(mode.end),
          patterns: (mode.contains ?? []).map(pattern)};
}

export function grammar() {
  const line = {scope: 'comment', begin: '//', end: '$'};
  const {contains, keywords: {$pattern, ...words}} = rly({C_LINE_COMMENT_MODE: line});
  const nested = contains.find((mode) => mode.contains?.includes('self'));
  return {
    name: 'rly',
    scopeName: 'source.rly',
    fileTypes: ['rly'],
    patterns: [
      ...contains.map((mode) => mode === nested ? pattern('self') : pattern(mode)),
      ...Object.entries(words).map(([name, list]) =>
        ({name: scope(name), match: `\\b(?:${list.replaceAll(' ', '|')})\\b`})),
      {match: source($pattern)},
    ],
    repository: {comment: pattern(nested)},
  };
}
