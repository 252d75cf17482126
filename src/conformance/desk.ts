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
export type Scenarios = Readonly<Record<string, (surface: Surface) => Promise<void>>>;

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

/** For a step that needs a whole transport, such as one that reads a header. */
export function wholeOf(surface: Surface): Surface {
  return surface.whole ?? surface;
}

/** Expects an answer. */
export async function expectAnswer<Name extends OperationName>(
  surface: Surface,
  name: Name,
  request: InputOf<Name>,
  credential?: string,
): Promise<AnswerOf<Name>> {
  const { body } = await surface.ask(name, request as JsonObject, credential);
  assert.notEqual(body.success, false, `${name} was refused: ${JSON.stringify(body)}`);
  return operations[name].response.parse(body) as AnswerOf<Name>;
}

/** Expects a refusal. */
export async function expectRefusal<Name extends OperationName>(
  surface: Surface,
  name: Name,
  request: InputOf<Name>,
  credential?: string,
): Promise<Failure> {
  const { body } = await surface.ask(name, request as JsonObject, credential);
  assert.equal(body.success, false, `${name} was not refused: ${JSON.stringify(body)}`);
  return FailureAnswer.parse(body).failure;
}

/** A root token of the human for an agent, unless the fields say otherwise. */
export function rootToken(
  surface: Surface,
  scope: string[],
  fields: Partial<InputOf<'tokens.issue'>> = {},
): Promise<IssueAnswer> {
  return expectAnswer(surface, 'tokens.issue', { subject: AGENT, scope, ...fields }, HUMAN_KEY);
}

export type InvokeFields = Partial<InputOf<'invoke'>>;

/** Invokes a capability and returns the whole answer. */
export function invoke(
  surface: Surface,
  token: string,
  capability: string,
  { parameters = {}, ...fields }: InvokeFields = {},
): Promise<SurfaceAnswer> {
  return surface.ask('invoke', { capability, parameters, ...fields }, token);
}

/** Invokes a capability and expects success. */
export async function success(
  surface: Surface,
  token: string,
  capability: string,
  fields: InvokeFields = {},
): Promise<InvokeSuccess> {
  const { body } = await invoke(surface, token, capability, fields);
  const answer = InvokeAnswer.parse(body);
  assert.ok(answer.success, `${capability} was refused: ${JSON.stringify(body)}`);
  return answer;
}

/** Invokes a capability and expects a refusal. */
export async function invokeRefusal(
  surface: Surface,
  token: string,
  capability: string,
  fields: InvokeFields = {},
): Promise<Failure> {
  const { body } = await invoke(surface, token, capability, fields);
  const answer = InvokeAnswer.parse(body);
  assert.ok(!answer.success, `${capability} was not refused: ${JSON.stringify(body)}`);
  return answer.failure;
}

/** The quote of the cheapest flight, found with this token. */
export async function quote(surface: Surface, token: string): Promise<string> {
  const { result } = await success(surface, token, 'search_flights', { parameters: ROUTE });
  return (result.cheapest_flight as { quote: string }).quote;
}

/** Requests a jet that no other scenario requests, so that scenarios do not share an approval. */
export async function askedJet(
  surface: Surface,
): Promise<{ token: string; id: string; jet: typeof JET }> {
  jetsAsked += 1;
  const jet = { ...JET, route: `SEA-SFO, no. ${jetsAsked}` };
  const budget = { currency: 'USD', max_amount: 60_000 };
  const { token } = await rootToken(surface, ['travel.charter'], { budget });
  const { type, approval_request_id: id } = await invokeRefusal(surface, token, 'charter_jet', {
    parameters: jet,
  });
  assert.equal(type, 'approval_required');
  assert.ok(id);
  return { token, id, jet };
}

let jetsAsked = 0;
