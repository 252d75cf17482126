/**
 * The page that the recorder takes its frames of: a terminal, and beside it a window or a phone with the page of the person.
 *
 * The colours are the tokens of the console; the terminal uses those of its dark scheme.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

export const SIZE = { width: 1_200, height: 720 };

/** Pixels of the recording for each of the page, so that text is sharp on a dense screen. */
export const SCALE = 1.5;

const TOKENS = new URL('../../src/console/style/tokens.css', import.meta.url);

const STYLE = `
*, ::before, ::after { box-sizing: border-box }
body { margin: 0; width: 1200px; height: 720px; display: grid; grid-template-columns: 640px 560px; background: var(--sunk); color: var(--ink); font: 16px/1.45 var(--sans); overflow: hidden }
p { margin: 0 }
#terminal { background: #121416; color: #eceef0; padding: 26px 26px 20px 28px; font: 17.5px/1.42 var(--mono); overflow: hidden }
#terminal p { white-space: pre-wrap; overflow-wrap: anywhere; padding-left: 2ch; text-indent: -2ch; margin-top: 5px }
#terminal .heading { font: 650 25px/1.25 var(--sans); padding: 0 0 12px; text-indent: 0; margin: 0 0 12px; border-bottom: 1px solid #34393e }
#terminal .say { font: 19px/1.42 var(--sans); color: #c9ced4; padding: 0; text-indent: 0; margin: 12px 0 10px }
#terminal .act { color: #9dbbff; margin-top: 10px }
#terminal .act::before { content: "› " }
#terminal .good { color: #82d4a2 }
#terminal .good::before { content: "✓ " }
#terminal .bad { color: #ff9a90 }
#terminal .bad::before { content: "✕ " }
#terminal .plain::before { content: "  " }
#page { padding: 22px 20px 0; text-align: center }
#caption { color: var(--muted); font-size: 15px; margin: 0 0 10px; min-height: 22px }
#page div { margin: 0 auto; background: var(--raised); border: 1px solid var(--edge); overflow: hidden }
#address { display: none; color: var(--muted); font: 13px/30px var(--mono); border-bottom: 1px solid var(--line); background: var(--paper) }
#page img { display: block }
#page.empty div { visibility: hidden }
#page.window div { width: 522px; border-radius: 10px }
#page.window #address { display: block }
#page.window img { width: 520px }
#page.phone div { width: 306px; border: 5px solid #17191c; border-radius: 26px }
#page.phone img { width: 296px }
`;

const SCRIPT = `
function addLine({ kind, text }) {
  const terminal = document.querySelector('#terminal');
  if (kind === 'heading') terminal.replaceChildren();
  const line = document.createElement('p');
  line.className = kind;
  line.textContent = text;
  terminal.append(line);
  if (terminal.scrollHeight > terminal.clientHeight) throw new Error('the scene is longer than the terminal: ' + text);
}
async function showPage({ picture, caption, address, isPhone }) {
  const image = document.querySelector('#page img');
  document.querySelector('#page').className = isPhone ? 'phone' : 'window';
  document.querySelector('#address').textContent = address;
  document.querySelector('#caption').textContent = caption;
  image.src = 'data:image/png;base64,' + picture;
  await image.decode();
}
`;

export function stageHtml(): string {
  const tokens = readFileSync(TOKENS, 'utf8');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><style>${tokens}${STYLE}</style>
<section id="terminal"></section>
<section id="page" class="empty"><p id="caption"></p><div><p id="address"></p><img alt=""></div></section>
<script>${SCRIPT}</script></html>`;
}
