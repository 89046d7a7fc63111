// Streams whose other end is this program's: stdin of given pieces, each of
// which one read gets, and what was written to stdout and stderr.
export function capture(input = []) {
  const left = input.map((text) => new TextEncoder().encode(text));
  const chunks = [[], []];
  const stat = () => ({type: 'other', size: 0, number: 0, time: 0});
  const stream = (way) => ({stat, sync() {}, close() {}, ...way});
  const output = (to) => stream({
    write(bytes) {
      to.push(bytes.slice());
      return bytes.length;
    },
  });
  return {
    streams: [
      stream({
        read(bytes) {
          if (!left.length) return 0;
          const part = left[0].subarray(0, bytes.length);
          bytes.set(part);
          left[0] = left[0].subarray(part.length);
          if (!left[0].length) left.shift();
          return part.length;
        },
      }),
      output(chunks[0]), output(chunks[1]),
    ],
    text: () => chunks.map((list) => {
      const all = new Uint8Array(list.reduce((n, c) => n + c.length, 0));
      let at = 0;
      for (const c of list) all.set(c, at), at += c.length;
      return new TextDecoder().decode(all);
    }),
  };
}
