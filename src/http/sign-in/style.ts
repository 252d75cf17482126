/**
 * The style of the sign-in pages: one sheet inside each page, named by its hash in the policy.
 *
 * Colour never stands alone: a word or a shape says the same. Pages allow no style attribute.
 *
 * @module
 */

import { textHash } from '../../openapi/html.ts';

const LIGHT = `--paper: #f8f8f5; --raised: #fff; --sunk: #edede8; --ink: #17191c; --muted: #565b63;
--line: #dcdcd6; --edge: #82868c; --act: #1f4bb8; --on-act: #fff; --danger: #b0201b; --on-danger: #fff;
--danger-soft: #fcebe9; --warn: #7a4a00; --on-warn: #fff; --warn-soft: #fcf1d6; --good: #17663a;`;

const DARK = `--paper: #121416; --raised: #1a1d20; --sunk: #262a2e; --ink: #eceef0; --muted: #a9afb7;
--line: #34393e; --edge: #7b828a; --act: #9dbbff; --on-act: #0c1633; --danger: #ff9a90; --on-danger: #300704;
--danger-soft: #391a18; --warn: #f0c25c; --on-warn: #241800; --warn-soft: #332811; --good: #82d4a2;`;

const TEXT = `
:root { color-scheme: light dark; ${LIGHT} --tap: 2.75rem;
--sans: -apple-system, "Segoe UI", Roboto, Cantarell, "Liberation Sans", Arial, sans-serif;
--mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { ${DARK} } }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 var(--sans);
  overflow-wrap: anywhere; }
h1, h2, h3, p, dl, dd, ul, figure, fieldset, legend { margin: 0; padding: 0; border: 0; min-width: 0;
  list-style: none; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.015em; text-wrap: balance; }
h2, h3, legend { font-size: 1rem; }
h2, h3, legend, .money, .amount, .pill, .ctl, .soon, .field > label, .effect:not(.reads) {
  font-weight: 650; }
a { color: var(--act); text-underline-offset: .15em; }
code { font: .8125em var(--mono); }
small, .small { font-size: .875rem; }
small, .muted { color: var(--muted); font-weight: 400; }
.money, .pill { white-space: nowrap; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; border-radius: 3px; }
.vh:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.claimed { border-bottom: 2px dotted var(--edge); }
.ctl { background: var(--warn); color: var(--on-warn); border-radius: 3px; padding-inline: .2em;
  margin-inline: .15em; unicode-bidi: isolate; }
`;

const FRAME = `
.top, .head, .row { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
.top, .head { align-items: center; justify-content: space-between; }
.top { padding-inline: 1rem; background: var(--raised); border-bottom: 1px solid var(--line);
  font-size: .875rem; }
.top p, .top nav { padding-block: .5rem; color: var(--muted); }
.top b { color: var(--ink); font-size: 1rem; margin-inline-end: .25rem; }
.top .person { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: center; color: var(--muted); }
main { max-width: 74rem; margin-inline: auto; padding: 1rem 1rem 2.5rem; }
.narrow { max-width: 46rem; }
section { padding-block: .75rem .5rem; }
section, .opts > li { border-top: 1px solid var(--line); }
:is(main, section, form, fieldset, details) > :not([type=hidden]) + * { margin-top: .75rem; }
.facts { display: grid; grid-template-columns: 5rem minmax(0, 1fr); gap: .25rem .75rem;
  align-content: start; }
.facts dt { color: var(--muted); font-size: .875rem; line-height: 1.7; }
.fields { display: grid; gap: 1rem 2.5rem; grid-template-columns: minmax(0, 1fr); }
.notice { border-inline-start: 4px solid var(--edge); background: var(--sunk); padding: .5rem 1rem; }
.notice.bad { border-color: var(--danger); background: var(--danger-soft); }
.good { color: var(--good); }
.warn { color: var(--warn); }
.pill { display: inline-block; font-size: .8125rem; line-height: 1.5; padding-inline: .6em;
  border: 1px solid; border-radius: 1em; }
.pill.off { color: var(--muted); border-style: dotted; }
`;

