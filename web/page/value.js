// What can be drawn of a value's text: small pictures of tensors, a tree, a line of
// what a cell held.
import {history_of, history_picture, picture, tensor_of} from './picture.js';
import {drawing, tree_of} from './tree.js';

const MOST = 8; // pictures of tensors in one value

// The texts of the tensors in a value's text.
function* tensors_in(text) {
  for (const {0: type, index} of text.matchAll(/\bTensor\[[^\]]*\] (?=\[)/g)) {
    let at = index + type.length;
    for (let open = 0; at < text.length; at++)
      if (text[at] === '[') open++;
      else if (text[at] === ']' && --open === 0) break;
    yield text.slice(index, at + 1);
  }
}

// Pictures of the tensors in a value; `scale` is that of picture.js.
export function tensor_pictures(text, scale) {
  const found = [...tensors_in(text)].map(tensor_of).filter(Boolean);
  return found.slice(0, MOST).map((tensor) => picture(tensor, scale));
}

// What stands before a value's text in a line of the program.
export function pictures(text) {
  const held = history_of(text), tree = tree_of(text);
  if (held) return [history_picture(held)];
  if (tree) return [drawing(tree)];
  return text.startsWith('cell') ? [] : tensor_pictures(text);
}
