/**
 * The capabilities of a manifest as a TypeScript interface: what each takes and returns.
 *
 * The same manifest always gives the same text. Whatever the manifest says, the text declares this
 * interface and the types that it names, and nothing else.
 *
 * @module
 */

import type { CapabilityDeclaration, Input } from '../../protocol/capability.ts';
import type { Manifest } from '../../protocol/trust.ts';
import { commentOf, nameText, schemaType, union, valueText } from './schema-type.ts';

/** One level of indentation is two spaces. */
const FIELD = '    ';
const NESTED = '      ';

export function declarationsOf({ service_identity: { id }, capabilities }: Manifest): string {
  const name = interfaceName(id);
  const declarations: string[] = [];
  const typeNames = counter(name);
  const members = Object.entries(capabilities)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([capability, declared]) => {
      const { parameters, result } = typesOf(declared, typeNames, declarations);
      return `${aboutOf(declared)}  ${nameText(capability)}: {
    parameters: ${parameters};
${resultComment(declared)}    result: ${result};
  };
`;
    });
  const body = members.length > 0 ? `{\n${members.join('')}}` : '{}';
  return `${originOf(id, capabilities)}
/** The capabilities of ${id}, for \`createClient<${name}>()\` of \`writ/client\`. */
export interface ${name} ${body}
${declarations.map((each) => `\n${each}\n`).join('')}`;
}

/** "travel-desk" is `TravelDesk`. A name must not begin with a digit. */
function interfaceName(id: string): string {
  const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return /^\d/.test(name) ? `Service${name}` : name;
}

function counter(name: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${name}Type${count}`;
  };
}

/** Without a time, so that the text changes only with the contract. */
function originOf(id: string, capabilities: Manifest['capabilities']): string {
  const versions = Object.values(capabilities).map((each) => each.contract_version);
  const distinct = [...new Set(versions)].sort().join(', ');
  const made = `Made by "writ types" from the manifest of ${id}`;
  return `// ${made}, contract versions: ${distinct || 'none'}\n`;
}

function aboutOf({ description, contract_version }: CapabilityDeclaration): string {
  return commentOf(description, '  ', `Contract version ${contract_version}`);
}

interface Types {
  readonly parameters: string;
  readonly result: string;
}

/** Adds the declarations that the types need. */
function typesOf(
  { inputs, input_schema, output_schema }: CapabilityDeclaration,
  nextName: () => string,
  declarations: string[],
): Types {
  const required = inputs.filter((input) => !isOptional(input)).map(({ name }) => name);
  const taken = input_schema && schemaType({ ...input_schema, required }, FIELD, nextName);
  const given = output_schema && schemaType(output_schema, FIELD, nextName);
  declarations.push(...(taken?.declarations ?? []), ...(given?.declarations ?? []));
  return {
    parameters: taken?.text ?? listedParameters(inputs),
    result: given?.text ?? '{ [name: string]: unknown }',
  };
}

function listedParameters(inputs: readonly Input[]): string {
  if (inputs.length === 0) return '{ [name: string]: never }';
  const lines = inputs.map((input) => {
    const mark = isOptional(input) ? '?' : '';
    const about = commentOf(input.description ?? '', NESTED);
    return `${about}${NESTED}${nameText(input.name)}${mark}: ${listedType(input)};\n`;
  });
  return `{\n${lines.join('')}${FIELD}}`;
}

/** The service fills in a default, and resolves some inputs by itself. */
function isOptional({ required, default: given, resolution }: Input): boolean {
  return !required || given !== undefined || resolution !== undefined;
}

const LISTED: ReadonlyMap<string, string> = new Map([
  ['string', 'string'],
  ['integer', 'number'],
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['date', 'string'],
  ['datetime', 'string'],
  ['array', 'unknown[]'],
  ['object', '{ [name: string]: unknown }'],
]);

function listedType({ type, allowed_values }: Input): string {
  if (allowed_values) return union(allowed_values.map((each) => ({ text: valueText(each) }))).text;
  return LISTED.get(type) ?? 'unknown';
}

/** Without a schema only the names of the fields are known. */
function resultComment({ output, output_schema }: CapabilityDeclaration): string {
  if (output_schema || output.fields.length === 0) return '';
  return commentOf(`Fields: ${output.fields.join(', ')}`, FIELD);
}
