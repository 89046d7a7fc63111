// Packages the extension: node editors/vscode/build.mjs VERSION FILE.vsix
//
// Needs what `make deps-vscode` installs.  The files of the package are put
// together in a folder beside FILE.vsix.
import {execFileSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync,
        writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';

import {grammar} from './grammar.mjs';

const [version, out] = process.argv.slice(2);
const from = 'editors/vscode', to = `${out}.files`;
const modules = resolve('build/deps/vscode/node_modules');
const tool = (name, args, more) =>
  execFileSync(join(modules, '.bin', name), args, {stdio: 'inherit', ...more});

const json = (name, value) =>
  writeFileSync(join(to, name), JSON.stringify(value, null, 2) + '\n');

rmSync(to, {recursive: true, force: true});
mkdirSync(join(to, 'syntaxes'), {recursive: true});
const {devDependencies, ...manifest} =
  JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
delete manifest.private;
json('package.json', {...manifest, version});
json('syntaxes/rly.tmLanguage.json', grammar());
for (const name of ['language-configuration.json', 'README.md'])
  copyFileSync(join(from, name), join(to, name));
copyFileSync('LICENSE', join(to, 'LICENSE'));

const parts = join(to, 'parts.json');
tool('esbuild', ['--bundle', '--minify', '--platform=node', '--format=cjs',
                 '--target=node18', '--external:vscode', '--log-level=warning',
                 `--metafile=${parts}`,
                 `--outfile=${join(to, 'dist/extension.js')}`,
                 join(from, 'src/extension.js')],
     {env: {...process.env, NODE_PATH: modules}});
// The licences of what the bundle holds, which must go with it.
const bundled = Object.keys(JSON.parse(readFileSync(parts, 'utf8')).inputs)
  .map((path) => /^.*node_modules\/(?:@[^/]*\/)?[^/]*/.exec(path)?.[0])
  .filter(Boolean);
rmSync(parts);
writeFileSync(join(to, 'dist/LICENSES.txt'), [...new Set(bundled)].map((folder) => {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${folder} names no licence`);
  return `${folder.replace(/.*node_modules\//, '')}\n\n` +
    readFileSync(join(folder, file), 'utf8');
}).join('\n'));
tool('vsce', ['package', '--no-dependencies', '--allow-missing-repository',
              '--out', resolve(out)], {cwd: to, stdio: ['ignore', 'ignore', 'inherit']});
