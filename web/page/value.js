// What can be drawn of a value's text: a small picture of a tensor, a tree, a line
// of what a cell held.
import {history_of, history_picture, picture, tensor_of} from './picture.js';
import {drawing, tree_of} from './tree.js';

// Elements that stand before the text; `scale` is a picture's (picture.js).
export function pictures(text, scale) {
  const tensor = tensor_of(text), tree = tree_of(text), held = history_of(text);
  return [tensor && picture(tensor, scale), tree && drawing(tree),
          held && history_picture(held)].filter(Boolean);
}
