/**
 * The gateway: performs operations for one caller, on a service in this process or at an address.
 *
 * @module
 */

import type { Conditions } from '../domain/conditions/condition.ts';
import { readConditions } from '../domain/conditions/read.ts';
import { failure } from '../domain/failure.ts';
import { isObject } from '../domain/wire/json.ts';
import type { Platform } from '../platform.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { AnswerOf, InputOf, OperationName } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { Manifest } from '../protocol/trust.ts';
import type { Document } from '../service/operations/documents.ts';
import { type Ask, isDocument, perform } from '../service/operations/operations.ts';
import type { EventSink } from '../service/operations/stream.ts';
import { createSlicer } from '../service/pace/slices.ts';
import type { Runtime } from '../service/runtime.ts';

export interface Gateway {
  /**
   * Performs an operation. Resolves with its answer or with the failure; `sink` gets the progress if
   * the answer is a stream.
   */
  ask<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    sink?: EventSink,
  ): Promise<AnswerOf<Name> | FailureAnswer>;
  manifest(): Promise<Manifest | FailureAnswer>;
}

export function isFailure(answer: object): answer is FailureAnswer {
  return 'success' in answer && answer.success === false;
}

/** The service of this process, asked with what a caller presented. */
export function localGateway(
  runtime: Pick<Runtime, 'methods' | 'log' | 'platform'>,
  caller: Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'>,
): Gateway {
  const { bearer, trace, gone, proved } = caller;

  async function performed(name: OperationName, input: unknown) {
    const method = runtime.methods[name];
    if (!method) return { body: absent(name) };
    const ask = {
      bearer,
      trace,
      input: () => input,
      ...(gone && { gone }),
      ...(proved && { proved }),
    };
    return perform(name, method, ask, runtime);
  }
  return {
    async ask<Name extends OperationName>(name: Name, input: InputOf<Name>, sink = UNUSED_SINK) {
      const answer = await performed(name, input);
      if (isDocument(answer)) return parsed(answer) as AnswerOf<Name>;
      const body = answer.stream ? await answer.stream(sink) : answer.body;
      return body as AnswerOf<Name>;
    },
    async manifest() {
      const answer = await performed('manifest', {});
      if (isDocument(answer)) return parsed(answer) as Manifest;
      return isFailure(answer.body) ? answer.body : absent('manifest');
    },
  };
}

/** Discards progress that the caller did not ask for. */
const UNUSED_SINK: EventSink = { send: async () => true, isOpen: () => true };

/** Parsed documents: a document is made once and requested often. */
const documents = new WeakMap<Document, unknown>();

function parsed(document: Document): unknown {
  const known = documents.get(document) ?? JSON.parse(document.text);
  documents.set(document, known);
  return known;
}

function absent(name: OperationName): FailureAnswer {
  const detail = `Cannot ask ${name}: this service does not offer it`;
  return { success: false, failure: failure('not_found', detail) };
}

/** Visits each of them, in slices: a catalog may have a thousand. Resolves with the failure that prevents it. */
export async function eachAvailable(
  gateway: Gateway,
  platform: Platform,
  visit: (name: string, declared: CapabilityDeclaration, conditions?: Conditions) => void,
): Promise<FailureAnswer | undefined> {
  const [manifest, permissions] = await Promise.all([
    gateway.manifest(),
    gateway.ask('permissions', {}),
  ]);
  if (isFailure(manifest)) return manifest;
  if (isFailure(permissions)) return permissions;
  await createSlicer(platform)().each(permissions.available, ({ capability, constraints }) => {
    const declared = declaredIn(manifest, capability);
    if (declared) visit(capability, declared, conditionsIn(constraints));
    return true;
  });
  return undefined;
}

/** The conditions of the token on a tool. What cannot be read is not shown: the service judges every call. */
function conditionsIn({ conditions }: JsonObject): Conditions | undefined {
  if (!isObject(conditions)) return undefined;
  const read = readConditions(conditions.where);
  return 'faults' in read ? undefined : read.conditions;
}

/** Own properties only: "constructor" is not a capability. A name may be any value that a caller sent. */
export function declaredIn(
  { capabilities }: Manifest,
  name: unknown,
): CapabilityDeclaration | undefined {
  return typeof name === 'string' && Object.hasOwn(capabilities, name)
    ? capabilities[name]
    : undefined;
}
