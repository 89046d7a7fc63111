// A tree of files in memory (wasi.mjs): what a page has instead of a disk.
// There are no links, and nothing is ever said of times.
import {Failure} from './wasi.mjs';

const fail = (code) => {
  throw new Failure(code);
};

// Of an object from paths to bytes.
export function memory_files(given = {}) {
  const nodes = new Map();
  let number = 0;
  const put = (path, bytes) => {
    const node = {bytes, size: bytes?.length ?? 0, number: ++number};
    nodes.set(path, node);
    return node;
  };
  const above = (path) => path.slice(0, path.lastIndexOf('/')) || '/';
  const folders = (path) => {
    if (nodes.has(path)) return;
    if (path !== '/') folders(above(path));
    put(path, null);
  };
  folders('/tmp');
  for (const [path, bytes] of Object.entries(given)) {
    folders(above(path));
    put(path, bytes);
  }

  const at = (path) => nodes.get(path) ?? fail('ENOENT');
  const facts = (node) => ({type: node.bytes ? 'file' : 'folder',
                            size: node.size, number: node.number, time: 0});
  const below = (path) => [...nodes.keys()].filter(
    (p) => p !== '/' && above(p) === path);

  function write(node, bytes, from) {
    const end = from + bytes.length;
    if (end > node.bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * node.bytes.length));
      larger.set(node.bytes.subarray(0, node.size));
      node.bytes = larger;
    }
    node.bytes.set(bytes, from);
    node.size = Math.max(node.size, end);
    return bytes.length;
  }

  return {
    open(path, how) {
      let node = nodes.get(path);
      if (node && how.exclusive) fail('EEXIST');
      if (!node && !how.create) fail('ENOENT');
      if (!node && at(above(path)).bytes) fail('ENOTDIR');
      if (node?.bytes && how.folder) fail('ENOTDIR');
      node ??= put(path, new Uint8Array(0));
      if (how.truncate) node.size = 0;
      return {
        read(bytes, from) {
          if (!node.bytes) fail('EISDIR');
          const part = node.bytes.subarray(
            Math.min(from, node.size), Math.min(from + bytes.length, node.size));
          bytes.set(part);
          return part.length;
        },
        write: (bytes, from) =>
          node.bytes ? write(node, bytes, from) : fail('EISDIR'),
        stat: () => facts(node),
        list: () => below(path).map((p) => ({
          name: p.slice(p.lastIndexOf('/') + 1), type: facts(at(p)).type,
        })),
        sync() {},
        close() {},
      };
    },
    stat: (path) => facts(at(path)),
    readlink: (path) => at(path) && fail('EINVAL'),
    mkdir: (path) => nodes.has(path) ? fail('EEXIST')
      : at(above(path)) && void put(path, null),
    rmdir(path) {
      if (at(path).bytes) fail('ENOTDIR');
      if (below(path).length) fail('ENOTEMPTY');
      nodes.delete(path);
    },
    unlink: (path) => at(path).bytes ? void nodes.delete(path) : fail('EISDIR'),
    rename(from, to) {
      const node = at(from);
      if (!node.bytes) fail('EISDIR');
      nodes.delete(from);
      nodes.set(to, node);
    },
    // The bytes of a file; undefined: there is none.
    get(path) {
      const node = nodes.get(path);
      return node?.bytes?.slice(0, node.size);
    },
  };
}
