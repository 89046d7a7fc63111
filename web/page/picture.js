// Small pictures of tensors beside their values: a line for a vector, shades for
// a matrix.  They are drawn of the value's text, which is all that the page has.
const MOST = 160, HIGH = 48; // pixels of a picture

// {dims, numbers} of a tensor's text; null: of another value, of one that is
// shown in part, or of one with too few elements for a picture.
export function tensor_of(text) {
  const found = /^Tensor\[\((\d+)(?:, (\d+))?\), \w+\] (\[.*\])$/s.exec(text);
  if (!found) return null;
  const plain = found[3].replace(/\bTrue\b/g, '1').replace(/\bFalse\b/g, '0')
    .replace(/-?\b(?:nan|inf)\b/g, 'null').replace(/(\d)\.(?!\d)/g, '$1');
  try {
    const numbers = JSON.parse(plain).flat();
    const dims = [found[1], found[2]].filter(Boolean).map(Number);
    const size = dims.reduce((a, b) => a * b, 1);
    return size > 2 && numbers.length === size ? {dims, numbers} : null;
  } catch {
    return null;
  }
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
