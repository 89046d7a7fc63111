// The page in one file with what it needs first: its style and begin.js, so that
// the engines start before a second request is answered.
//
//   node web/page/inline.mjs FOLDER < web/page/index.html > FOLDER/index.html
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

const text = (name) => readFileSync(join(process.argv[2], name), 'utf8').trim();

process.stdout.write(readFileSync(0, 'utf8')
  .replace(/<link rel="stylesheet" href="([\w.]+)">/g,
           (_, name) => `<style>${text(name)}</style>`)
  .replace(/<script src="([\w.]+)"><\/script>/g,
           (_, name) => `<script>${text(name)}</script>`));
