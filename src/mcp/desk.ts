/**
 * Where tools are listed and called: one caller's view of a service, in this process or elsewhere.
 *
 * @module
 */

import { failure } from '../domain/failure.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { AnswerOf, InputOf, OperationName } from '../protocol/operations.ts';
import type { Manifest } from '../protocol/trust.ts';
import type { Document } from '../service/core/documents.ts';
import { type Ask, isDocument, perform } from '../service/core/operations.ts';
import type { EventSink } from '../service/core/stream.ts';
import type { Runtime } from '../service/runtime.ts';

export interface Desk {
  /**
   * Asks an operation. Resolves with its answer, or with the failure; `sink` hears of progress where
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
export function deskIn(
  runtime: Pick<Runtime, 'methods' | 'log' | 'platform'>,
  caller: Pick<Ask, 'bearer' | 'trace' | 'gone' | 'proved'>,
): Desk {
  const { bearer, trace, gone, proved } = caller;

  async function asked(name: OperationName, input: unknown) {
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
    async ask<Name extends OperationName>(name: Name, input: InputOf<Name>, sink = UNHEARD) {
      const answer = await asked(name, input);
      if (isDocument(answer)) return parsed(answer) as AnswerOf<Name>;
      const told = answer.stream ? await answer.stream(sink) : answer.body;
      return told as AnswerOf<Name>;
    },
    async manifest() {
      const answer = await asked('manifest', {});
      if (isDocument(answer)) return parsed(answer) as Manifest;
      return isFailure(answer.body) ? answer.body : absent('manifest');
    },
  };
}

/** For a stream that nobody asked to hear of. */
const UNHEARD: EventSink = { send: async () => true, isOpen: () => true };

/** A document is made once and asked for often. */
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
