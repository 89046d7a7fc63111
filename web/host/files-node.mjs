// The files of this machine, under node (wasi.mjs).
import * as fs from 'node:fs';

const nap = new Int32Array(new SharedArrayBuffer(4));

function type_of(is) {
  if (is.isFile()) return 'file';
  if (is.isDirectory()) return 'folder';
  if (is.isSymbolicLink()) return 'link';
  return is.isCharacterDevice() ? 'device' : 'other';
}

function facts(is) {
  return {type: type_of(is), size: is.size, number: is.ino, links: is.nlink,
          time: is.mtimeMs};
}

// Node opens pipes so that a read or write that would wait fails.
function waiting(run) {
  for (;;) {
    try {
      return run();
    } catch (e) {
      if (e.code === 'EOF') return 0;
      if (e.code !== 'EAGAIN') throw e;
      Atomics.wait(nap, 0, 0, 2);
    }
  }
}

export function opened(fd, path) {
  return {
    read: (bytes, at) =>
      waiting(() => fs.readSync(fd, bytes, 0, bytes.length, at)),
    write: (bytes, at) =>
      waiting(() => fs.writeSync(fd, bytes, 0, bytes.length, at)),
    stat: () => facts(fs.fstatSync(fd)),
    list: () => fs.readdirSync(path, {withFileTypes: true})
      .map((e) => ({name: e.name, type: type_of(e)})),
    sync: () => fs.fsyncSync(fd),
    close: () => fs.closeSync(fd),
  };
}

export const files = {
  open(path, how) {
    const c = fs.constants;
    let flags = how.write ? (how.read ? c.O_RDWR : c.O_WRONLY) : c.O_RDONLY;
    if (how.folder) flags = c.O_RDONLY | c.O_DIRECTORY;
    if (how.create) flags |= c.O_CREAT;
    if (how.exclusive) flags |= c.O_EXCL;
    if (how.truncate) flags |= c.O_TRUNC;
    if (how.follow === false) flags |= c.O_NOFOLLOW;
    return opened(fs.openSync(path, flags | c.O_NONBLOCK), path);
  },
  stat: (path, follow) => facts(follow ? fs.statSync(path) : fs.lstatSync(path)),
  readlink: (path) => fs.readlinkSync(path),
  mkdir: (path) => fs.mkdirSync(path),
  rmdir: (path) => fs.rmdirSync(path),
  unlink: (path) => fs.unlinkSync(path),
  rename: (from, to) => fs.renameSync(from, to),
};
