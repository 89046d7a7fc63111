// The system of a WebAssembly module: those calls of WASI (preview 1) that rly
// makes, over a tree of files.  files-node.mjs has the tree of this machine,
// files-memory.mjs one of a page's own.
//
// A tree has open, stat, readlink, mkdir, rmdir, unlink and rename, by absolute
// paths.  An open file has read(bytes, at) and write(bytes, at), which return
// how many bytes went (`at` null: where it stands), stat(), list(), sync() and
// close().  What fails throws an error with the name of its errno as code.

const ERRNO = {
  EACCES: 2, EAGAIN: 6, EBADF: 8, EEXIST: 20, EFBIG: 22, EINVAL: 28, EIO: 29,
  EISDIR: 31, ELOOP: 32, EMFILE: 33, ENAMETOOLONG: 37, ENOENT: 44, ENOMEM: 48,
  ENOSPC: 51, ENOSYS: 52, ENOTDIR: 54, ENOTEMPTY: 55, EPERM: 63, EPIPE: 64,
  EROFS: 69, ESPIPE: 70, EXDEV: 75,
};
const TYPE = {other: 0, device: 2, folder: 3, file: 4, link: 7};
const CREATE = 1, FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8; // of path_open
const APPEND = 1;                                          // of descriptors
const CAN_READ = 2n, CAN_SEEK = 4n, CAN_TELL = 32n, CAN_WRITE = 64n;
const ROOT = 3; // the descriptor of `/`

export class Failure extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

