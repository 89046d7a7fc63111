// `@slider(0, 1)` in a comment puts a slider for the first number of its line
// after it; a third number is the step.  Moving it changes the text, and so the
// program runs again.
import {Decoration, ViewPlugin, WidgetType} from '@codemirror/view';

const NUMBER = '(-?\\d+(?:\\.\\d*)?(?:[eE][-+]?\\d+)?)';
const ASKED = new RegExp(`//.*@slider\\(\\s*${NUMBER}\\s*,\\s*${NUMBER}` +
                         `\\s*(?:,\\s*${NUMBER}\\s*)?\\)`);
const FIRST = new RegExp(`(?<![\\w.%@])${NUMBER}((?:bf16|[fiu]\\d*)?)\\b`);

// What a line's slider is, and where its number stands; null: it has none.
function slider_of(text) {
  const asked = ASKED.exec(text);
  if (!asked) return null;
  const code = text.slice(0, asked.index), from = code.indexOf('=') + 1;
  const number = FIRST.exec(code.slice(from));
  if (!number) return null;
  const whole = /^(?:[iu]\d*)?$/.test(number[2]) && /^-?\d+$/.test(number[1]);
  const [min, max] = [+asked[1], +asked[2]];
  return {min, max, step: +(asked[3] ?? (whole ? 1 : (max - min) / 100)),
          value: +number[1], from: from + number.index,
          to: from + number.index + number[1].length};
}

class Slider extends WidgetType {
  constructor(what) {
    super();
    this.what = what;
  }
  // One that has been moved is still the same slider.
  eq({what}) {
    return ['min', 'max', 'step', 'value'].every((k) => what[k] === this.what[k]);
  }
  updateDOM(dom) {
    const {min, max, step, value} = this.what;
    Object.assign(dom, {min, max, step});
    if (document.activeElement !== dom) dom.value = value;
    return true;
  }
  toDOM(view) {
    const dom = document.createElement('input');
    const {min, max, step, value} = this.what;
    Object.assign(dom, {type: 'range', min, max, step, className: 'slider'});
    dom.value = value;
    dom.ariaLabel = `The number of this line, from ${min} to ${max}`;
    dom.oninput = () => {
      const line = view.state.doc.lineAt(view.posAtDOM(dom));
      const now = slider_of(line.text);
      const insert = String(+(+dom.value).toPrecision(6));
      if (now && insert !== line.text.slice(now.from, now.to))
        view.dispatch({changes: {
          from: line.from + now.from, to: line.from + now.to, insert}});
    };
    return dom;
  }
  ignoreEvent() {
    return true;
  }
}

function sliders_of(view) {
  const found = [];
  for (const {from, to} of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at), what = slider_of(line.text);
      if (what)
        found.push(Decoration.widget({widget: new Slider(what), side: 2})
          .range(line.to));
      at = line.to + 1;
    }
  }
  return Decoration.set(found);
}

export const sliders = ViewPlugin.fromClass(class {
  constructor(view) {
    this.decorations = sliders_of(view);
  }
  update(u) {
    if (u.docChanged || u.viewportChanged) this.decorations = sliders_of(u.view);
  }
}, {decorations: (plugin) => plugin.decorations});
