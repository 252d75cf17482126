/**
 * The API description as a page that people read: HTML and CSS in one text, and nothing else.
 *
 * It fetches nothing and runs nothing, so a strict policy can say so. Every text of the document is
 * escaped; the page decides only how it looks.
 *
 * @module
 */

import { STYLE } from './api-page-style.ts';
import { text } from './html.ts';
import type { ApiDocument, ApiOperation, ApiResponse, Content } from './openapi.ts';
import { referred, type Schema } from './schemas.ts';

interface Listed extends ApiOperation {
  readonly method: string;
  readonly path: string;
}

export function apiPage(document: ApiDocument): string {
  const { info, tags, paths, components } = document;
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]): Listed => ({ ...each, path, method })),
  );
  const groups = tags.map((tag) => ({
    ...tag,
    listed: all.filter(({ tags: own }) => own.includes(tag.name)),
  }));
  const schemas = Object.entries(components.schemas);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(info.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the description</a>
<nav aria-label="Operations">
${groups.map(({ name, listed }) => `<h2>${text(name)}</h2>\n${linksTo(listed)}`).join('\n')}
<h2><a href="#shapes">shapes</a></h2>
</nav>
<main id="content" tabindex="-1">
<h1>${text(info.title)}</h1>
<p>Protocol ${text(info.version)}. ${prose(info.description)} The same as data:
<a href="/openapi.json">/openapi.json</a>.</p>
${groups.map(({ name, description, listed }) => group(name, description, listed)).join('\n')}
<section id="shapes">
<h2>Shapes</h2>
${schemas.map(([name, schema]) => shape(name, schema)).join('\n')}
</section>
</main>
</body>
</html>
`;
}

function linksTo(listed: readonly Listed[]): string {
  const links = listed.map(
    ({ operationId: id }) => `<li><a href="#${text(id)}">${text(id)}</a></li>`,
  );
  return `<ul>${links.join('')}</ul>`;
}

function group(name: string, description: string, listed: readonly Listed[]): string {
  return `<section>
<h2>${text(name)}</h2>
<p>${prose(description)}</p>
${listed.map(operation).join('\n')}
</section>`;
}

function operation(listed: Listed): string {
  const { operationId, summary, method, path, parameters = [], requestBody, responses } = listed;
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    `<code>${breakable(name)}</code>`,
    `${place}${required ? '' : ', optional'}`,
    type(schema),
  ]);
  return `<article id="${text(operationId)}">
<h3>${text(operationId)}</h3>
<p><strong>${method.toUpperCase()}</strong> <code>${text(path)}</code></p>
<p>${prose(summary)}. ${text(bearerOf(listed))}</p>
${rows.length > 0 ? table(['parameter', 'in', 'type'], rows) : ''}
${Object.values(requestBody?.content ?? {})
  .map((content) => `<h4>Body</h4>\n${fields(content.schema)}\n${example(content)}`)
  .join('\n')}
${Object.entries(responses)
  .map(([status, response]) => answer(status, response))
  .join('\n')}
</article>`;
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
    ([media, body]) => `<p><code>${text(media)}</code>: ${type(body.schema)}</p>\n${example(body)}`,
  );
  return `<details${status.startsWith('2') ? ' open' : ''}>
<summary>${text(status)}: ${prose(description)}</summary>
${rows.length > 0 ? table(['header', 'meaning'], rows) : ''}
${bodies.join('\n')}
</details>`;
}

function example({ example: shown }: Content): string {
  if (shown === undefined) return '';
  return `<pre><code>${text(JSON.stringify(shown, null, 2))}</code></pre>`;
}

function shape(name: string, schema: Schema): string {
  return `<article id="shape-${text(name)}">\n<h3>${text(name)}</h3>\n${fields(schema)}\n</article>`;
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
  const head = heads.map((each) => `<th scope="col">${text(each)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/** A schema in a few words. */
function type(schema: Schema): string {
  const name = referred(schema);
  if (name !== undefined) return `<a href="#shape-${text(name)}">${text(name)}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(type).join(' or ');
  if (schema.enum) return schema.enum.map(literal).join(', ');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.type === 'array') return `list of ${type(schema.items ?? {})}`;
  if (schema.properties)
    return `object with ${Object.keys(schema.properties).map(text).join(', ')}`;
  const kind = [schema.type ?? 'anything'].flat().join(' or ');
  const pattern = schema.pattern && `<code>${text(schema.pattern)}</code>`;
  return [text(kind), schema.format && text(schema.format), pattern].filter(Boolean).join(' ');
}

function literal(value: unknown): string {
  return `<code>${text(JSON.stringify(value))}</code>`;
}

/** Plain words, with `code` between backticks. */
function prose(words: string): string {
  return text(words).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** A name that a narrow screen breaks between its words, and not inside one. */
function breakable(name: string): string {
  return text(name).replaceAll(/[_.-](?=.)/g, '$&<wbr>');
}
