/**
 * Made by `npm run generate` from the style sheets and the drawings of the console (src/console).
 *
 * @module
 */

export const LOOK = `:root { color-scheme: light dark; --paper: #f7f7f4; --raised: #ffffff; --sunk: #edede8; --hover: #f4f4f0; --ink: #17191c; --on-ink: #ffffff; --muted: #565b63; --line: #dfdfd9; --edge: #82868c; --act: #1f4bb8; --on-act: #ffffff; --act-soft: #e8eefb; --danger: #b0201b; --on-danger: #ffffff; --danger-soft: #fcebe9; --warn: #7a4a00; --on-warn: #ffffff; --warn-soft: #fcf1d6; --good: #17663a; --on-good: #ffffff; --good-soft: #e4f2e9; --shade: rgb(23 25 28 / .45); --lift: 0 1.25rem 3rem rgb(23 25 28 / .22); --sans: -apple-system, "Segoe UI Variable Text", "Segoe UI", Inter, Roboto, Cantarell, "Noto Sans", "Liberation Sans", Arial, sans-serif; --mono: ui-monospace, SFMono-Regular, Menlo, "Cascadia Mono", Consolas, "DejaVu Sans Mono", monospace; --serif: ui-serif, "Iowan Old Style", Charter, Georgia, "Liberation Serif", serif; --t1: .8125rem; --t2: .875rem; --t3: .9375rem; --t4: 1.125rem; --t5: 1.5rem; --t6: 2rem; --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2.5rem; --radius: .375rem; --radius-panel: .625rem; --tap: 2.75rem; --rail: 14.5rem; }
@media (prefers-color-scheme: dark) {
:root { --paper: #111315; --raised: #191c1f; --sunk: #25292d; --hover: #1f2327; --ink: #eceef0; --on-ink: #111315; --muted: #a9afb7; --line: #2f3439; --edge: #7b828a; --act: #9dbbff; --on-act: #0c1633; --act-soft: #1b2540; --danger: #ff9a90; --on-danger: #300704; --danger-soft: #391a18; --warn: #f0c25c; --on-warn: #241800; --warn-soft: #332811; --good: #82d4a2; --on-good: #06200f; --good-soft: #162f20; --shade: rgb(0 0 0 / .62); --lift: 0 1.25rem 3rem rgb(0 0 0 / .6); }
}
*, ::before, ::after { box-sizing: border-box }
html { scroll-padding-block: 1rem 9rem; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--paper); color: var(--ink); font: var(--t3) / 1.5 var(--sans); overflow-wrap: break-word; }
h1, h2, h3, p, dl, dd, ol, ul, figure, blockquote, fieldset, legend { margin: 0; padding: 0; border: 0; min-width: 0; list-style: none; }
h1 { font-size: var(--t5); line-height: 1.2; letter-spacing: -.02em; text-wrap: balance }
h2, h3, legend { font-size: var(--t3); line-height: 1.35; letter-spacing: -.005em }
h1, h2, h3, legend, b, strong, th, .money, .soon, .effect, .ctl, .pill, summary, .field > label, .brand b { font-weight: 620; }
a { color: var(--act); text-underline-offset: .18em; text-decoration-thickness: 1px }
code { font: .875em var(--mono); overflow-wrap: anywhere }
small, .small { font-size: var(--t2) }
small, .muted { color: var(--muted); font-weight: 400 }
.nb, .money, .pill { white-space: nowrap }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; border-radius: 3px }
.vh:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
h1:focus, h2:focus { outline: none }
a:has(code) { text-underline-offset: .3em }
bdi { white-space: pre-wrap }
.vh:focus { position: fixed; z-index: 9; top: var(--s2); left: var(--s2); padding: var(--s2) var(--s4); background: var(--raised); }
table { width: 100%; border-collapse: collapse }
th, td { text-align: start; vertical-align: top; padding: var(--s2) var(--s4) var(--s2) 0; border-top: 1px solid var(--line); }
thead th { border: 0; color: var(--muted); font-size: var(--t1); font-weight: 400; padding-block: 0 var(--s1) }
td:last-child, th:last-child { padding-inline-end: 0 }
tbody th { overflow-wrap: anywhere }
.panel tbody th { min-width: 7.5rem }
.facts { display: grid; grid-template-columns: 6.25rem minmax(0, 1fr); gap: var(--s2) var(--s3); align-content: start; }
.facts dt { color: var(--muted); font-size: var(--t2); line-height: 1.6; display: flex; gap: var(--s2); overflow-wrap: anywhere; }
.facts dt .i { margin-top: .15rem }
.facts dt.final { color: var(--danger) }
.facts dd > small { display: block }
.facts.wide { grid-template-columns: fit-content(10rem) minmax(0, 1fr) }
.brand { display: flex; align-items: center; gap: var(--s2); color: inherit; text-decoration: none; min-width: 0; line-height: 1.15; }
.brand b { display: block; font-size: var(--t4); letter-spacing: -.03em }
.brand span span { display: block; color: var(--muted); font-size: var(--t1); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.brand > span { min-width: 0 }
main { min-width: 0; max-width: 72rem; padding: var(--s4) var(--s4) var(--s6) }
main.alone { max-width: 46rem; margin-inline: auto; padding-block: var(--s6) }
:where(main, section, form, fieldset, dialog, .stack, .panel, .body, details) > * + :not(style) { margin-top: var(--s3); }
main > section { margin-top: var(--s6) }
main > section.panel, main > h1 + *, main > .brief + * { margin-top: var(--s4) }
.head, .row { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4) }
.head { align-items: baseline; justify-content: space-between }
.head.mid { align-items: center }
.lead { color: var(--muted); max-width: 46rem }
.fields { display: grid; gap: var(--s5) var(--s5); grid-template-columns: minmax(0, 1fr); align-items: start; }
.fields { gap: var(--s3) var(--s4) }
.alone > h1 { margin-top: var(--s5) }
.panel > .row > :is(button, .button) { flex: 1 1 auto }
.chips a { color: var(--muted); text-decoration: none; white-space: nowrap; display: flex; align-items: center; gap: var(--s2); min-height: var(--tap); }
.chips { display: flex; flex-wrap: wrap; gap: var(--s2) }
.chips a { min-height: 2.25rem; padding-inline: var(--s3); border: 1px solid var(--edge); border-radius: 2em; color: var(--ink); font-size: var(--t2); background: var(--raised); }
.chips [aria-current] { background: var(--ink); color: var(--on-ink); border-color: var(--ink) }
@media (min-width: 60rem) {
main { padding: var(--s5) var(--s6) var(--s6) }
}
.panel, .list { background: var(--raised); border: 1px solid var(--line); border-radius: var(--radius-panel) }
.panel { padding: var(--s4) }
:is(.panel, details) > .vh + * { margin-top: 0 }
.panel + .panel, .panel + .list, .list + .panel { margin-top: var(--s4) }
details.panel:not([open]) { padding-block: var(--s1) }
.panel.warn { border-color: var(--warn) }
.list > li { position: relative; display: grid; grid-template-columns: 1.5rem minmax(0, 1fr); gap: 0 var(--s3); padding: var(--s3) var(--s4); }
.list > li + li { border-top: 1px solid var(--line) }
.list > li:first-child { border-radius: var(--radius-panel) var(--radius-panel) 0 0 }
.list > li:last-child { border-radius: 0 0 var(--radius-panel) var(--radius-panel) }
.list > li:only-child { border-radius: var(--radius-panel) }
.list > li > .i { width: 1.25rem; height: 1.25rem; margin-top: .15rem }
.list .body > * + * { margin-top: 2px }
.list h3 { font-size: var(--t3) }
.list .side { grid-column: 2; display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s3); font-size: var(--t2); margin-top: 2px; }
.list .side > .i { display: none }
.list :is(button, details, .over) { position: relative; z-index: 1 }
.list .body p { font-size: var(--t2); color: var(--muted) }
.list .body p b { color: var(--ink); font-weight: 560 }
.empty { display: grid; justify-items: start; gap: var(--s2); padding: var(--s5) var(--s4) }
.empty .i { width: 1.75rem; height: 1.75rem; color: var(--muted) }
@media (min-width: 60rem) {
.list > li { grid-template-columns: 1.5rem minmax(0, 1fr) auto; gap: 0 var(--s4) }
.list .side { grid-column: 3; flex-wrap: nowrap; justify-content: flex-end; margin-top: 0; gap: var(--s3); align-self: center; }
.list .side > .i { display: inline-block; color: var(--muted) }
.list > li:has(details[open]) > .side { align-self: start }
}
.i { flex: none; display: inline-block; width: 1.15em; height: 1.15em; vertical-align: -.2em; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
.mark { flex: none; width: 1.75rem; height: 1.75rem; fill: var(--ink) }
.w { fill: none; stroke: var(--paper); stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round }
.ask { font-size: var(--t5) }
.ask code { font-size: .92em; font-weight: 500; letter-spacing: -.02em }
.brief { background: var(--raised); border: 1px solid var(--line); border-radius: var(--radius-panel); padding: var(--s4); row-gap: var(--s2); }
.brief.final { border-top: 4px solid var(--danger) }
.brief.write { border-top: 4px solid var(--ink) }
.money, .amount, .time { font-variant-numeric: tabular-nums }
.money small { font-size: .8em; letter-spacing: .03em; color: inherit; font-weight: inherit }
.ask .money { text-decoration: underline double 2px; text-underline-offset: .16em }
.time { color: var(--ink) }
.time.muted { color: var(--muted) }
.soon { color: var(--warn) }
.effect.final, .final-icon { color: var(--danger) }
.nb bdi { white-space: pre }
.claimed { border-bottom: 2px dotted var(--edge) }
.ctl { background: var(--warn); color: var(--on-warn); border-radius: 3px; padding-inline: .2em; margin-inline: .15em; unicode-bidi: isolate; }
.good { --c: var(--good); --soft: var(--good-soft); color: var(--c) }
.warn { --c: var(--warn); --soft: var(--warn-soft); color: var(--c) }
.bad { --c: var(--danger); --soft: var(--danger-soft); color: var(--c) }
.pill { display: inline-block; font-size: var(--t1); line-height: 1.5; padding-inline: .6em; border: 1px solid var(--edge); border-radius: 1em; background: var(--soft, transparent); }
.pill:is(.good, .warn, .bad) { border-color: transparent }
.pill.act { color: var(--act); background: var(--act-soft); border-color: transparent }
.pill.off { color: var(--muted); border-style: dotted }
.notice { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--s1) var(--s3); border: 1px solid transparent; border-radius: var(--radius-panel); background: var(--soft, var(--sunk)); padding: var(--s3) var(--s4); color: var(--ink); }
.notice > .i { color: var(--c, var(--muted)); margin-top: .15rem; width: 1.25rem; height: 1.25rem }
.notice h2, .notice b:first-child { color: var(--c, var(--ink)) }
.notice .row { margin-top: var(--s2) }
.panel.warn, .panel.bad { color: var(--ink) }
td > .pill { white-space: normal }
details > summary { cursor: pointer; min-height: 2.25rem; display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s2); list-style: none; border-radius: var(--radius); }
details > summary::-webkit-details-marker { display: none }
summary > .i.turn { color: var(--muted); transition: none }
details[open] > summary > .i.turn { rotate: 90deg }
summary > small { width: 100%; padding-inline-start: 1.75rem }
.evidence { border: 1px solid var(--line); border-radius: var(--radius-panel); padding: var(--s1) var(--s4); background: var(--paper); }
.evidence[open] { padding-bottom: var(--s4) }
.evidence.bad { color: var(--ink); border-color: var(--danger); background: var(--danger-soft) }
.more { color: var(--act); font-size: var(--t2) }
button, .button, input, select { font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--edge); border-radius: var(--radius); min-height: var(--tap); padding: var(--s1) var(--s4); max-width: 100%; }
button, .button { font-weight: 620; line-height: 1.2; cursor: pointer; text-decoration: none; text-align: center }
.button { display: inline-flex; align-items: center; justify-content: center; gap: var(--s2) }
:is(button, .button):hover { border-color: currentColor }
:is(button, .button):not(.act, .ink, .danger, .text):hover { background: var(--hover) }
:where(button, .button).act { background: var(--act); color: var(--on-act); border-color: var(--act) }
:where(button, .button).ink { background: var(--ink); color: var(--on-ink); border-color: var(--ink) }
:where(button, .button).danger { color: var(--danger) }
:is(button, .button):is(.act, .ink):hover { filter: brightness(1.12) }
.little { min-height: 2.25rem; padding-inline: var(--s3); font-size: var(--t2) }
.text { min-height: 1.5rem; padding: 0 var(--s1); border: 0; background: none; color: var(--act); font-size: var(--t1); text-decoration: underline; }
.row { gap: var(--s2) var(--s3); align-items: center }
form.row { align-items: end }
form.row > * { margin-top: 0 }
.field { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s1); align-content: start }
.field small { line-height: 1.4 }
.amount { width: 8rem; text-align: end }
.opt { display: grid; grid-template-columns: 1.5rem minmax(0, 1fr); gap: var(--s3); padding-block: var(--s2) }
.opt.box { border: 1px solid var(--edge); border-radius: var(--radius); padding: var(--s3) }
.opt.box:has(:checked) { border-color: var(--act); outline: 1px solid var(--act); outline-offset: -2px; background: var(--act-soft); }
[type="checkbox"], [type="radio"] { width: 1.375rem; height: 1.375rem; min-height: 0; margin: .05rem 0 0; accent-color: var(--act); }
@media (min-width: 30rem) {
summary > small { width: auto; padding-inline-start: 0; margin-inline-start: auto }
.panel > .row > :is(button, .button) { flex: none }
}
button:is(:disabled, [aria-disabled="true"]) { color: var(--muted); background: var(--sunk); border-color: var(--line); cursor: default; }
button.text:disabled { background: none }
label.opt { cursor: pointer }
select { padding-inline: var(--s2) }
.field > :is(input, select, textarea):not(.amount) { width: 100% }
@media (min-width: 60rem) {
.ask { font-size: var(--t6) }
.fields { grid-template-columns: repeat(2, minmax(0, 1fr)) }
}
@media (prefers-contrast: more) {
:root { --line: var(--edge); --muted: var(--ink) }
}
@media print {
details > * { display: block }
}`;

