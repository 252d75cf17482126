/**
 * The page of a capability's fields: types and defaults come from the schema of a declaration, sentences and examples
 * from the comments at the fields, which an editor shows too.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import * as capability from '../src/protocol/capability.ts';
import * as composition from '../src/protocol/composition.ts';
import * as failure from '../src/protocol/failure.ts';
import * as primitives from '../src/protocol/primitives.ts';

export interface DocumentedField {
  /** From the root of the declaration, with `[]` after a list. */
  readonly path: string;
  readonly type: string;
  /** `needed` where a declaration without the field is refused. */
  readonly default: string;
  readonly sentence: string;
  /** In TypeScript. */
  readonly example: string;
  /** What takes the example; missing where the author writes another form. */
  readonly schema?: z.ZodType | undefined;
}

const AUTHOR = 'src/service/author/define.ts';
const SOURCES = [AUTHOR, ...['capability', 'composition', 'failure'].map(protocolFile)];
const NAMES = new Map<unknown, string>(
  [capability, composition, failure, primitives].flatMap((module) =>
    Object.entries(module).map(([name, schema]): [unknown, string] => [schema, name]),
  ),
);
/** What the author writes, and what is published of it; the first has the fields that differ. */
const WRITTEN: Readonly<Record<string, string>> = {
  CapabilityDeclaration: 'CapabilityDefinition',
  ApprovalDeclaration: 'ApprovalPolicy',
};
/** By the type in TypeScript, where no schema has the field. */
const WORDS: readonly (readonly [type: RegExp, words: string])[] = [
  [/=>|^(?:Price|Preview|Handler|ResolveBinding)$/, 'function'],
  [/\[\]$/, 'list of text'],
  [/^string$/, 'duration'],
  [/^Name$/, 'capability name'],
  [/^DetailsOf$/, 'object'],
  [/^'/, '`root`'],
];
/** Filled in for the author, or asked for beside the schema. */
const DEFAULTS: Readonly<Record<string, string>> = {
  name: 'needed',
  contract_version: '`"1.0.0"`',
  'approval.approvals_required': '`1`',
  deadline: '`"PT30S"`',
  'approval.request_lifetime': '`"P1D"`',
};
/** Made from schemas, never written. */
const MADE = ['input_schema', 'output_schema'];

export function documentedFields(): DocumentedField[] {
  return fieldsOf(capability.CapabilityDeclaration, '', new Set());
}

export function fieldsPage(): string {
  const fields = documentedFields();
  const roots = new Map<string, DocumentedField[]>();
  for (const field of fields) {
    const root = field.path.slice(0, Math.max(0, field.path.lastIndexOf('.')));
    roots.set(root, [...(roots.get(root) ?? []), field]);
  }
  const sections = [...roots].map(([root, own]) => {
    const rows = own.map(({ path, type, default: absent, sentence, example }) => {
      const name = path.slice(root === '' ? 0 : root.length + 1).replace('[]', '');
      return `| \`${name}\` | ${type} | ${absent} | ${escaped(sentence)} | ${code(example)} |`;
    });
    const title = root === '' ? 'The capability' : `\`${root}\``;
    return `## ${title}\n\n| field | type | default | meaning | example |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `<!-- Made by \`npm run generate\` from the schema of declarations and the comments at its fields. -->
# The fields of a capability

Every field that \`defineCapability()\` takes; [Writing capabilities and handlers](handlers.md) explains how they work together. Fields that the manifest
shows are public. *needed* means that a declaration without the field is refused.

${sections.join('\n')}`;
}

/** Objects of one schema are described once. */
function fieldsOf(schema: z.ZodObject, root: string, seen: Set<z.ZodType>): DocumentedField[] {
  seen.add(schema);
  const name = NAMES.get(schema) ?? '';
  const written = commentsIn(`interface ${WRITTEN[name]}`);
  const declared = commentsIn(`const ${name || inlineName(root)} = `);
  const names = new Set([...Object.keys(written), ...Object.keys(schema.shape)]);
  const parts = [...names]
    .filter((field) => !MADE.includes(field))
    .map((field) => {
      const part = schema.shape[field] as z.ZodType | undefined;
      const path = `${root === '' ? '' : `${root}.`}${field}${part && isList(part) ? '[]' : ''}`;
      return { part, path, written: written[field], declared: declared[field] };
    });
  const below = parts.flatMap(({ part, path }) => {
    const inner = part && objectIn(part);
    return inner && !seen.has(inner) ? fieldsOf(inner, path, seen) : [];
  });
  return [...parts.map(documented), ...below];
}

function documented({ part, path, written, declared }: FieldParts): DocumentedField {
  const { sentence = '', example = '', type = '', isOptional = false } = written ?? declared ?? {};
  const facts = { path, sentence, example };
  const absent = DEFAULTS[path];
  if (!part) return { ...facts, type: authorsWords(type), default: absent ?? '' };
  return {
    ...facts,
    type: typeWords(part),
    default: absent ?? (isOptional && written ? '' : defaultWords(part)),
    schema: written ? undefined : part,
  };
}

interface FieldParts {
  readonly part: z.ZodType | undefined;
  readonly path: string;
  /** At the type that an author writes, and at the schema of what is published. */
  readonly written: Comment | undefined;
  readonly declared: Comment | undefined;
}

interface Comment {
  readonly sentence: string;
  readonly example: string;
  readonly type: string;
  readonly isOptional: boolean;
}

const COMMENTED = / {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(?:readonly )?(\w+)(\?)?:([^\n]*)/g;

/** The commented fields of a schema or an interface, by name. */
function commentsIn(opening: string): Record<string, Comment> {
  for (const source of SOURCES) {
    const text = readFileSync(source, 'utf8');
    const start = text.indexOf(opening);
    if (start === -1) continue;
    const block = text.slice(start, text.indexOf('\n}', start));
    return Object.fromEntries(
      [...block.matchAll(COMMENTED)].map(([, comment = '', name = '', optional, type = '']) => {
        const line = comment
          .replace(/\n\s*\*?/g, ' ')
          .replace(/\s+/g, ' ')
          .trim();
        const [sentence = '', example = ''] = line.split(/ ?@example /);
        const short = type.replace(/<.*/, '').replace(/[;{]$/, '').trim();
        return [name, { sentence, example, type: short, isOptional: optional !== undefined }];
      }),
    );
  }
  return {};
}

/** A schema that is not exported is named after its field. */
function inlineName(root: string): string {
  return { 'requires[]': 'Requirement', business_effects: 'BusinessEffects' }[root] ?? root;
}

function wholeOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return wholeOf(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function isList(schema: z.ZodType): boolean {
  return wholeOf(schema) instanceof z.ZodArray;
}

function objectIn(schema: z.ZodType): z.ZodObject | undefined {
  const whole = wholeOf(schema);
  const item = whole instanceof z.ZodArray ? (whole.element as z.ZodType) : whole;
  return item instanceof z.ZodObject && item.def.catchall instanceof z.ZodNever ? item : undefined;
}

function defaultWords(schema: z.ZodType): string {
  if (schema instanceof z.ZodDefault) return code(JSON.stringify(schema.def.defaultValue));
  return schema instanceof z.ZodOptional ? '' : 'needed';
}

function typeWords(schema: z.ZodType): string {
  const whole = wholeOf(schema);
  if (whole instanceof z.ZodArray) return `list of ${typeWords(whole.element as z.ZodType)}`;
  if (whole instanceof z.ZodEnum) return whole.options.map((each) => code(`${each}`)).join(', ');
  if (whole instanceof z.ZodLiteral)
    return [...whole.values].map((each) => code(`${each}`)).join(', ');
  if (whole instanceof z.ZodUnion) {
    return [...new Set(whole.options.map((each) => typeWords(each as z.ZodType)))].join(' or ');
  }
  if (whole instanceof z.ZodPipe) return typeWords(whole.out as z.ZodType);
  const name = NAMES.get(whole);
  if (whole instanceof z.ZodString && name) return name.replace(/\B[A-Z]/g, ' $&').toLowerCase();
  const { type } = whole.def;
  return (
    { string: 'text', unknown: 'any value', record: 'object', boolean: 'true or false' }[
      type as string
    ] ?? type
  );
}

function authorsWords(type: string): string {
  return WORDS.find(([pattern]) => pattern.test(type))?.[1] ?? code(type);
}

function code(text: string): string {
  if (text.includes('`')) return `\`\` ${escaped(text)} \`\``;
  return text === '' ? '' : `\`${escaped(text)}\``;
}

/** For a cell of a table. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}

function protocolFile(name: string): string {
  return `src/protocol/${name}.ts`;
}
