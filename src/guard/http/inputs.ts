/**
 * The inputs of an operation of an OpenAPI document, and where each goes in the request.
 *
 * Path, query, headers and body have one list of names in a capability. A required part that cannot be sent
 * faithfully makes the operation unusable; an optional one is left out.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { isFreeHeader, type Route } from '../../service/outbound/route.ts';
import { followReference, quotedValue, Unusable } from './document.ts';
import { type Schemas, uniqueName } from './schemas.ts';

/** What an operation is read with. */
export interface Reading {
  readonly root: JsonObject;
  readonly schemas: Schemas;
  /** Headers that a parameter may set, in small letters. */
  readonly headers: ReadonlySet<string>;
}

export interface Operation {
  readonly path: string;
  readonly parameters: readonly unknown[];
  readonly requestBody: unknown;
}

export interface Inputs {
  readonly properties: JsonObject;
  readonly required: readonly string[];
  readonly refs: ReadonlySet<string>;
  readonly route: Omit<Route, 'method'>;
}

/** Throws `Unusable`. */
export function inputsOf(reading: Reading, operation: Operation): Inputs {
  const made: Making = {
    properties: {},
    required: [],
    refs: new Set(),
    taken: new Set(),
    byLocation: { path: new Map(), query: new Map(), header: new Map() },
  };
  for (const parameter of sendable(reading, operation.parameters)) {
    addParameter(reading, made, parameter);
  }
  const { path, query, header } = made.byLocation;
  const route = {
    path: operation.path.replace(/\{([^{}]*)\}/g, (_, name: string) => {
      const input = path.get(name);
      if (input === undefined) throw new Unusable(`it declares no parameter ${quotedValue(name)}`);
      return `{${input}}`;
    }),
    ...(query.size > 0 && { query: Object.fromEntries(query) }),
    ...(header.size > 0 && { headers: Object.fromEntries(header) }),
    ...addBody(reading, made, operation.requestBody),
  };
  const { properties, required, refs } = made;
  return { properties, required, refs, route };
}

type ParameterLocation = 'path' | 'query' | 'header';

interface Making {
  readonly properties: JsonObject;
  readonly required: string[];
  readonly refs: Set<string>;
  readonly taken: Set<string>;
  /** The input of each name that the API has. */
  readonly byLocation: Readonly<Record<ParameterLocation, Map<string, string>>>;
}

interface Parameter {
  readonly location: ParameterLocation;
  readonly name: string;
  readonly schema: unknown;
  readonly description: unknown;
  readonly isRequired: boolean;
}

/** The parameters that can be sent. A later one replaces an earlier one of the same name and location. */
function sendable({ root, schemas, headers }: Reading, listed: readonly unknown[]): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const each of listed) {
    const given = followReference(root, each);
    const { name, in: location, schema, description } = given;
    if (typeof name !== 'string' || name === '') throw new Unusable('a parameter has no name');
    if (location === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue;
    const isRequired = given.required === true || location === 'path';
    const why = unsendable(given, schemas, headers);
    if (why !== undefined && isRequired) {
      throw new Unusable(`it needs the parameter ${quotedValue(name)}: ${why}`);
    }
    if (why !== undefined) found.delete(`${location} ${name}`);
    else {
      const parameter = {
        location: location as ParameterLocation,
        name,
        schema,
        description,
        isRequired,
      };
      found.set(`${location} ${name}`, parameter);
    }
  }
  return [...found.values()];
}

/** How OpenAPI writes values where nothing else is said, which is how this service writes them. */
const STYLES: Readonly<Record<ParameterLocation, string>> = {
  path: 'simple',
  query: 'form',
  header: 'simple',
};

function unsendable(
  { name, in: location, schema, style, explode }: JsonObject,
  { rootOf }: Schemas,
  headers: ReadonlySet<string>,
): string | undefined {
  if (location !== 'path' && location !== 'query' && location !== 'header') {
    return `it goes into ${quotedValue(location)}`;
  }
  if (
    location === 'header' &&
    !(headers.has(String(name).toLowerCase()) && isFreeHeader(String(name)))
  ) {
    return 'the policy does not list this header';
  }
  if (style !== undefined && style !== STYLES[location])
    return `its style is ${quotedValue(style)}`;
  if (!isObject(schema)) return 'it has no schema';
  const { type } = rootOf(schema);
  const types = Array.isArray(type) ? type : [type];
  if (types.includes('object')) return 'it is an object';
  if (!types.includes('array')) return undefined;
  return location === 'query' && explode !== false ? undefined : 'it is a list in one value';
}

