// Serves a folder on this machine alone, for the page: node web/serve.mjs
// FOLDER [PORT].  Port 0: one that is free.  Prints the address.
import {readFile} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';

const [folder, port = '8000'] = process.argv.slice(2);
const TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript',
               '.css': 'text/css', '.wasm': 'application/wasm'};

createServer((request, answer) => {
  const path = normalize(decodeURIComponent(
    new URL(request.url, 'http://localhost').pathname));
  const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
  readFile(file, (error, bytes) => {
    answer.writeHead(error ? 404 : 200,
                     {'Content-Type': TYPES[extname(file)] ?? 'text/plain'});
    answer.end(error ? 'There is no such file.\n' : bytes);
  });
}).listen(+port, '127.0.0.1', function () {
  console.log(`http://127.0.0.1:${this.address().port}/`);
});
