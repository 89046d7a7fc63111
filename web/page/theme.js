// Dark or light: as the system has it until the reader chooses.
export function start_theme(button) {
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    try {
      localStorage.theme = name;
    } catch { /* a page without storage forgets */ }
  };
  let kept;
  try {
    kept = localStorage.theme;
  } catch { /* none is kept */ }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  set(kept ?? (dark ? 'dark' : 'light'));
  button.onclick = () =>
    set(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}
