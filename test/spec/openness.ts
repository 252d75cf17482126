/**
 * The places where the specification or a decision leaves the content open, each with its reason.
 *
 * An example document marks such a place; the mutations then leave its content alone, and another
 * test holds that the place really is as open as it says. A mark without a row does not compile.
 *
 * @module
 */

/** `anything`: any JSON value. `content`: an object or array of anything. `map`: free keys only. */
type Kind = 'anything' | 'content' | 'map';

export const OPEN = {
  default: ['anything', 'Spec, Input: default is of type any'],
  progress: ['anything', 'Decisions 4, Streaming: what a handler reports is its own'],
  allowed_values: ['content', 'Spec, Input: a closed set of values of the input, of any type'],
  candidates: ['content', 'Decisions 3: candidates are values of the input, of any type'],
  input_meanings: ['content', 'Spec, Input: an object, its keys not shown'],
  compute: ['content', 'Spec, Cost: expected_duration and resource hints, the hints not shown'],
  empty_result_output: ['content', 'Spec, Composition: the parent output, as its author has it'],
  parameters: ['content', 'Spec, POST /svc/invoke: capability inputs, declared per capability'],
  result: ['content', 'Spec, POST /svc/invoke: an object, declared per capability'],
  preview: ['content', 'Decisions 5: made by a function of the service, not shown'],
  constraints: ['content', 'Spec, Permission response: an object, its keys not shown'],
  purpose: ['content', 'Spec, POST /svc/tokens: opaque purpose metadata'],
  detail: ['content', 'What an entry says beyond its fields depends on its type'],
  entry: ['content', 'An exported entry is held against its leaf, which knows its fields'],
  endpoints: ['map', 'Spec, Discovery: operation name to path, only what is implemented'],
  surfaces: ['map', 'Decision 0027: other protocols at the same address, only what is spoken'],
  capabilities: ['map', 'Spec, Discovery and Manifest: capability name to what is said of it'],
  asked: ['map', 'Decisions 7, handshake: capability name to version range'],
  mapping: ['map', 'Decisions 6: parameter or field to path'],
} as const satisfies Record<string, readonly [Kind, string]>;

export type OpenPlace = keyof typeof OPEN;

const marks = new WeakMap<object, OpenPlace>();

/** Marks a part of an example, and returns it. */
export function open<Value extends object>(place: OpenPlace, value: Value): Value {
  marks.set(value, place);
  return value;
}

export function openPlace(value: unknown): OpenPlace | undefined {
  return typeof value === 'object' && value !== null ? marks.get(value) : undefined;
}

export function opennessOf(value: unknown): Kind | undefined {
  const place = openPlace(value);
  return place && OPEN[place][0];
}
