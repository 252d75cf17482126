/**
 * Which of two forms of a document a client wants, as RFC 9110 has it ask.
 *
 * @module
 */

/**
 * Whether HTML is wanted more than JSON, or as much and by a more exact name. Browsers name HTML;
 * programs name JSON, anything, or nothing.
 */
export function prefersHtml(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map(rangeOf);
  const html = wishFor('text/html', ranges);
  const json = wishFor('application/json', ranges);
  if (html.quality !== json.quality) return html.quality > json.quality;
  return html.quality > 0 && html.rank > json.rank;
}

interface Range {
  readonly name: string;
  readonly quality: number;
}

function rangeOf(text: string): Range {
  const [name = '', ...parameters] = text
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const given = parameters.find((each) => /^q *=/.test(each));
  const quality = given === undefined ? 1 : Number(/^q *= *([01](?:\.\d{0,3})?)$/.exec(given)?.[1]);
  return { name, quality: quality <= 1 ? quality : 0 };
}

/** The most exact range that matches decides, whatever others say. */
function wishFor(type: string, ranges: readonly Range[]): { quality: number; rank: number } {
  const names = ['*/*', `${type.split('/')[0]}/*`, type];
  const rank = Math.max(...ranges.map(({ name }) => names.indexOf(name)));
  const quality = ranges.find(({ name }) => name === names[rank])?.quality ?? 0;
  return { quality, rank };
}
