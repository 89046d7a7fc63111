// An element of the page with a text, and with other properties.
export function element(name, text, more = {}) {
  return Object.assign(document.createElement(name), {textContent: text, ...more});
}
