/**
 * The style of the pages without a script: one sheet inside each page, named by its hash in the policy.
 *
 * It is that of the console, with what only these pages have. Colour never stands alone: a word or a shape says the
 * same. Pages allow no style attribute.
 *
 * @module
 */

import { textHash } from '../../openapi/html.ts';
import { LOOK } from './look.generated.ts';

/** A page that asks takes the place of a dialog. A limit is asked for as soon as something ticked costs money. */
const OWN = `
body { overflow-wrap: anywhere; }
[hidden] { display: none; }
td:first-child { width: 50%; }
.button small { color: inherit; }
form > :is([type="hidden"], [hidden]) + * { margin-top: 0; }
.alone > .head + :is(.panel, .head) { margin-top: var(--s5); }
.none { color: var(--muted); text-align: center; }
.list h2 { font-size: var(--t3); }
.list .side form { margin: 0; }
button.danger { background: var(--danger); color: var(--on-danger); border-color: var(--danger); }
form:not(:has([data-costs]:checked)) .needs, form:has(#limit:valid) .needs { display: none; }
`;

export const STYLE = LOOK + OWN;

export const STYLE_HASH = textHash(STYLE);
