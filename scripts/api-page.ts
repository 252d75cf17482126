/**
 * Renders the API page: the API description as HTML and CSS, and nothing else. As a program it writes the page and the
 * schemas of the API into dist, where `src/openapi/page.ts` reads it; `npm run build` runs it.
 *
 * The page fetches nothing and runs nothing, so a strict policy can say so. Every text of the document is
 * escaped. A service that does not offer every operation serves only the parts that belong to those it
 * offers, so each part names its operations.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { brand, icon, iconLink, symbolsFor } from '../src/http/page/frame.ts';
import { LOOK } from '../src/http/page/look.generated.ts';
import { escapeHtml, textHash } from '../src/openapi/html.ts';
import {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  type Content,
  openApiDocument,
} from '../src/openapi/openapi.ts';
import type { BuiltPage, PagePart } from '../src/openapi/page.ts';
import { componentsOf, makeSchemas, referred, type Schema } from '../src/openapi/schemas.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';

const FOLDER = 'dist/src/openapi';

const TURN = icon('chevron', { look: 'turn' });

interface Listed extends ApiOperation {
  readonly operationId: OperationName;
  readonly method: string;
  readonly path: string;
}

/** `gated` describes the same operations, each asking for a credential. */
export function pageParts(document: ApiDocument, gated: ApiDocument): PagePart[] {
  const { info, tags, components } = document;
  const all = listedIn(document);
  const behindGate = new Map(listedIn(gated).map((each) => [each.operationId, each]));
  const groups = tags.map((tag) => {
    const listed = all.filter(({ tags: own }) => own.includes(tag.name));
    return { ...tag, listed, of: listed.map(({ operationId }) => operationId) };
  });
  const reached = all.map(
    (each) =>
      [each.operationId, componentsOf([each as unknown as Schema], components.schemas)] as const,
  );
  const using = (shape: string) =>
    reached.filter(([, shapes]) => shape in shapes).map(([name]) => name);
  return [
    { html: opening(info.title) },
    ...groups.flatMap(({ name, of, listed }) => [
      { of, html: `<h2>${escapeHtml(name)}</h2>\n<ul>` },
      ...listed.map(linkTo),
      { of, html: '</ul>\n' },
    ]),
    { html: introduction(info) },
    ...groups.flatMap(({ name, description, of, listed }) => [
      { of, html: `<section>\n<h2>${escapeHtml(name)}</h2>\n<p>${prose(description)}</p>\n` },
      ...listed.flatMap((each) => articles(each, behindGate.get(each.operationId))),
      { of, html: '</section>\n' },
    ]),
    { html: '<section id="shapes">\n<h2>Shapes</h2>\n' },
    ...Object.entries(components.schemas).map(([name, schema]) => ({
      of: using(name),
      html: shape(name, schema),
    })),
    { html: '</section>\n</main>\n</body>\n</html>\n' },
  ];
}

function listedIn({ paths }: ApiDocument): Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ ...each, path, method }) as Listed),
  );
}

function opening(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${iconLink('.')}<style>${STYLE}</style>
</head>
<body class="api">
<a class="vh" href="#content">Skip to the description</a>
${symbolsFor(`${brand()}${TURN}`)}
<nav aria-label="Operations">
${brand()}
`;
}

function introduction({ title, version, description }: ApiDocument['info']): string {
  return `<h2><a href="#shapes">shapes</a></h2>
</nav>
<main id="content" tabindex="-1">
<h1>${escapeHtml(title)}</h1>
<p>Protocol ${escapeHtml(version)}. ${prose(description)} The same as data:
<a href="/openapi.json">/openapi.json</a>.</p>
`;
}

function linkTo({ operationId: name }: Listed): PagePart {
  return { of: [name], html: `<li><a href="#${escapeHtml(name)}">${escapeHtml(name)}</a></li>` };
}

/** One for every service, or one for each side of the gate. */
function articles(open: Listed, gated: Listed = open): PagePart[] {
  const of = [open.operationId];
  const [html, behind] = [operation(open), operation(gated)];
  if (html === behind) return [{ of, html }];
  return [
    { of, html, gated: false },
    { of, html: behind, gated: true },
  ];
}

function operation(listed: Listed): string {
  const { operationId, summary, method, path, parameters = [], requestBody, responses } = listed;
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    `<code>${breakable(name)}</code>`,
    `${place}${required ? '' : ', optional'}`,
    type(schema),
  ]);
  return `<article id="${escapeHtml(operationId)}">
<h3>${escapeHtml(operationId)}</h3>
<p><strong>${method.toUpperCase()}</strong> <code>${escapeHtml(path)}</code></p>
<p>${prose(summary)}. ${escapeHtml(bearerOf(listed))}</p>
${rows.length > 0 ? table(['parameter', 'in', 'type'], rows) : ''}
${Object.values(requestBody?.content ?? {})
  .map((content) => `<h4>Body</h4>\n${fields(content.schema)}\n${example(content)}`)
  .join('\n')}
${Object.entries(responses)
  .map(([status, response]) => answer(status, response))
  .join('\n')}
</article>
`;
}

function bearerOf({ security }: ApiOperation): string {
  const schemes = security.flatMap((each) => Object.keys(each));
  if (schemes.length === 0) return 'Needs no bearer.';
  const may = security.some((each) => Object.keys(each).length === 0);
  return `${may ? 'May be asked with' : 'Bearer:'} a ${schemes.join(' or a ')}.`;
}

function answer(status: string, { description, headers = {}, content = {} }: ApiResponse): string {
  const rows = Object.entries(headers).map(([name, header]) => [
    `<code>${breakable(name)}</code>`,
    prose(header.description),
  ]);
  const bodies = Object.entries(content).map(
    ([media, body]) =>
      `<p><code>${escapeHtml(media)}</code>: ${type(body.schema)}</p>\n${example(body)}`,
  );
  return `<details${status.startsWith('2') ? ' open' : ''}>
<summary>${TURN}<span>${escapeHtml(status)}: ${prose(description)}</span></summary>
${rows.length > 0 ? table(['header', 'meaning'], rows) : ''}
${bodies.join('\n')}
</details>`;
}

function example({ example: shown, examples = {} }: Content): string {
  const named = Object.entries(examples).map(
    ([type, { value }]) => `<p><code>${escapeHtml(type)}</code></p>\n${code(value)}`,
  );
  return shown === undefined ? named.join('\n') : code(shown);
}

function code(value: unknown): string {
  return `<pre><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;
}

