/**
 * Draws growth curves: cost against number, both as they are told, in one SVG without any script.
 *
 * @module
 */

export interface Curve {
  readonly title: string;
  readonly unit: string;
  /** From the smallest number to the largest. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

const WIDTH = 300;
const HEIGHT = 200;
const LEFT = 52;
const RIGHT = 16;
const TOP = 34;
const BOTTOM = 40;

const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #444 }
  .title { font-weight: 600; font-size: 12px; fill: #111 }
  .axis { stroke: #999 }
  .grid { stroke: #ddd }
  .curve { fill: none; stroke: #0a58ca; stroke-width: 2 }
  .point { fill: #0a58ca }
  @media (prefers-color-scheme: dark) {
    text { fill: #bbb } .title { fill: #eee } .grid { stroke: #444 }
    .curve { stroke: #7ab0ff } .point { fill: #7ab0ff }
  }`;

/** Two charts a line. */
export function chartOf(curves: readonly Curve[]): string {
  const lines = Math.ceil(curves.length / 2);
  const drawn = curves.map((curve, place) => {
    const x = (place % 2) * WIDTH;
    const y = Math.floor(place / 2) * HEIGHT;
    return `<g transform="translate(${x} ${y})">${draw(curve)}</g>`;
  });
  const size = `width="${2 * WIDTH}" height="${lines * HEIGHT}"`;
  const box = `viewBox="0 0 ${2 * WIDTH} ${lines * HEIGHT}"`;
  const title = '<title>Growth curves</title>';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box} role="img">${title}<style>${STYLE}
</style>
${drawn.join('\n')}
</svg>
`;
}

function draw({ title, unit, points }: Curve): string {
  const top = 1.25 * Math.max(...points.map(({ value }) => value));
  const x = scaleOf(points.map(({ at }) => at));
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const places = points.map(({ at, value }) => ({ at, value, x: x(at), y: y(value) }));
  const floor = HEIGHT - BOTTOM;
  return [
    `<text class="title" x="8" y="16">${title}</text>`,
    ...[0.5, 1].map((part) => {
      const level = y(top * part);
      const line = `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${level}" y2="${level}"/>`;
      return `${line}<text x="${LEFT - 6}" y="${level + 4}" text-anchor="end">${figure(top * part)}</text>`;
    }),
    `<text x="8" y="${TOP - 6}">${unit}</text>`,
    `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${floor}" y2="${floor}"/>`,
    `<polyline class="curve" points="${places.map((point) => `${point.x},${point.y}`).join(' ')}"/>`,
    ...places.map(
      (point) =>
        `<circle class="point" cx="${point.x}" cy="${point.y}" r="3"/>` +
        `<text x="${point.x}" y="${floor + 16}" text-anchor="middle">${figure(point.at)}</text>`,
    ),
  ].join('');
}

/** By powers of ten where the numbers span more than one. */
function scaleOf(values: readonly number[]): (value: number) => number {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const form = least > 0 && most / least > 10 ? Math.log10 : (value: number) => value;
  const span = form(most) - form(least) || 1;
  const width = WIDTH - LEFT - RIGHT - 20;
  return (value) => round(LEFT + 10 + ((form(value) - form(least)) / span) * width);
}

function figure(value: number): string {
  if (value >= 1_000_000) return `${round(value / 1_000_000)} M`;
  if (value >= 1_000) return `${round(value / 1_000)} k`;
  return String(value >= 10 ? Math.round(value) : round(value));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
