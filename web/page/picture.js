// Small pictures of tensors beside their values: a line for a vector, shades for
// a matrix.  They are drawn of the value's text, which is all that the page has.
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

function draw_shades(to, numbers, columns, part, size) {
  numbers.forEach((n, i) => {
    to.globalAlpha = n === null ? 1 : 0.08 + 0.92 * part(n);
    to.fillStyle = colour(n === null ? '--bad' : '--value');
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
export function picture({dims: [rows, columns], numbers}) {
  const finite = numbers.filter((n) => n !== null);
  const low = Math.min(...finite), high = Math.max(...finite);
  const part = (n) => high > low ? (n - low) / (high - low) : 0.5;
  const canvas = document.createElement('canvas');
  const cell = columns && Math.max(1, Math.floor(
    Math.min(16, MOST / columns, HIGH / rows)));
  canvas.width = cell ? cell * columns : Math.min(MOST, 40 + 2 * rows);
  canvas.height = cell ? cell * rows : 18;
  canvas.className = 'picture';
  canvas.role = 'img';
  canvas.ariaLabel = `${cell ? 'shades' : 'a line'} from ${low} to ${high}`;
  const to = canvas.getContext('2d');
  if (cell) draw_shades(to, numbers, columns, part, cell);
  else draw_line(to, numbers, part, canvas.width, canvas.height);
  return canvas;
}
