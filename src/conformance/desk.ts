/**
 * Shared by the scenarios: the callers, and the requests that most of them make.
 *
 * Every answer is parsed with the schema of its operation, so a surface that loses or renames a field fails
 * the scenario.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type Failure, FailureAnswer } from '../protocol/failure.ts';
import { InvokeAnswer, type InvokeSuccess } from '../protocol/invocation.ts';
import {
  type AnswerOf,
  type InputOf,
  type OperationName,
  operations,
} from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { IssueAnswer } from '../protocol/token.ts';
import type { Surface, SurfaceAnswer } from './surface.ts';

/** One story each, by the sentence that sums it up. */
export type Scenarios = Readonly<Record<string, (desk: Desk) => Promise<void>>>;

export type InvokeFields = Partial<InputOf<'invoke'>>;

/** The desk's demo credentials. */
export const HUMAN_KEY = 'demo-human-key';
export const AGENT_KEY = 'demo-agent-key';
export const APPROVER_KEY = 'demo-approver-key';
export const SECOND_APPROVER_KEY = 'demo-approver2-key';
export const OPERATOR_KEY = 'demo-operator-key';

export const HUMAN = 'human:alice@example.com';
const AGENT = 'agent:planner';

export const ROUTE = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
export const JET = { route: 'SEA-SFO', date: '2026-12-01' };

/** What the scenarios ask of a desk, over one surface. */
export type Desk = ReturnType<typeof deskOver>;

/** For a step that needs a whole transport, such as one that reads a header. */
export function wholeOf({ surface }: Desk): Desk {
  return deskOver(surface.whole ?? surface);
}

export function deskOver(surface: Surface) {
  async function answer<Name extends OperationName>(
    name: Name,
    request: InputOf<Name>,
    credential?: string,
  ): Promise<AnswerOf<Name>> {
    const { body } = await surface.ask(name, request as JsonObject, credential);
    assert.notEqual(body.success, false, `${name} was refused: ${JSON.stringify(body)}`);
    return operations[name].response.parse(body) as AnswerOf<Name>;
  }

  async function refusal<Name extends OperationName>(
    name: Name,
    request: InputOf<Name>,
    credential?: string,
  ): Promise<Failure> {
    const { body } = await surface.ask(name, request as JsonObject, credential);
    assert.equal(body.success, false, `${name} was not refused: ${JSON.stringify(body)}`);
    return FailureAnswer.parse(body).failure;
  }

  /** A root token of the human for an agent, unless the fields say otherwise. */
  function rootToken(
    scope: string[],
    fields: Partial<InputOf<'tokens.issue'>> = {},
  ): Promise<IssueAnswer> {
    return answer('tokens.issue', { subject: AGENT, scope, ...fields }, HUMAN_KEY);
  }

  /** The whole answer of a call. */
  function invoke(
    token: string,
    capability: string,
    { parameters = {}, ...fields }: InvokeFields = {},
  ): Promise<SurfaceAnswer> {
    return surface.ask('invoke', { capability, parameters, ...fields }, token);
  }

  async function success(...call: Parameters<typeof invoke>): Promise<InvokeSuccess> {
    const { body } = await invoke(...call);
    const answered = InvokeAnswer.parse(body);
    assert.ok(answered.success, `${call[1]} was refused: ${JSON.stringify(body)}`);
    return answered;
  }

  async function refused(...call: Parameters<typeof invoke>): Promise<Failure> {
    const { body } = await invoke(...call);
    const answered = InvokeAnswer.parse(body);
    assert.ok(!answered.success, `${call[1]} was not refused: ${JSON.stringify(body)}`);
    return answered.failure;
  }

  return { surface, answer, refusal, rootToken, invoke, success, refused };
}

/** Requests a jet that no other scenario requests, so that scenarios do not share an approval. */
export async function askedJet({ rootToken, refused }: Desk) {
  jetsAsked += 1;
  const jet = { ...JET, route: `SEA-SFO, no. ${jetsAsked}` };
  const { token } = await rootToken(['travel.charter'], {
    budget: { currency: 'USD', max_amount: 60_000 },
  });
  const { type, approval_request_id: id } = await refused(token, 'charter_jet', {
    parameters: jet,
  });
  assert.equal(type, 'approval_required');
  assert.ok(id);
  return { token, id, jet };
}

let jetsAsked = 0;