// Ends the module from within.
export class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`);
    this.status = status;
  }
}

// The path without `.`, `..` and doubled slashes.
function joined(folder, path) {
  const names = [];
  for (const name of `${folder}/${path}`.split('/')) {
    if (name === '..') names.pop();
    else if (name && name !== '.') names.push(name);
  }
  return '/' + names.join('/');
}

const text = new TextDecoder(), bytes = new TextEncoder();

// `streams` are the open files of stdin, stdout and stderr; `random` fills an
// array.  The result's `imports` go to the instance, whose memory `start` takes.
export function system({args, env, files, streams, random}) {
  const words = args.map((word) => bytes.encode(`${word}\0`));
  const settings = Object.entries(env)
    .map(([name, value]) => bytes.encode(`${name}=${value}\0`));
  const open = new Map(streams.map((file, fd) => [fd, {file, at: null}]));
  open.set(ROOT, {path: '/', file: files.open('/', {folder: true})});
  let memory;

  const view = () => new DataView(memory.buffer);
  const slice = (at, size) => new Uint8Array(memory.buffer, at, size);
  const at_fd = (fd) => open.get(fd) ?? fail('EBADF');
  const path_of = (fd, at, size) =>
    joined(at_fd(fd).path ?? fail('ENOTDIR'), text.decode(slice(at, size)));
  const fail = (code) => {
    throw new Failure(code);
  };

  // A call returns 0, or the number of what it throws.
  function call(run) {
    return (...values) => {
      try {
        return run(...values) ?? 0;
      } catch (e) {
        if (e instanceof Exit || !(e.code in ERRNO)) throw e;
        return ERRNO[e.code];
      }
    };
  }

  // Lists of strings: a table of pointers, and the bytes.
  function sizes(list, count, size) {
    view().setUint32(count, list.length, true);
    view().setUint32(size, list.reduce((n, b) => n + b.length, 0), true);
  }
  function put(list, table, at) {
    list.forEach((b, i) => {
      view().setUint32(table + 4 * i, at, true);
      slice(at, b.length).set(b);
      at += b.length;
    });
  }

  // Goes over the buffers of a read or a write until one is not used up.
  function each_buffer(list, count, done, move) {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const buffer = slice(view().getUint32(list + 8 * i, true),
                           view().getUint32(list + 8 * i + 4, true));
      if (!buffer.length) continue;
      const n = move(buffer, total);
      total += n;
      if (n < buffer.length) break;
    }
    view().setUint32(done, total, true);
  }

  // `at` null: where the descriptor stands, which moves on, or in a stream.
  function move(fd, how, list, count, at, done) {
    const d = at_fd(fd);
    each_buffer(list, count, done, (buffer, total) => {
      if (at !== null) return d.file[how](buffer, at + total);
      if (d.append && how === 'write') d.at = d.file.stat().size;
      const n = d.file[how](buffer, d.at);
      if (d.at !== null) d.at += n;
      return n;
    });
  }

  function put_stat(at, is) {
    slice(at, 64).fill(0);
    const v = view(), time = BigInt(Math.round(is.time * 1e6));
    v.setBigUint64(at + 8, BigInt(is.number), true);
    v.setUint8(at + 16, TYPE[is.type]);
    v.setBigUint64(at + 24, BigInt(is.links ?? 1), true);
    v.setBigUint64(at + 32, BigInt(is.size), true);
    for (const field of [40, 48, 56]) v.setBigUint64(at + field, time, true);
  }

  // Waits for the first clock; a descriptor is ready, unless a clock is there,
  // since nothing tells whether a read of it would wait.
  function poll(list, events, count, done) {
    let clock = -1, longest = Infinity, n = 0;
    for (let i = 0; i < count; i++) {
      const at = list + 48 * i;
      if (view().getUint8(at + 8) !== 0) continue;
      const wait = Number(view().getBigUint64(at + 24, true)) / 1e6;
      if (wait < longest) longest = wait, clock = i;
    }
    if (clock >= 0 && longest > 0)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, longest);
    for (let i = 0; i < count; i++) {
      if (clock >= 0 && i !== clock) continue;
      const at = list + 48 * i, to = events + 32 * n++;
      slice(to, 32).fill(0);
      slice(to, 8).set(slice(at, 8));
      view().setUint8(to + 10, view().getUint8(at + 8));
    }
    view().setUint32(done, n, true);
  }

  const calls = {
    args_sizes_get: (count, size) => sizes(words, count, size),
    args_get: (table, at) => put(words, table, at),
    environ_sizes_get: (count, size) => sizes(settings, count, size),
    environ_get: (table, at) => put(settings, table, at),
    clock_time_get(clock, precision, at) {
      const now = clock ? performance.now() : Date.now();
      view().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
    },
    random_get: (at, size) => random(slice(at, size)),
    proc_exit(status) {
      throw new Exit(status);
    },
    poll_oneoff: poll,

    fd_close(fd) {
      at_fd(fd).file.close();
      open.delete(fd);
    },
    fd_fdstat_get(fd, at) {
      const d = at_fd(fd), type = d.file.stat().type;
      const seeks = d.at !== null ? CAN_SEEK | CAN_TELL : 0n;
      slice(at, 24).fill(0);
      view().setUint8(at, TYPE[type]);
      view().setUint16(at + 2, d.append ? APPEND : 0, true);
      view().setBigUint64(at + 8, CAN_READ | CAN_WRITE | seeks, true);
      view().setBigInt64(at + 16, -1n, true); // what is opened below it may all
    },
    fd_fdstat_set_flags: (fd, flags) => {
      at_fd(fd).append = !!(flags & APPEND);
    },
    fd_filestat_get: (fd, at) => put_stat(at, at_fd(fd).file.stat()),
    fd_prestat_get(fd, at) {
      if (fd !== ROOT) fail('EBADF');
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
    },
    fd_prestat_dir_name: (fd, at) => slice(at, 1).set(bytes.encode('/')),
    fd_read: (fd, list, count, done) =>
      move(fd, 'read', list, count, null, done),
    fd_pread: (fd, list, count, at, done) =>
      move(fd, 'read', list, count, Number(at), done),
    fd_write: (fd, list, count, done) =>
      move(fd, 'write', list, count, null, done),
    fd_seek(fd, by, from, at) {
      const d = at_fd(fd);
      if (d.at === null) fail('ESPIPE');
      const base = [0, d.at, from === 2 ? d.file.stat().size : 0][from];
      const to = base + Number(by);
      if (to < 0) fail('EINVAL');
      d.at = to;
      view().setBigUint64(at, BigInt(to), true);
    },
    fd_sync: (fd) => at_fd(fd).file.sync(),
    fd_readdir(fd, at, size, from, used) {
      const d = at_fd(fd);
      const all = d.list ??= d.file.list();
      let n = 0;
      for (let i = Number(from); i < all.length && n < size; i++) {
        const name = bytes.encode(all[i].name);
        const entry = new Uint8Array(24 + name.length);
        const e = new DataView(entry.buffer);
        e.setBigUint64(0, BigInt(i + 1), true);
        e.setBigUint64(8, BigInt(i + 1), true);
        e.setUint32(16, name.length, true);
        e.setUint8(20, TYPE[all[i].type]);
        entry.set(name, 24);
        const part = entry.subarray(0, size - n);
        slice(at + n, part.length).set(part);
        n += part.length;
      }
      view().setUint32(used, n, true);
    },

    path_open(fd, follow, at, size, how, rights, inherited, flags, out) {
      const path = path_of(fd, at, size);
      const file = files.open(path, {
        create: !!(how & CREATE), folder: !!(how & FOLDER),
        exclusive: !!(how & EXCLUSIVE), truncate: !!(how & TRUNCATE),
        write: !!(rights & CAN_WRITE), read: !!(rights & CAN_READ),
        follow: !!follow,
      });
      let next = ROOT + 1;
      while (open.has(next)) next++;
      const type = file.stat().type;
      open.set(next, {
        file, append: !!(flags & APPEND),
        path: type === 'folder' ? path : undefined,
        at: type === 'file' ? 0 : null,
      });
      view().setUint32(out, next, true);
    },
    path_filestat_get: (fd, follow, at, size, out) =>
      put_stat(out, files.stat(path_of(fd, at, size), !!follow)),
    path_readlink(fd, at, size, out, room, used) {
      const link = bytes.encode(files.readlink(path_of(fd, at, size)));
      const part = link.subarray(0, room);
      slice(out, part.length).set(part);
      view().setUint32(used, part.length, true);
    },
    path_create_directory: (fd, at, size) => files.mkdir(path_of(fd, at, size)),
    path_remove_directory: (fd, at, size) => files.rmdir(path_of(fd, at, size)),
    path_unlink_file: (fd, at, size) => files.unlink(path_of(fd, at, size)),
    path_rename: (fd, at, size, to_fd, to, to_size) =>
      files.rename(path_of(fd, at, size), path_of(to_fd, to, to_size)),
  };

  const imports = {};
  for (const name in calls) imports[name] = call(calls[name]);
  return {
    imports: {wasi_snapshot_preview1: imports},
    // Runs the program; the exit status.
    start(instance) {
      memory = instance.exports.memory;
      try {
        instance.exports._start();
        return 0;
      } catch (e) {
        if (e instanceof Exit) return e.status;
        throw e;
      }
    },
  };
}
