/**
 * Markdown as GitHub reads it, for VitePress: our pages are written for both and contain nothing for Vue.
 *
 * VitePress compiles a page as a Vue template. Braces in text and names in angle brackets would be code of that
 * template; here they stay text. Comments are left out, links lead to where the site has their target, and a fence
 * that names a file shows the name.
 *
 * @module
 */

import { htmlLink, type LinkRules, siteLink } from './links.ts';

/** The part of markdown-it that is used here; the site alone installs it. */
interface Token {
  type: string;
  info: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
interface Environment {
  readonly path?: string;
  /** Before VitePress gave the page another place. */
  readonly realPath?: string;
}
type Render = (tokens: Token[], index: number, ...rest: unknown[]) => string;
export interface MarkdownIt {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { tokens: Token[]; env: Environment }) => void): void;
    };
  };
  readonly renderer: { readonly rules: Record<string, Render | undefined> };
  readonly linkify: { set(options: { readonly fuzzyEmail: boolean }): void };
  disable(rules: string[], ignoreInvalid: boolean): void;
}

export interface PageRules extends LinkRules {
  /** The path of a page from the root of the repository. */
  sourceOf(path: string): string;
  /** Where the site is on its host: begins and ends with a slash. */
  readonly base: string;
}

/** Elements that a page may write as HTML. Any other name in angle brackets is text. */
const ELEMENTS = new Set(
  (
    'a abbr b bdi blockquote br caption code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ' +
    'ins kbd li ol p picture pre q s samp small source span strong sub summary sup svg table tbody td th thead tr u ul ' +
    'var video'
  ).split(' '),
);

export function readAsGitHub(md: MarkdownIt, rules: PageRules): void {
  // Each would turn text of ours into something else: `:name:`, and lines that begin with `<<<`.
  md.disable(['emoji', 'snippet'], true);
  // A principal such as human:ann@example.com is no address of mail.
  md.linkify.set({ fuzzyEmail: false });
  md.core.ruler.push('writ-links', ({ tokens, env }) => {
    const source = sourceIn(env, rules);
    for (const token of tokens) rewriteLinks(token, (href) => siteLink(href, source, rules), rules);
  });
  wrap(md, 'text', (html) => withoutBraces(html));
  wrap(md, 'code_inline', (html) => html.replace(/^<code(?! v-pre)/, '<code v-pre'));
  wrap(md, 'fence', (html, { info }) => captioned(html, info));
  for (const name of ['html_inline', 'html_block']) {
    wrap(md, name, (html, _token, env) => {
      const source = sourceIn(env, rules);
      // The site's own pages may use the site's components.
      return source.startsWith('site/') ? html : safeHtml(html, source, rules);
    });
  }
}

function sourceIn({ realPath, path = '' }: Environment, { sourceOf }: PageRules): string {
  return sourceOf(realPath ?? path);
}

function wrap(
  md: MarkdownIt,
  name: string,
  change: (html: string, token: Token, env: Environment) => string,
): void {
  const before = md.renderer.rules[name];
  md.renderer.rules[name] = (tokens, index, ...rest) => {
    const token = tokens[index] as Token;
    const { info } = token;
    const html = before ? before(tokens, index, ...rest) : token.content;
    // Others change the token while they render it.
    return change(html, { ...token, info }, rest[1] as Environment);
  };
}

function rewriteLinks(
  token: Token,
  resolve: (href: string) => string | undefined,
  { base }: PageRules,
): void {
  let isDropped = false;
  token.children = (token.children ?? []).filter((child) => {
    if (child.type === 'link_close' && isDropped) {
      isDropped = false;
      return false;
    }
    if (child.type !== 'link_open') return true;
    const href = resolve(child.attrGet('href') ?? '');
    isDropped = href === undefined;
    if (href !== undefined) linkTo(child, href, base);
    return !isDropped;
  });
}

/** A file beside the pages is named in full: VitePress would take it for a page, or leave the path of the site out. */
function linkTo(token: Token, href: string, base: string): void {
  const isBeside = href === '/api.html' || /^\/[^?#]*\.json$/.test(href);
  if (isBeside) token.attrSet('target', '_self');
  token.attrSet('href', isBeside ? htmlLink(href, base) : href);
}

/** A fence such as `ts src/service.ts` is a file that the reader saves. */
function captioned(html: string, info: string): string {
  const name = fileOf(info);
  if (name === undefined) return html;
  return `<figure class="file"><figcaption v-pre>${escaped(name)}</figcaption>${html}</figure>`;
}

export function fileOf(info: string): string | undefined {
  const [, word = ''] = info.trim().split(/\s+/);
  return /^[\w.@-]+(\/[\w.@-]+)*$/.test(word) && /[./]/.test(word) ? word : undefined;
}

/** HTML of a page with every comment left out, unknown elements as text, and its addresses mended. */
export function safeHtml(html: string, source: string, rules: PageRules): string {
  const cut = html
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/<(?!\/?[a-zA-Z][^<>]*>)/g, '&lt;')
    .replace(/<(\/?)([a-zA-Z][\w-]*)([^<>]*)>/g, (whole, end, name, attributes) =>
      ELEMENTS.has(name.toLowerCase())
        ? `<${end}${name}${withAddresses(attributes, source, rules)}>`
        : escaped(whole),
    );
  return withoutBraces(cut);
}

/** Pictures are found from the file of the page; Vue looks only for those that begin with a dot. */
function withAddresses(attributes: string, source: string, rules: PageRules): string {
  return attributes
    .replace(/\s(?:v-|on|[:@#])[^\s=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]*))?/gi, '')
    .replace(/\s(src|poster)="(?![a-z]+:|[/.#])/gi, ' $1="./')
    .replace(/\ssrcset="([^"]*)"/gi, (_, set: string) => {
      const sources = set.split(',').map((each) => each.trim());
      return ` srcset="${sources.map((each) => each.replace(/^(?![a-z]+:|[/.#])/i, './')).join(', ')}"`;
    })
    .replace(/\shref="([^"]*)"/gi, (_, href: string) => {
      const link = siteLink(href, source, rules);
      return link === undefined ? '' : ` href="${htmlLink(link, rules.base)}"`;
    });
}

function withoutBraces(html: string): string {
  return html.replaceAll('{{', '&#123;&#123;');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
