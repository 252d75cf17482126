/**
 * Reads a Markdown page as text: its headings with the anchors that GitHub gives them, and its links.
 *
 * The site and the test of links share this, so that an anchor which leads somewhere in the repository leads to
 * the same heading on the site. Code is no text: neither a fence nor a quoted name has headings or links.
 *
 * @module
 */

export interface Heading {
  readonly level: number;
  readonly text: string;
  /** Unique on its page. */
  readonly anchor: string;
}

export interface Link {
  readonly text: string;
  /** As written: relative, absolute or `#anchor`. */
  readonly target: string;
}

const FENCE = /^([ \t]*)(`{3,}|~{3,})[^\n]*\n(?:[\s\S]*?\n)??[ \t]*\2[`~]*[ \t]*$/gm;
const COMMENT = /<!--[\s\S]*?-->/g;
const INLINE_CODE = /(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/gm;
/** The text of a link may have an image in it. */
const LINK =
  /(?<!!)\[((?:[^[\]]|!?\[[^\]]*\](?:\([^)]*\))?)*)\]\(\s*<?([^\s)>]*)>?(?:\s+["'][^)]*)?\s*\)/g;
const IMAGE = /!\[([^\]]*)\]\(\s*<?([^\s)>]*)>?(?:\s+["'][^)]*)?\s*\)/g;
const DEFINITION = /^ {0,3}\[([^\]^]+)\]:\s*<?(\S+?)>?(?:\s+["'(].*)?$/gm;
const ATTRIBUTE = /<[a-zA-Z][^<>]*?\s(href|src|poster|srcset)="([^"]*)"/g;

/** What GitHub makes of the text of a heading, without the number that it adds to a repeated one. */
export function anchorOf(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

export function headingsOf(markdown: string): Heading[] {
  const seen = new Map<string, number>();
  return [...withoutFences(markdown).matchAll(HEADING)].map(([, marks = '', written = '']) => {
    const text = plain(written);
    const anchor = anchorOf(text);
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return { level: marks.length, text, anchor: before === 0 ? anchor : `${anchor}-${before}` };
  });
}

export function titleOf(markdown: string): string | undefined {
  return headingsOf(markdown).find(({ level }) => level === 1)?.text;
}

/** First the links in the order of the text, then images, definitions of links, and addresses in HTML. */
export function linksOf(markdown: string): Link[] {
  const text = withoutFences(markdown).replace(INLINE_CODE, (code) => '`'.repeat(code.length));
  const written = [LINK, IMAGE, DEFINITION].flatMap((pattern) => [...text.matchAll(pattern)]);
  return [
    ...written.map(([, label = '', target = '']) => ({ text: plain(label), target })),
    ...[...text.matchAll(ATTRIBUTE)].flatMap(([, name = '', value = '']) =>
      (name === 'srcset'
        ? value.split(',').map((each) => each.trim().split(/\s/)[0] ?? '')
        : [value]
      ).map((target) => ({ text: '', target })),
    ),
  ];
}

function withoutFences(markdown: string): string {
  return markdown.replace(FENCE, '').replace(COMMENT, '');
}

/** Without the marks of emphasis, code and links. */
function plain(text: string): string {
  return text
    .replace(IMAGE, '')
    .replace(LINK, '$1')
    .replace(/(?<!\w)_([^_]+)_(?!\w)/g, '$1')
    .replace(/[*`]/g, '')
    .trim();
}