function shape(name: string, schema: Schema): string {
  return `<article id="shape-${escapeHtml(name)}">\n<h3>${escapeHtml(name)}</h3>\n${fields(schema)}\n</article>\n`;
}

/** The fields of an object, or what else the schema says. */
function fields(schema: Schema): string {
  const { properties, required = [] } = schema;
  if (!properties) return `<p>${type(schema)}</p>`;
  const rows = Object.entries(properties).map(([name, property]) => [
    `<code>${breakable(name)}</code>`,
    required.includes(name) ? 'always' : 'optional',
    type(property),
  ]);
  return rows.length > 0 ? table(['field', 'present', 'type'], rows) : '<p>No fields.</p>';
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((each) => `<th scope="col">${escapeHtml(each)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/** A schema in a few words. */
function type(schema: Schema): string {
  const name = referred(schema);
  if (name !== undefined) return `<a href="#shape-${escapeHtml(name)}">${escapeHtml(name)}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(type).join(' or ');
  if (schema.enum) return schema.enum.map(literal).join(', ');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.type === 'array') return `list of ${type(schema.items ?? {})}`;
  if (schema.properties)
    return `object with ${Object.keys(schema.properties).map(escapeHtml).join(', ')}`;
  const kind = [schema.type ?? 'anything'].flat().join(' or ');
  const pattern = schema.pattern && `<code>${escapeHtml(schema.pattern)}</code>`;
  return [escapeHtml(kind), schema.format && escapeHtml(schema.format), pattern]
    .filter(Boolean)
    .join(' ');
}

function literal(value: unknown): string {
  return `<code>${escapeHtml(JSON.stringify(value))}</code>`;
}

/** Plain words, with `code` between backticks. */
function prose(words: string): string {
  return escapeHtml(words).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** A name that a narrow screen breaks between its words, and not inside one. */
function breakable(name: string): string {
  return escapeHtml(name).replaceAll(/[_.-](?=.)/g, '$&<wbr>');
}

/**
 * On any screen, in light and dark. Nothing scrolls by itself but the page and the list beside it: long
 * lines break, so that no part is out of reach of a keyboard or wider than a phone.
 */
const STYLE = `${LOOK}
.api { display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
.api > nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: var(--s4);
  border-inline-end: 1px solid var(--line); font-size: var(--t2); }
.api > nav h2 { font-size: var(--t2); margin: var(--s4) 0 var(--s1); }
.api > main { max-width: 60rem; }
.api > main:focus { outline: none; }
.api > main h2 { font-size: var(--t5); }
.api h3 { font-size: var(--t4); }
.api h2::first-letter { text-transform: uppercase; }
.api article { border-top: 1px solid var(--line); padding: var(--s3) 0 var(--s4); overflow-wrap: break-word; }
.api article > * + * { margin-top: var(--s2); }
.api article > details { margin-top: 0; }
.api td:last-child { overflow-wrap: anywhere; }
pre { font: var(--t1)/1.6 var(--mono); margin: 0; background: var(--sunk); padding: var(--s3);
  border-radius: var(--radius); white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { font: inherit; }
@media (max-width: 60rem) {
  .api { display: block; }
  .api > nav { position: static; height: auto; border-inline-end: 0; border-bottom: 1px solid var(--line); }
  .api > nav ul { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s4); }
}
`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const every = Object.keys(operations) as OperationName[];
  const schemas = makeSchemas();
  const gated = openApiDocument(every, schemas, { gated: every });
  const parts = pageParts(openApiDocument(every, schemas), gated);
  const page: BuiltPage = { styleHash: textHash(STYLE), parts, schemas };
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/page.json`, JSON.stringify(page));
}