function addParameter({ schemas }: Reading, made: Making, parameter: Parameter): void {
  const { location, name, description, isRequired } = parameter;
  const { schema, refs } = schemas.convert(parameter.schema);
  const input = inputName(
    made.taken.has(fieldName(name)) ? `${location}_${name}` : name,
    made.taken,
  );
  const isDescribed = typeof description === 'string' && schema.description === undefined;
  made.properties[input] = isDescribed ? { ...schema, description } : schema;
  made.byLocation[location].set(name, input);
  if (isRequired) made.required.push(input);
  for (const ref of refs) made.refs.add(ref);
}

/** Names of inputs begin with a letter and have letters, digits, "_" and "-". */
function fieldName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replace(/^[^A-Za-z]+|_+$/g, '');
  return plain.slice(0, 56) || 'value';
}

function inputName(name: string, taken: Set<string>): string {
  return uniqueName(fieldName(name), taken);
}

/** The JSON body: its properties become inputs where nothing is lost by it, otherwise it is one input. */
function addBody(reading: Reading, made: Making, requestBody: unknown): Partial<Inputs['route']> {
  if (requestBody === undefined) return {};
  const { content, required } = followReference(reading.root, requestBody);
  const type = jsonTypeOf(content);
  if (type === undefined) {
    if (required === true) throw new Unusable('it needs a body that is not JSON');
    return {};
  }
  const media = (content as JsonObject)[type.key];
  const schema = isObject(media) ? (media.schema ?? {}) : {};
  const typed = type.name === 'application/json' ? {} : { content_type: type.name };
  const fields = fieldsOf(reading, made, schema, required === true);
  if (fields) return { body: fields, ...typed };

  const input = inputName('body', made.taken);
  const { schema: whole, refs } = reading.schemas.convert(schema);
  made.properties[input] = whole;
  if (required === true) made.required.push(input);
  for (const ref of refs) made.refs.add(ref);
  return { body: { input }, ...typed };
}

/** `application/json`, or the first type that is JSON by another name. */
export function jsonTypeOf(content: unknown): { key: string; name: string } | undefined {
  if (!isObject(content)) return undefined;
  const types = Object.keys(content)
    .map((key) => ({ key, name: key.split(';')[0]?.trim().toLowerCase() ?? '' }))
    .filter(({ name }) => /^application\/(?:[\w.+-]{1,100}\+)?json$/.test(name));
  return types.find(({ name }) => name === 'application/json') ?? types[0];
}

/** Keywords of a body that its properties alone would lose. */
const LOST = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'nullable',
  'minProperties',
  'maxProperties',
  'dependentSchemas',
  'dependentRequired',
];

/** Adds each property of a body as an input. `undefined`, and nothing is added, where the body has to stay whole. */
function fieldsOf(
  { schemas }: Reading,
  made: Making,
  given: unknown,
  isRequired: boolean,
): string[] | undefined {
  const root = schemas.rootOf(given);
  const { type, properties, required = [], additionalProperties = false } = root;
  if (type !== 'object' || !isObject(properties) || additionalProperties !== false)
    return undefined;
  if (LOST.some((key) => key in root) || !Array.isArray(required)) return undefined;
  if (!isRequired && required.length > 0) return undefined;
  const names = Object.keys(properties);
  const isFree = (name: string) => fieldName(name) === name && !made.taken.has(name);
  if (names.length === 0 || !names.every(isFree)) return undefined;
  const sent = names.filter((name) => !isReadOnly(properties[name]));
  for (const name of sent) {
    const { schema, refs } = schemas.convert(properties[name]);
    made.properties[name] = schema;
    made.taken.add(name);
    if (required.includes(name)) made.required.push(name);
    for (const ref of refs) made.refs.add(ref);
  }
  return sent;
}

/** Such a property is only in answers. */
function isReadOnly(property: unknown): boolean {
  return isObject(property) && property.readOnly === true;
}
