// A program in a link: the text, compressed, in base64 for addresses, after the
// `#`, which no browser sends to a server.
async function through(bytes, stream) {
  const body = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(body).arrayBuffer());
}

export async function packed(text) {
  const bytes = await through(text, new CompressionStream('deflate-raw'));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// Undefined: the link is broken.
export async function unpacked(fragment) {
  try {
    const plain = atob(fragment.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(plain, (c) => c.charCodeAt(0));
    return new TextDecoder().decode(
      await through(bytes, new DecompressionStream('deflate-raw')));
  } catch {
    return undefined;
  }
}
