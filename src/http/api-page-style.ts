/**
 * How the API page looks, on any screen, in light and dark.
 *
 * @module
 */

export const STYLE = `
:root { color-scheme: light dark; --line: #8886; --dim: #8881; --link: light-dark(#0b57d0, #8ab4f8); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid;
  grid-template-columns: 15rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem;
  border-right: 1px solid var(--line); font-size: .875rem; }
nav h2 { font-size: .875rem; margin: 1rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
main { padding: 1rem 2rem 4rem; max-width: 60rem; }
a { color: var(--link); }
article { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h3 { margin: .5rem 0; scroll-margin-top: 1rem; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; }
code { overflow-wrap: anywhere; }
pre { background: var(--dim); padding: .75rem; border-radius: .25rem; overflow: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem .25rem 0;
  border-bottom: 1px solid var(--line); }
summary { cursor: pointer; padding: .25rem 0; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
`;
