// A page in a link.  After the `#`, which no browser sends to a server, stands the
// text, compressed, in base64 for addresses.  `&name=value` follows for each of
// these that is not as on a new page: the view, what its field asks, the cursor's
// place, and the files that were given.
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

// Makes of a page what stands after the `#` of its link (`fragment`).  Files that
// are too large for a link are left out, as `left_out` says.
export async function link_of({text, view, asked, at, files}) {
  const more = new URLSearchParams();
  if (view) more.set('view', view);
  if (asked !== undefined) more.set('asked', asked);
  if (at) more.set('at', at);
  const all = Object.entries(files);
  const size = all.reduce((n, [, bytes]) => n + bytes.length, 0);
  if (size && size <= SMALL)
    more.set('files', await packed(JSON.stringify(
      all.map(([path, bytes]) => [path, Array.from(bytes)]))));
  return {fragment: [await packed(text), more].filter(String).join('&'),
          left_out: size > SMALL};
}

// The files by path; undefined if the list is broken.
function unlisted(text) {
  try {
    return Object.fromEntries(JSON.parse(text).map(
      ([path, bytes]) => [path, Uint8Array.from(bytes)]));
  } catch {
    return undefined;
  }
}

// Reads the page back from what stands after the `#`; undefined if that is broken.
export async function page_of(fragment) {
  const [body, ...rest] = fragment.split('&');
  const more = new URLSearchParams(rest.join('&'));
  const text = await unpacked(body), list = more.get('files');
  const files = list ? unlisted(await unpacked(list)) : {};
  return text === undefined || !files ? undefined
    : {text, files, view: more.get('view'), asked: more.get('asked') ?? undefined,
       at: more.get('at') >>> 0};
}