/** By name: a drawing that a page contains once, for all places that show it. */
export const SYMBOLS = {
  seal: `<symbol id="i-seal" viewBox="0 0 20 20"><path d="M10 2.04C10.99 2.18 11.89 2.81 12.82 3.2C13.75 3.6 14.71 3.84 15.58 4.42C16.45 5 17.57 5.75 18.01 6.68C18.44 7.61 18.34 8.96 18.2 10C18.05 11.04 17.55 12.02 17.11 12.95C16.67 13.87 16.23 14.83 15.54 15.54C14.85 16.24 13.89 16.75 12.97 17.17C12.05 17.59 11.05 17.91 10 18.04C8.95 18.18 7.65 18.37 6.69 17.98C5.74 17.6 4.84 16.6 4.27 15.73C3.69 14.87 3.57 13.76 3.23 12.81C2.88 11.85 2.34 11 2.2 10C2.05 9 1.99 7.79 2.33 6.82C2.67 5.86 3.47 4.96 4.22 4.22C4.98 3.49 5.88 2.75 6.85 2.39C7.81 2.02 9.01 1.91 10 2.04Z"/><path d="m6.2 8.4 1.7 4.2 2.1-3.8 1.7 3.8 2.4-5.2"/></symbol>`,
  read: `<symbol id="i-read" viewBox="0 0 20 20"><path d="M1.8 10S4.7 4.7 10 4.7 18.2 10 18.2 10 15.3 15.3 10 15.3 1.8 10 1.8 10Z"/><circle cx="10" cy="10" r="2.3"/></symbol>`,
  write: `<symbol id="i-write" viewBox="0 0 20 20"><path d="m3 17 .9-3.7 9.6-9.6a1.6 1.6 0 0 1 2.3 0l.5.5a1.6 1.6 0 0 1 0 2.3l-9.6 9.6L3 17Z"/><path d="m12 5.2 2.8 2.8"/></symbol>`,
  reversible: `<symbol id="i-reversible" viewBox="0 0 20 20"><path d="M6.8 4 3.2 7.6l3.6 3.6"/><path d="M3.5 7.6h8.2a4.4 4.4 0 0 1 0 8.8H8"/></symbol>`,
  irreversible: `<symbol id="i-irreversible" viewBox="0 0 20 20"><path d="M6.9 2.5h6.2l4.4 4.4v6.2l-4.4 4.4H6.9l-4.4-4.4V6.9Z"/><path d="M10 6.4v4.4M10 13.7v.01"/></symbol>`,
  money: `<symbol id="i-money" viewBox="0 0 20 20"><rect x="2" y="5" width="16" height="10" rx="1.6"/><circle cx="10" cy="10" r="2.2"/><path d="M5 10v.01M15 10v.01"/></symbol>`,
  clock: `<symbol id="i-clock" viewBox="0 0 20 20"><circle cx="10" cy="10" r="7.6"/><path d="M10 5.7V10l2.9 1.8"/></symbol>`,
  person: `<symbol id="i-person" viewBox="0 0 20 20"><circle cx="10" cy="6.6" r="3.3"/><path d="M3.6 17.2c.5-3.5 3-5.3 6.4-5.3s5.9 1.8 6.4 5.3"/></symbol>`,
  agent: `<symbol id="i-agent" viewBox="0 0 20 20"><rect x="3.2" y="6.8" width="13.6" height="9.7" rx="2.6"/><path d="M10 6.8V3.4M8.4 3.4h3.2M7.4 10.6v1.8M12.6 10.6v1.8"/></symbol>`,
  chain: `<symbol id="i-chain" viewBox="0 0 20 20"><path d="M8.5 11.5a3.3 3.3 0 0 1 0-4.7L11 4.3A3.3 3.3 0 0 1 15.7 9l-1.2 1.2"/><path d="M11.5 8.5a3.3 3.3 0 0 1 0 4.7L9 15.7A3.3 3.3 0 0 1 4.3 11l1.2-1.2"/></symbol>`,
  tool: `<symbol id="i-tool" viewBox="0 0 20 20"><path d="m17 5.5-2.7 2.7-2-.5-.5-2L14.5 3a4.3 4.3 0 0 0-5.6 5.6l-5.7 5.7a1.75 1.75 0 0 0 2.5 2.5l5.7-5.7A4.3 4.3 0 0 0 17 5.5Z"/></symbol>`,
  file: `<symbol id="i-file" viewBox="0 0 20 20"><path d="M4.6 2.6h6.8l4 4v10.8H4.6Z"/><path d="M11.2 2.6v4.2h4.2"/></symbol>`,
  mail: `<symbol id="i-mail" viewBox="0 0 20 20"><rect x="2.4" y="4.4" width="15.2" height="11.2" rx="1.6"/><path d="m3 5.6 7 5.5 7-5.5"/></symbol>`,
  warning: `<symbol id="i-warning" viewBox="0 0 20 20"><path d="M10 2.9 18.2 17H1.8Z"/><path d="M10 8v4.2M10 14.5v.01"/></symbol>`,
  stop: `<symbol id="i-stop" viewBox="0 0 20 20"><circle cx="10" cy="10" r="7.6"/><rect x="7.2" y="7.2" width="5.6" height="5.6" rx=".6"/></symbol>`,
  key: `<symbol id="i-key" viewBox="0 0 20 20"><circle cx="6.6" cy="13.4" r="3.5"/><path d="m9.1 10.9 7.5-7.5M12.9 7.1l2.8 2.8"/></symbol>`,
  passkey: `<symbol id="i-passkey" viewBox="0 0 20 20"><circle cx="7.4" cy="6.2" r="3"/><path d="M1.9 16.4c.4-3.4 2.5-5.1 5.5-5.1 1 0 1.9.2 2.7.6"/><circle cx="14.8" cy="10.4" r="2.5"/><path d="M14.8 12.9v5l1.7-1.3-1.2-1.1 1.2-1"/></symbol>`,
  search: `<symbol id="i-search" viewBox="0 0 20 20"><circle cx="8.8" cy="8.8" r="5.6"/><path d="m12.9 12.9 4.3 4.3"/></symbol>`,
  check: `<symbol id="i-check" viewBox="0 0 20 20"><path d="m3.6 10.6 4.2 4.2 8.6-9.4"/></symbol>`,
  cross: `<symbol id="i-cross" viewBox="0 0 20 20"><path d="m4.8 4.8 10.4 10.4M15.2 4.8 4.8 15.2"/></symbol>`,
  chevron: `<symbol id="i-chevron" viewBox="0 0 20 20"><path d="m7.4 4.4 5.6 5.6-5.6 5.6"/></symbol>`,
  copy: `<symbol id="i-copy" viewBox="0 0 20 20"><rect x="7" y="7" width="10.2" height="10.2" rx="1.6"/><path d="M13 7V4.4A1.6 1.6 0 0 0 11.4 2.8h-7a1.6 1.6 0 0 0-1.6 1.6v7A1.6 1.6 0 0 0 4.4 13H7"/></symbol>`,
  external: `<symbol id="i-external" viewBox="0 0 20 20"><path d="M8.4 4H3.8v12.2H16v-4.6"/><path d="M11.6 3.4h5v5M16.3 3.7 9.4 10.6"/></symbol>`,
  pulse: `<symbol id="i-pulse" viewBox="0 0 20 20"><path d="M1.8 10.6h3.7l2.5-6.4 4 11.4 2.4-5h3.8"/></symbol>`,
  mark: `<symbol id="i-mark" viewBox="0 0 24 24"><path d="M12 1.16C13.36 1.34 14.57 2.2 15.84 2.74C17.1 3.28 18.42 3.61 19.6 4.4C20.78 5.19 22.32 6.21 22.91 7.48C23.51 8.75 23.37 10.58 23.17 12C22.96 13.42 22.29 14.76 21.69 16.01C21.09 17.27 20.49 18.59 19.55 19.55C18.61 20.51 17.3 21.2 16.05 21.77C14.79 22.34 13.43 22.77 12 22.96C10.57 23.14 8.8 23.4 7.49 22.88C6.19 22.35 4.98 20.99 4.19 19.81C3.4 18.64 3.24 17.12 2.77 15.82C2.3 14.52 1.57 13.36 1.37 12C1.16 10.64 1.09 8.98 1.55 7.67C2.01 6.36 3.11 5.14 4.13 4.13C5.16 3.12 6.39 2.12 7.7 1.63C9.01 1.13 10.64 0.97 12 1.16Z"/><path class="w" d="M6.3 9.2 9 15.8 12 10.2 14.4 15.8 18.2 7.4"/></symbol>`,
} as const;

