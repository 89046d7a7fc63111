// The program in a thread of its own.  A run that is stopped ends with its
// thread, whatever it is doing; the next run begins in a new one.
export class Engine {
  constructor(module, script) {
    this.module = module;
    this.script = script;
    this.number = 0;
    this.waiting = new Map();
    this.start();
  }

  start() {
    this.worker = new Worker(this.script);
    this.worker.postMessage({module: this.module});
    this.worker.onmessage = ({data}) => {
      this.waiting.get(data.number)?.(data.result);
      this.waiting.delete(data.number);
      this.later ??= data.later;
    };
    if (this.later) this.worker.postMessage({later: this.later});
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

// Two of them, so that a question about the text need not wait for its run.
// `site` is the folder of the module, from the page's own.
export async function start_engines(site) {
  const bytes = await (await fetch(`${site}/rly.wasm`)).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  const [language, runner] = [0, 0].map(() =>
    new Engine(module, `${site}/worker.js`));
  return {language, runner};
}
