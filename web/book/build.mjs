// Builds the book from docs/: node web/book/build.mjs FOLDER.
//
// Markdown is read by marked, colours are highlight.js's with the grammar of
// editors/highlightjs.  pages.mjs lists the pages, items.mjs makes a program of
// each block; what a reader does with a page is in book.js and live.js.
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, posix} from 'node:path';

import rly from '../../editors/highlightjs/rly.js';
import {entries_of, page_of_blocks} from './items.mjs';
import {BOOK} from './pages.mjs';

const require = createRequire(join(process.cwd(), 'build/deps/npm/'));
const {Marked} = require('marked');
const hljs = require('highlight.js/lib/core');
for (const name of ['c', 'python', 'json', 'bash'])
  hljs.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));
hljs.registerLanguage('rly', rly);

const out = process.argv[2];
const escaped = (text) => text.replace(/[&<>"]/g, (c) =>
  ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);

// A Markdown text without its marks.
const plain = (text) => text.replace(/\[([^\][]*)\]\([^()]*\)/g, '$1')
  .replace(/[`*]/g, '').replace(/<[^>]*>/g, '');

/* --- Texts ------------------------------------------------------------------ */

// Properties that readers are not to see: `rly learn` names one only after an answer
// has failed it.
const HIDDEN = /^<details><summary>Hidden properties<\/summary>[^]*?^<\/details>\n/gm;

const read = (from) => typeof from === 'string'
  ? readFileSync(from, 'utf8').replace(HIDDEN, '')
  : execFileSync(from[0], from.slice(1), {encoding: 'utf8'});

// The library's text as one for each file, after what stands before them.
function split(page, text) {
  const parts = text.split(/^(?=# )/m);
  return parts.map((part, i) => ({
    ...page, text: part,
    name: i ? `${page.name}-${/^# stdlib\/(.*)\.rly/.exec(part)[1]
      .replaceAll('/', '-')}` : page.name}));
}

const pages = BOOK.flatMap(([group, rows]) => rows.flatMap((row) => {
  const page = {...row, group, path: row.stands_for ?? row.from};
  const text = read(row.from);
  return row.split ? split(page, text) : [{...page, text}];
}));
for (const page of pages)
  page.title = plain(/^# (.*)/m.exec(page.text)?.[1] ?? page.name)
    .replace(/^stdlib\//, '');
const home = {name: 'index', path: 'docs/README.md', group: '', title: 'The book',
              text: readFileSync('docs/README.md', 'utf8')
                .replace(/^# .*/, '# The book of rly')};

const names = [home, ...pages].map((p) => p.name);
for (const [i, name] of names.entries())
  if (names.indexOf(name) < i) throw new Error(`two pages are ${name}.html`);
const listed = new Set([home, ...pages].map((p) => p.path));
for (const file of readdirSync('docs'))
  if (file.endsWith('.md') && !listed.has(`docs/${file}`))
    throw new Error(`docs/${file} stands in no row of web/book/pages.mjs`);

/* --- Links ------------------------------------------------------------------ */

// As GitHub makes anchors of headings.
function slugs() {
  const seen = new Map();
  return (text) => {
    const slug = plain(text).toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '')
      .replace(/ /g, '-');
    const n = seen.get(slug) ?? 0;
    seen.set(slug, n + 1);
    return n ? `${slug}-${n}` : slug;
  };
}

// Headings outside of blocks, as [level, words, anchor].
function headings(text) {
  const slug = slugs();
  return [...text.replace(/^```[^]*?^```/gm, '').matchAll(/^(#{1,4}) (.*)$/gm)]
    .map(([, marks, words]) => [marks.length, words, slug(words)]);
}

const anchors = new Map(); // path#anchor -> page, of paths that were split
for (const page of pages) {
  page.headings = headings(page.text);
  for (const [, , anchor] of page.headings)
    if (!anchors.has(`${page.path}#${anchor}`))
      anchors.set(`${page.path}#${anchor}`, page.name);
}
home.headings = [];

// A link of a page: to a page of the book, to elsewhere, or null: to a file of
// the tree, which a reader of the book does not have.
function target(page, href) {
  if (/^[a-z]+:/.test(href)) return href;
  const [file, anchor] = href.split('#');
  const path = file ? posix.join(posix.dirname(page.path), file) : page.path;
  const tutorial = path === 'docs/tutorial' || path === 'docs/tutorial/';
  const to = anchors.get(`${path}#${anchor}`) ??
    pages.find((p) => p.path === path)?.name ??
    (path === 'docs/README.md' || path === 'docs/' ? 'index' : undefined) ??
    (tutorial ? pages[0].name : undefined) ??
    (/^python\/?$/.test(path) ? 'python' : undefined);
  return to === undefined ? null
    : `${to === page.name && anchor ? '' : `${to}.html`}${anchor ? `#${anchor}` : ''}`;
}

/* --- Blocks ----------------------------------------------------------------- */

const coloured = (text, language) => {
  const known = language === 'console' || language === 'shell-session' ||
    !hljs.getLanguage(language) ? null : language;
  return known ? hljs.highlight(text, {language: known}).value : escaped(text);
};

const still = (text, language) =>
  `<pre tabindex="0"><code>${coloured(text, language)}</code></pre>\n`;

// A block that becomes an editor.  `program` differs from what is shown where
// definitions from above are needed, and for entries at the prompt.
const live = (text, program, language = 'rly') =>
  `<div class="live"${program === text ? ''
    : ` data-program="${escaped(program)}"`}>${still(text, language)}</div>\n`;

// What makes HTML of a page's blocks, in their order.
function blocks_of(page) {
  const program = page_of_blocks(), session = page_of_blocks();
  let exercise = 0, start = '';
  return {
    rly: (text) => live(text, program(text)),
    relay: (text) => still(text, 'rly'),
    console(text) {
      const entries = entries_of(text, (file) => readFileSync(file, 'utf8'));
      if (!entries) return still(text, 'console');
      return live(text, session(entries), 'console');
    },
    'rly given': (text) => '<p>Given:</p>' + still(text, 'rly'),
    'rly start'(text) {
      start = text;
      return still(text, 'rly');
    },
    'rly allowed': (text) => `<p>${text.trim().split(/\s+/)
      .map((word) => `<code>${word}</code>`).join(' ')}</p>\n`,
    'rly check'(text) {
      const begins = start && ` data-start="${escaped(start)}"`;
      start = '';
      return `<div class="exercise" data-lesson="${page.lesson}" data-number="${
        ++exercise}"${begins}>${still(text, 'rly')}</div>\n`;
    },
    'rly solution': (text) => still(text, 'rly'),
    'rly wrong': (text) => still(text, 'rly'),
  };
}

/* --- Pages ------------------------------------------------------------------ */

function html_of(page) {
  const blocks = blocks_of(page), slug = slugs();
  const marked = new Marked({gfm: true});
  marked.use({renderer: {
    code(text, info = '') {
      const body = `${text}\n`;
      return blocks[info]?.(body) ?? still(body, info);
    },
    heading(html, level, raw) {
      const id = slug(raw);
      return `<h${level} id="${id}">${html}` +
        ` <a class="here" href="#${id}" aria-label="Link to this place">#</a>` +
        `</h${level}>\n`;
    },
    link(href, title, html) {
      const to = target(page, href);
      return to === null
        ? `<span class="source" title="in the sources: ${escaped(href)}">${html}</span>`
        : `<a href="${escaped(to)}">${html}</a>`;
    },
    table: (head, body) => '<div class="wide" tabindex="0"><table>' +
      `<thead>${head}</thead><tbody>${body}</tbody></table></div>`,
  }});
  return marked.parse(page.text);
}

const link = (page, words = page.title, more = '') =>
  `<a href="${page.name}.html"${more}>${escaped(words)}</a>`;

// What a page lists of its own headings: not more than one looks through.
function inside(page) {
  const own = page.headings.filter(([level]) => level === 2);
  return own.length < 2 ? ''
    : `<ul>${own.map(([, words, anchor]) =>
        `<li><a href="#${anchor}">${escaped(plain(words))}</a></li>`).join('')}</ul>`;
}

function contents(page) {
  return BOOK.map(([group]) => {
    const rows = pages.filter((p) => p.group === group).map((p) =>
      p === page ? `<li>${link(p, p.title, ' aria-current="page"')}${inside(p)}</li>`
        : `<li>${link(p)}</li>`);
    return `<details${group === page.group ? ' open' : ''}><summary>${group}` +
      `</summary><ul>${rows.join('')}</ul></details>`;
  }).join('\n');
}

const template = readFileSync('web/book/page.html', 'utf8');

function write(page, before, after) {
  const values = {
    title: escaped(page.title), contents: contents(page), body: html_of(page),
    before: before ? link(before, `← ${before.title}`, ' rel="prev"') : '',
    after: after ? link(after, `${after.title} →`, ' rel="next"') : '',
  };
  writeFileSync(join(out, `${page.name}.html`),
                template.replace(/\{(\w+)\}/g, (_, name) => values[name]));
}

/* --- Search ----------------------------------------------------------------- */

// Sections as [page, anchor, the page's title, heading, text].
function sections(page) {
  const slug = slugs(), list = [];
  let inside = false;
  for (const line of page.text.split('\n')) {
    if (line.startsWith('```')) inside = !inside;
    const heading = !inside && /^#{1,4} (.*)$/.exec(line);
    if (heading)
      list.push([page.name, slug(heading[1]), page.title, plain(heading[1]), '']);
    else if (list.length && !line.startsWith('```'))
      list.at(-1)[4] += `${inside ? line : plain(line)}\n`;
  }
  return list;
}

mkdirSync(out, {recursive: true});
write(home, null, pages[0]);
pages.forEach((page, i) => write(page, pages[i - 1] ?? home, pages[i + 1]));
writeFileSync(join(out, 'search.json'), JSON.stringify(pages.flatMap(sections)));
console.log(`${out}: ${pages.length + 1} pages`);
