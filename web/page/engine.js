// The program in a thread of its own.  A run that is stopped ends with its
// thread, whatever it is doing; the next run begins in a new one.
export class Engine {
  constructor(script) {
    this.script = script;
    this.number = 0;
    this.waiting = new Map();
    this.start();
  }

  start() {
    this.worker = new Worker(this.script);
    if (this.module) this.use(this.module);
    this.worker.onmessage = ({data}) => {
      this.waiting.get(data.number)?.(data.result);
      this.waiting.delete(data.number);
      this.later ??= data.later;
    };
    if (this.later) this.worker.postMessage({later: this.later});
  }

  use(module) {
    this.module = module;
    this.worker.postMessage({module});
  }

  // {status, out, err, made}; null: it was stopped.
  run(words, {files = {}, input = [], wanted = []} = {}) {
    const number = ++this.number;
    return new Promise((done) => {
      this.waiting.set(number, done);
      this.worker.postMessage({number, words, files, input, wanted});
    });
  }

  busy() {
    return this.waiting.size > 0;
  }

  stop() {
    if (!this.busy()) return;
    this.worker.terminate();
    for (const done of this.waiting.values()) done(null);
    this.waiting.clear();
    this.start();
  }
}

// Compiles a module while it arrives, where its server names the type that this
// needs; other servers may name any type.
async function loaded(address) {
  const answer = await fetch(address);
  return answer.headers.get('Content-Type') === 'application/wasm'
    ? WebAssembly.compileStreaming(answer)
    : WebAssembly.compile(await answer.arrayBuffer());
}

// Two of them, so that a question about the text need not wait for its run.
// Their threads begin while the module is on its way.  `site` is the folder of
// the module, from the page's own.
export async function start_engines(site) {
  const both = [0, 0].map(() => new Engine(`${site}/worker.js`));
  const module = await loaded(`${site}/rly.wasm`);
  for (const engine of both) engine.use(module);
  const [language, runner] = both;
  return {language, runner};
}
