// The two modules that the program is split into (split/split.mjs): the second
// is loaded when the first calls something that is not in it.

// An instance of the first module.  `later` returns the second one, while the
// program waits.  The instance of the second puts its functions into the table
// of the first, so `later` is called once.
export function instance_of(first, later, imports) {
  const load = () => {
    new WebAssembly.Instance(later(), {primary: instance.exports});
  };
  const instance = new WebAssembly.Instance(first, {
    ...imports, rly: {...imports.rly, later: load},
  });
  return instance;
}

// Where the second module lies, by the path of the first.
export const later_of = (path) => path.replace(/\.wasm$/, '.later.wasm');