const CONTROLS = `
button, .button, input, select { font: inherit; color: var(--ink); background: var(--raised);
  border: 1px solid var(--edge); border-radius: .375rem; min-height: var(--tap); padding: .25rem 1rem;
  max-width: 100%; }
button, .button { font-weight: 650; line-height: 1.2; cursor: pointer; }
.button { display: inline-flex; align-items: center; justify-content: center; text-decoration: none; }
:is(button, .button) small { color: inherit; }
:is(button, .button):hover { border-color: currentColor; }
input, select { width: 100%; }
button.act, .button.act { background: var(--act); color: var(--on-act); border-color: var(--act); }
.danger { color: var(--danger); }
button.danger { background: var(--danger); color: var(--on-danger); border-color: var(--danger); }
button.text { min-height: 1.5rem; padding: 0 .25rem; border: 0; background: none; color: var(--act);
  font-weight: 400; font-size: .875rem; text-decoration: underline; text-underline-offset: .15em; }
.row { gap: .5rem .75rem; align-items: center; }
.field { display: grid; grid-template-columns: minmax(0, 1fr); gap: .25rem; align-content: start; }
.field .amount { width: 9rem; text-align: end; box-shadow: none; }
.field .currency { width: auto; }
.opts .opt { display: grid; grid-template-columns: 1.5rem minmax(0, 1fr); gap: .75rem;
  padding-block: .5rem; }
.opt input, .none { width: 1.5rem; height: 1.5rem; min-height: 0; margin: 0; padding: 0;
  accent-color: var(--act); text-align: center; }
label.opt { cursor: pointer; }
summary { padding-block: .5rem; cursor: pointer; color: var(--act); }
form:not(:has([data-costs]:checked)) .needs, form:has(#limit:valid) .needs { display: none; }
.decide { margin-top: 1rem; padding: .75rem 0; border-top: 2px solid var(--ink); display: grid;
  gap: .5rem; }
.decide :is(button, .button) { flex: 1 1 auto; min-width: 7.5rem; }
`;

const FACTS = `
.money, .amount, .time { font-variant-numeric: tabular-nums; }
.money small { font-size: .8em; letter-spacing: .03em; color: inherit; font-weight: inherit; }
.soon { color: var(--warn); }
:is(.time, .effect)::before { content: ""; display: inline-block; width: .75rem;
  height: .75rem; margin-inline-end: .35rem; vertical-align: -.0625rem; border: 2px solid; }
.time::before { border-width: 1.5px; border-radius: 50%;
  background: linear-gradient(currentColor, currentColor) 50% 0 / 1.5px 55% no-repeat,
    linear-gradient(currentColor, currentColor) 100% 50% / 55% 1.5px no-repeat; }
.time small { display: inline-block; }
.effect.reads::before { border-radius: 50%; }
.effect.undo::before { background: linear-gradient(90deg, currentColor 50%, transparent 50%); }
.effect.final { color: var(--danger); }
.effect.final::before { width: .9375rem; height: .9375rem; vertical-align: -.125rem; border: 0;
  background: currentColor;
  clip-path: polygon(30% 0, 70% 0, 100% 30%, 100% 70%, 70% 100%, 30% 100%, 0 70%, 0 30%); }
.sessions > li { border-top: 1px solid var(--line); padding-block: .5rem; }
.sessions > li > * { min-width: 0; }
@media (min-width: 60rem) {
  h1 { font-size: 2rem; }
  .top, main { padding-inline: 1.5rem; }
  .fields { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .decide { grid-template-columns: minmax(0, 1fr) auto; align-items: center; }
}
`;

export const STYLE = TEXT + FRAME + CONTROLS + FACTS;

export const STYLE_HASH = textHash(STYLE);
