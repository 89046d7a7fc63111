// Files that a visitor drops into the page: values for the program's `param`s,
// or a program.  An npz file is an archive of npy files, which the module cannot
// open, so it is unpacked here.
const END = 0x06054b50, ENTRY = 0x02014b50;

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream()
    .pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The files of an archive as {name: bytes}, by its directory, which stands at
// its end.  Throws an Error for what is no archive.
export async function unzipped(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw new Error('this is no archive');
  const files = {};
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (view.getUint32(at, true) !== ENTRY) throw new Error('a broken archive');
    const method = view.getUint16(at + 10, true);
    const size = view.getUint32(at + 20, true), named = view.getUint16(at + 28, true);
    const head = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + named));
    const from = head + 30 + view.getUint16(head + 26, true) +
      view.getUint16(head + 28, true);
    const body = bytes.slice(from, from + size);
    if (method !== 0 && method !== 8) throw new Error(`how ${name} is packed`);
    files[name] = method ? await inflated(body) : body;
    at += 46 + named + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return files;
}

const ending = (name) => /\.\w+$/.exec(name)?.[0].toLowerCase();
const PARAMS = ['.npy', '.safetensors', '.params', '.gguf'];

export class Given {
  files = {};

  // Takes a file in.  Gives the text of a program that was dropped, undefined for
  // values; throws an Error for what neither is.  `run` runs the module.
  async take(name, bytes, run) {
    const kind = ending(name);
    if (kind === '.rly') return new TextDecoder().decode(bytes);
    if (kind === '.npz') {
      for (const [inner, body] of Object.entries(await unzipped(bytes)))
        this.files[`/${inner}`] = body;
    } else if (kind === '.onnx') {
      const [model, text, weights] = ['/model.onnx', '/model.rly',
                                      '/model.safetensors'];
      const done = await run(['import', model, '-o', '/model'],
                             {files: {[model]: bytes}, wanted: [text, weights]});
      if (!done?.made[text]) throw new Error(done?.err ?? 'stopped');
      if (done.made[weights]) this.files[weights] = done.made[weights];
      return new TextDecoder().decode(done.made[text]);
    } else if (PARAMS.includes(kind)) {
      this.files[`/${name}`] = bytes;
    } else {
      throw new Error(`${name} is none of ${PARAMS.join(' ')} .npz .onnx .rly`);
    }
  }

  forget(path) {
    delete this.files[path];
  }

  get words() {
    return Object.keys(this.files).flatMap((path) => ['--params', path]);
  }
}
