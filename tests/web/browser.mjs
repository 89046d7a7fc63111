// Runs commands of the module in Chromium.  A page there (browser.html) asks a
// server in this process for the next command, runs it as the page of `make web`
// does, in the same worker, and sends its result back.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync} from 'node:fs';
import {rm} from 'node:fs/promises';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const TYPES = {html: 'text/html', js: 'text/javascript', mjs: 'text/javascript',
               wasm: 'application/wasm'};

// `run(words, files, wanted)` promises {status, out, err, made}; `files` and
// `made` are bytes by path.
export function browser(program) {
  const profile = mkdtempSync(join(tmpdir(), 'rly-browser-'));
  // The command to run, who waits for its result, the page's request for a command.
  let job, done, waiting;
  const give = () => {
    if (!job || !waiting) return;
    waiting.end(JSON.stringify(job));
    job = waiting = null;
  };

  const server = createServer(async (request, answer) => {
    const path = new URL(request.url, 'http://here').pathname;
    if (path === '/job') {
      waiting = answer;
      give();
    } else if (path === '/result') {
      let text = '';
      for await (const part of request.setEncoding('utf8')) text += part;
      answer.end();
      done(JSON.parse(text));
    } else if (existsSync(`.${path}`) && !path.includes('..')) {
      answer.setHeader('Content-Type', TYPES[path.split('.').at(-1)] ?? 'text/plain');
      answer.end(readFileSync(`.${path}`));
    } else {
      answer.writeHead(404).end();
    }
  });

  let gone, page;
  const over = new Promise((_, fail) => gone = fail);
  over.catch(() => {});
  server.listen(0, '127.0.0.1', () => {
    page = spawn(program, [
      '--headless', '--disable-gpu', `--user-data-dir=${profile}`,
      ...process.getuid() ? [] : ['--no-sandbox'],
      '--remote-debugging-pipe',
      `http://127.0.0.1:${server.address().port}/tests/web/browser.html`,
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    page.on('exit', () => gone(new Error('the browser has ended')));
    page.on('error', gone);
  });

  const packed = (files) => Object.fromEntries(Object.entries(files)
    .map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')]));
  return {
    async run(words, files, wanted) {
      job = {words, files: packed(files), wanted};
      const told = new Promise((tell) => done = tell);
      give();
      const result = await Promise.race([told, over]);
      for (const path in result.made)
        result.made[path] = Buffer.from(result.made[path], 'base64');
      return result;
    },
    async end() {
      const ended = new Promise((tell) => page.on('exit', tell));
      page.kill();
      await ended;
      server.close();
      server.closeAllConnections();
      // Its other processes end after it, and may write until then.
      await rm(profile, {recursive: true, force: true, maxRetries: 30});
    },
  };
}
