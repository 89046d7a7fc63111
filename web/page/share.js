// A page in a link: after the `#`, which no browser sends to a server, the text,
// compressed, in base64 for addresses; and then, as `&name=`, what else is not as
// a page begins: the view, where the cursor is, and the files that were given.
async function through(bytes, stream) {
  const body = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(body).arrayBuffer());
}

const SMALL = 100_000; // bytes of files that a link may hold

export async function packed(text) {
  const bytes = await through(text, new CompressionStream('deflate-raw'));
  let plain = '';
  for (const byte of bytes) plain += String.fromCharCode(byte);
  return btoa(plain)
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// Undefined: the link is broken.
async function unpacked(fragment) {
  try {
    const plain = atob(fragment.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(plain, (c) => c.charCodeAt(0));
    return new TextDecoder().decode(
      await through(bytes, new DecompressionStream('deflate-raw')));
  } catch {
    return undefined;
  }
}

// {text, view, at, files} as what stands after the `#`, and whether files that are
// too large for it were left out.
export async function link_of({text, view, at, files}) {
  const more = new URLSearchParams();
  if (view) more.set('view', view);
  if (at) more.set('at', at);
  const all = Object.entries(files);
  const size = all.reduce((n, [, bytes]) => n + bytes.length, 0);
  if (size && size <= SMALL)
    more.set('files', await packed(JSON.stringify(
      all.map(([path, bytes]) => [path, Array.from(bytes)]))));
  return {fragment: [await packed(text), more].filter(String).join('&'),
          left_out: size > SMALL};
}

function files_of(text) {
  try {
    return Object.fromEntries(JSON.parse(text).map(
      ([path, bytes]) => [path, Uint8Array.from(bytes)]));
  } catch {
    return undefined;
  }
}

// The same from a link; undefined: it is broken.
export async function page_of(fragment) {
  const [body, ...rest] = fragment.split('&');
  const more = new URLSearchParams(rest.join('&'));
  const text = await unpacked(body), list = more.get('files');
  const files = list ? files_of(await unpacked(list)) : {};
  return text === undefined || !files ? undefined
    : {text, files, view: more.get('view'), at: more.get('at') >>> 0};
}
