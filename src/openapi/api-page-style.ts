/**
 * How the API page looks, on any screen, in light and dark.
 *
 * Nothing scrolls by itself but the page and the list beside it: long lines break, so that no part is
 * out of reach of a keyboard or wider than a phone.
 *
 * @module
 */

export const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#c4c7cc, #4a4d52);
  --dim: light-dark(#f3f4f6, #1f2125); --link: light-dark(#0b57d0, #8ab4f8); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid;
  grid-template-columns: 15rem minmax(0, 1fr);
  background: light-dark(#fff, #121316); color: light-dark(#1a1b1e, #e6e7ea); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem;
  border-right: 1px solid var(--line); font-size: .875rem; }
nav h2 { font-size: .875rem; margin: 1rem 0 .25rem; }
nav h2:first-child { margin-top: 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
main { padding: 1rem 2rem 4rem; max-width: 60rem; }
main:focus { outline: none; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: .5rem; top: .5rem; padding: .5rem; z-index: 1;
  background: light-dark(#fff, #121316); }
h1 { line-height: 1.2; margin: .5rem 0 1rem; }
main h2 { margin: 2.5rem 0 .5rem; }
h2::first-letter { text-transform: uppercase; }
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; overflow-wrap: break-word; }
h3 { margin: .5rem 0; }
h4 { margin: 1rem 0 .25rem; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; }
pre { background: var(--dim); padding: .75rem; border-radius: .25rem; margin: .5rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid var(--line); }
td:last-child { padding-right: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .25rem 0; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  nav ul { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
  main { padding: 1rem; }
  th, td { font-size: .875rem; }
  code, pre { font-size: .8125rem; }
}
`;
