/**
 * How the front page looks: ink on paper, thin rules between sections, in light and dark.
 *
 * @module
 */

export const STYLE = `
:root { color-scheme: light dark; --paper: #f8f8f5; --raised: #ffffff; --ink: #17191c;
  --muted: #565b63; --line: #dcdcd6; --act: #1f4bb8; }
@media (prefers-color-scheme: dark) { :root { --paper: #121416; --raised: #1a1d20; --ink: #eceef0;
  --muted: #a9afb7; --line: #34393e; --act: #9dbbff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 1rem/1.5 -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
header { padding: .5rem 1rem; background: var(--raised); border-bottom: 1px solid var(--line);
  color: var(--muted); font-size: .8125rem; }
header b { color: var(--ink); font-size: 1rem; margin-inline-end: .25rem; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem 1rem 2.5rem; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.2; letter-spacing: -.015em; }
h2 { margin: 0; font-size: 1rem; }
p { margin: .75rem 0 0; }
section { margin-top: 1rem; padding-top: .75rem; border-top: 1px solid var(--line); }
dl { margin: .5rem 0 0; display: grid; gap: 0 1.5rem; }
dt, dd { margin: 0; padding-block: .25rem; }
dd { color: var(--muted); padding-top: 0; }
a { color: var(--act); text-underline-offset: .15em; }
code { font: .8125rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; border-radius: 3px; }
@media (min-width: 60rem) {
  h1 { font-size: 2rem; }
  header, main { padding-inline: 1.5rem; }
  dl { grid-template-columns: 14rem minmax(0, 1fr); }
  dd { padding-top: .25rem; }
}
`;
