// Draws values that branch as trees beside their lines, from the text of the value.
// A constructor is a node; the constructors among its arguments hang below it, and
// its other arguments stand in its label.
const MOST = 40; // nodes in a drawing
// In pixels: the width of a letter, the height of a level, the gap between nodes.
const WIDE = 7, HIGH = 30, GAP = 8;
const LETTERS = 12; // in a label

// Where the argument that begins at a place ends: before the comma or the closing
// bracket of the constructor that holds it.
function end_of(text, at) {
  for (let open = 0; at < text.length; at++) {
    if ('([{<'.includes(text[at])) open++;
    else if (')]}>'.includes(text[at]) && text[at - 1] !== '-' && --open < 0) break;
    else if (text[at] === ',' && !open) break;
  }
  return at;
}

// The root {label, below} of the tree in a value's text; null if the value is no
// constructor, does not branch, or has more than MOST nodes.
export function tree_of(text) {
  let at = 0, count = 0, branches = false;
  // Reads the constructor of this name, which stands at `at`.
  function node(name) {
    if (++count > MOST) return null;
    const made = {label: name, below: []};
    at += name.length;
    if (text[at] !== '(') return made;
    do {
      at += text[at] === '(' ? 1 : 2; // past the bracket, or past `, `
      const inner = name_at();
      const part = inner ? node(inner) : text.slice(at, at = end_of(text, at));
      if (part === null) return null;
      if (inner) made.below.push(part);
      else made.label += ` ${part.replace(/^Tensor\[.*?\)?, \w+\] /, '')}`;
    } while (text[at] === ',');
    at++;
    branches ||= made.below.length > 1;
    return made;
  }
  const name_at = () => /^(?!Tensor\[|True\b|False\b)[A-Z]\w*/
    .exec(text.slice(at, at + 80))?.[0];
  const name = name_at();
  const made = name ? node(name) : null;
  return made && branches && at === text.length ? made : null;
}

// Gives each node its letters and its place: `x` of its middle and its level `y`.
function place(node, from, level) {
  const {label, below} = node;
  node.letters = label.length > LETTERS ? `${label.slice(0, LETTERS - 1)}…` : label;
  const own = node.letters.length * WIDE + GAP;
  let to = from;
  for (const child of below) to = place(child, to, level + 1);
  const first = below[0]?.x ?? from + own / 2, last = below.at(-1)?.x ?? first;
  node.x = Math.max((first + last) / 2, from + own / 2);
  node.y = level;
  return Math.max(to, node.x + own / 2);
}

const nodes_of = (node) => [node, ...node.below.flatMap(nodes_of)];

export function drawing(tree) {
  const element = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  };
  const wide = place(tree, 0, 0), all = nodes_of(tree);
  const levels = 1 + Math.max(...all.map(({y}) => y));
  const svg = element('svg', {
    class: 'tree', role: 'img', width: wide, height: levels * HIGH - 12,
    'aria-label': `a tree of ${all.length} nodes on ${levels} levels`});
  for (const {x, y, below} of all)
    for (const child of below)
      svg.append(element('line', {x1: x, y1: y * HIGH + 17, x2: child.x,
                                  y2: child.y * HIGH + 3}));
  for (const {x, y, letters} of all) {
    const text = element('text', {x, y: y * HIGH + 14, 'text-anchor': 'middle'});
    text.textContent = letters;
    svg.append(text);
  }
  return svg;
}