export const FAVICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" role="img" aria-label="Writ"><style>.s{fill:#17191c}.w{fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}@media (prefers-color-scheme:dark){.s{fill:#eceef0}.w{stroke:#111315}}</style><path class="s" d="M12 1.16C13.36 1.34 14.57 2.2 15.84 2.74C17.1 3.28 18.42 3.61 19.6 4.4C20.78 5.19 22.32 6.21 22.91 7.48C23.51 8.75 23.37 10.58 23.17 12C22.96 13.42 22.29 14.76 21.69 16.01C21.09 17.27 20.49 18.59 19.55 19.55C18.61 20.51 17.3 21.2 16.05 21.77C14.79 22.34 13.43 22.77 12 22.96C10.57 23.14 8.8 23.4 7.49 22.88C6.19 22.35 4.98 20.99 4.19 19.81C3.4 18.64 3.24 17.12 2.77 15.82C2.3 14.52 1.57 13.36 1.37 12C1.16 10.64 1.09 8.98 1.55 7.67C2.01 6.36 3.11 5.14 4.13 4.13C5.16 3.12 6.39 2.12 7.7 1.63C9.01 1.13 10.64 0.97 12 1.16Z"/><path class="w" d="M6.3 9.2 9 15.8 12 10.2 14.4 15.8 18.2 7.4"/></svg>`;
