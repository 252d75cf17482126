/**
 * The trace of a run: one short line for each event, the same for the same seed.
 *
 * No line has a signature, a MAC or a key, because these differ between two runs of one seed.
 *
 * @module
 */

import type { SimEvent, StoreEvent } from './events.ts';

/** Fields of arguments that say what a store call is about, in the order of the line. */
const SHOWN = [
  'operation_id',
  'invocation_id',
  'token_id',
  'tokenId',
  'parent_token_id',
  'capability',
  'outcome',
  'actual',
  'stillRuns',
  'approval_request_id',
  'approver',
  'grant_id',
  'delivery_id',
  'step_id',
  'role',
  'state',
  'what',
  'target',
  'sequence',
  'size',
];

/** Arguments of a call may be deep; what names it lies at the top. */
const DEPTH_MAX = 2;

export function lineOf(event: SimEvent, ms: number): string {
  return `${(ms / 1_000).toFixed(3).padStart(8)} ${textOf(event)}`;
}

function textOf(event: SimEvent): string {
  switch (event.kind) {
    case 'store':
      return storeText(event);
    case 'effect': {
      const { replica, capability, operation, phase, amount, token } = event;
      const cost = amount === undefined ? '' : ` cost ${amount}`;
      return `r${replica} effect ${capability} ${operation} ${phase}${cost} (${token})`;
    }
    case 'ask':
      return `${event.client} #${event.id} asks r${event.replica}: ${event.operation} ${brief(event.request)}${event.token ? ` (${event.token})` : ''}`;
    case 'answer':
      return `${event.client} #${event.id} ${event.lost ? 'loses' : 'gets'} ${answerText(event.answer)}`;
    case 'replica':
      return `r${event.replica} ${event.what}${event.ms === undefined ? '' : ` ${event.ms} ms`}`;
    case 'mark':
      return `r${event.replica} mark moves to checkpoint ${event.checkpoint.sequence}, ${event.checkpoint.size} entries`;
    case 'delivery':
      return `receiver gets ${event.id}`;
    case 'witness':
      return `witness remembers ${event.size} entries`;
    case 'faults-stop':
      return 'the faults stop';
  }
}

function storeText({ replica, method, args, result, error }: StoreEvent): string {
  const facts = new Map<string, string>();
  for (const arg of args) gather(arg, facts, 0);
  const about = SHOWN.flatMap((name) => (facts.has(name) ? `${name}=${facts.get(name)}` : []));
  const outcome = error === undefined ? resultText(result) : `fails: ${messageOf(error)}`;
  return `r${replica} ${method} ${about.join(' ')} -> ${outcome}`;
}

function gather(value: unknown, facts: Map<string, string>, depth: number): void {
  if (typeof value === 'string' && depth === 0 && facts.size === 0) facts.set('target', value);
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return;
  if (value instanceof Date || value instanceof Uint8Array) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'object') gather(member, facts, depth + 1);
    else if (SHOWN.includes(name) && member !== undefined && !facts.has(name)) {
      facts.set(name, String(member));
    }
  }
}

function resultText(result: unknown): string {
  if (typeof result !== 'object' || result === null) return String(result);
  if (Array.isArray(result)) return `${result.length} rows`;
  const { admitted, reason, wasAlive } = result as Record<string, unknown>;
  if (admitted !== undefined) return admitted ? 'admitted' : `refused: ${reason}`;
  if (wasAlive !== undefined) return `revoked, was alive: ${wasAlive}`;
  return 'a record';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function brief(request: unknown): string {
  return JSON.stringify(request);
}

function answerText(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return 'nothing';
  const { failure, success, invocation_id, issued, token_id, grant_id } = answer as Record<
    string,
    unknown
  >;
  const found = failure as { type?: string; detail?: string } | undefined;
  if (found) return `${found.type} ${invocation_id ?? ''}: ${found.detail}`;
  if (success) return `success ${invocation_id}`;
  if (issued) return `token ${token_id}`;
  return grant_id === undefined ? 'an answer' : `grant ${grant_id}`;
}
