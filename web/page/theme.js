// Dark or light: as the system has it until the reader chooses, which is an event
// `theme` of the window.
const show = (name) => document.documentElement.dataset.theme = name;

export function start_theme(button) {
  let kept;
  try {
    kept = localStorage.theme;
  } catch { /* a page without storage has none */ }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  show(kept ?? (dark ? 'dark' : 'light'));
  button.onclick = () => {
    const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    show(name);
    dispatchEvent(new Event('theme'));
    try {
      localStorage.theme = name;
    } catch { /* a page without storage keeps none */ }
  };
}
