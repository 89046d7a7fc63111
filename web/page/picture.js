// Small pictures of tensors beside their values: a line for a vector, shades for
// a matrix.  They are drawn of the value's text, which is all that the page has.
//
// A scale says how numbers become colours and heights.  SEQUENTIAL goes from the
// least element to the greatest.  DIVERGING has zero in its middle, a colour for
// each sign, and bars for a vector: gradients are drawn so.
const MOST = 160, HIGH = 48; // pixels of a picture

// The numbers in a text, null for what is not finite; null: it is another text, or
// one that is shown in part.
function numbers_of(text) {
  const plain = text.replace(/\bTrue\b/g, '1').replace(/\bFalse\b/g, '0')
    .replace(/-?\b(?:nan|inf)(?:f|f64)?\b/g, 'null').replace(/(\d)\.(?!\d)/g, '$1')
    .replace(/(\d)(?:[fiu]\d*|bf16)\b/g, '$1');
  try {
    const numbers = [JSON.parse(plain)].flat(9);
    return numbers.every((n) => n === null || typeof n === 'number') ? numbers : null;
  } catch {
    return null;
  }
}

// {dims, numbers} of a tensor's text; null: of another value, of one that is
// shown in part, or of one with too few elements for a picture.
export function tensor_of(text) {
  const found = /^Tensor\[\((\d+)(?:, (\d+))?\), \w+\] (\[.*\])$/s.exec(text);
  if (!found) return null;
  const numbers = numbers_of(found[3]);
  const dims = [found[1], found[2]].filter(Boolean).map(Number);
  const size = dims.reduce((a, b) => a * b, 1);
  return size > 2 && numbers?.length === size ? {dims, numbers} : null;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

function draw_line(to, numbers, part, wide, high) {
  to.strokeStyle = colour('--value');
  to.beginPath();
  let on = false;
  numbers.forEach((n, i) => {
    const x = 1 + i * (wide - 2) / (numbers.length - 1);
    const y = 1 + (1 - part(n)) * (high - 2);
    if (n === null) on = false;
    else if (on) to.lineTo(x, y);
    else to.moveTo(x, y), on = true;
  });
  to.stroke();
}

// Bars up and down from the middle.
function draw_bars(to, numbers, part, wide, high) {
  const each = wide / numbers.length;
  to.fillStyle = colour('--line');
  to.fillRect(0, high / 2 - 0.5, wide, 1);
  numbers.forEach((n, i) => {
    to.fillStyle = sign_colour(n);
    const y = n === null ? 0 : (1 - part(n)) * high;
    to.fillRect(i * each, Math.min(y, high / 2), Math.max(each - 1, 1),
                n === null ? high : Math.abs(y - high / 2));
  });
}

const sign_colour = (n) =>
  colour(n === null ? '--ink' : n < 0 ? '--bad' : '--accent');

export const SEQUENTIAL = {
  range: (low, high) => [low, high], words: 'from', shape: 'a line',
  draw_vector: draw_line, high: 18,
  colour: (n) => colour(n === null ? '--bad' : '--value'),
  alpha: (part) => 0.08 + 0.92 * part,
};
export const DIVERGING = {
  range(low, high) {
    const most = Math.max(-low, high);
    return [-most, most];
  },
  words: 'around zero, from', shape: 'bars', draw_vector: draw_bars, high: 32,
  colour: sign_colour,
  alpha: (part) => Math.abs(2 * part - 1),
};

function draw_shades(to, numbers, columns, part, size, scale) {
  numbers.forEach((n, i) => {
    to.globalAlpha = n === null ? 1 : scale.alpha(part(n));
    to.fillStyle = scale.colour(n);
    to.fillRect(i % columns * size, Math.floor(i / columns) * size, size, size);
  });
}

// {dims, numbers, first, last, count} of the contents of a cell, as `rly watch
// --cells` tells them: a line of numbers, or of vectors a row of shades for each
// content.  null: of other contents, and of fewer than three.  `dims` are those of
// a picture, count the number of contents.
export function history_of(text) {
  const found = /^cell(?:, 1 in \d+ of (\d+))?: (.*)$/s.exec(text);
  const held = found?.[2].split(' -> ') ?? [];
  if (held.length < 3 || held.some((one) => one.endsWith('...'))) return null;
  const rows = held.map((one) => numbers_of(one.replace(/^Tensor\[.*?\), \w+\] /, '')));
  const size = rows[0]?.length;
  if (!size || rows.some((row) => row?.length !== size)) return null;
  return {dims: size > 1 ? [rows.length, size] : [rows.length],
          numbers: rows.flat(), count: +(found[1] ?? held.length)};
}

export function history_picture({dims, numbers, count}) {
  const canvas = picture({dims, numbers});
  canvas.ariaLabel = `${count} contents of a cell, one after another: ${
    canvas.ariaLabel}`;
  return canvas;
}

// A canvas; what is not finite has a colour of its own, or a gap.
export function picture({dims: [rows, columns], numbers}, scale = SEQUENTIAL) {
  const finite = numbers.filter((n) => n !== null);
  const least = Math.min(...finite), greatest = Math.max(...finite);
  const [low, high] = scale.range(least, greatest);
  const part = (n) => high > low ? (n - low) / (high - low) : 0.5;
  const canvas = document.createElement('canvas');
  const cell = columns && Math.max(1, Math.floor(
    Math.min(16, MOST / columns, HIGH / rows)));
  canvas.width = cell ? cell * columns : Math.min(MOST, 40 + 2 * rows);
  canvas.height = cell ? cell * rows : scale.high;
  canvas.className = 'picture';
  canvas.role = 'img';
  canvas.ariaLabel = `${cell ? 'shades' : scale.shape} ${finite.length
    ? `${scale.words} ${least} to ${greatest}` : 'without finite numbers'}`;
  const to = canvas.getContext('2d');
  if (cell) draw_shades(to, numbers, columns, part, cell, scale);
  else scale.draw_vector(to, numbers, part, canvas.width, canvas.height);
  return canvas;
}
