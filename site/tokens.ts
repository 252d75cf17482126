/**
 * The colours and type of Writ's pages on the site: the same file, src/console/style/tokens.css.
 *
 * There the system of the reader chooses the theme. On the site the reader can choose another, which VitePress
 * says by the class `dark` on the root.
 *
 * @module
 */

const BY_SYSTEM = /@media \(prefers-color-scheme: dark\) \{\s*:root \{/;

export function themedByClass(css: string): string {
  if (!BY_SYSTEM.test(css)) throw new Error('Cannot theme tokens.css: it has no dark colours');
  return css
    .replace(BY_SYSTEM, '@media all {\n  :root.dark {\n    color-scheme: dark;')
    .replace('color-scheme: light dark', 'color-scheme: light');
}
