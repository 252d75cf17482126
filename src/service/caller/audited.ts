/**
 * Acts of authority: each is recorded. A successful act writes its entry together with its effect,
 * in the store. This file records the refused ones.
 *
 * @module
 */

import { disclose, levelOf } from '../../domain/authority/disclosure.ts';
import { Refusal } from '../../domain/failure.ts';
import type { EntryType } from '../../protocol/audit.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Ask } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { refuseWithheld } from '../operations/withheld.ts';
import type { Slices } from '../pace/slices.ts';
import type { Caller, Judged } from './caller.ts';
import { callerOf } from './caller.ts';
import { actEntry } from './entries.ts';

/**
 * What an act is about, for the entry of its refusal. Never contains text that the caller made up.
 */
interface About {
  capability?: string;
  approval_request_id?: string;
}

/**
 * Runs an act of a known caller. Appends an entry for a refusal, then sends the caller as much
 * detail as its class may see. An ended token still has an owner, so its refusal has an entry too.
 * A refused unknown caller leaves no entry.
 */
export async function audited<Known extends Caller, Result>(
  parts: ServiceParts,
  judged: Judged<Known>,
  entryType: EntryType,
  act: (caller: Known, about: About) => Promise<Result>,
): Promise<Result> {
  const known = knownCaller(judged);
  refuseWithheld(parts);
  const about: About = {};
  try {
    return await act(liveCaller(judged), about);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const entry = actEntry(parts, known, {
      entry_type: entryType,
      ...about,
      token_id: known.kind === 'token' ? known.token.token_id : undefined,
      failure: error.failure,
    });
    await parts.store.append([entry]);
    throw new Refusal(disclosedTo(parts, known, error.failure), { cause: error });
  }
}

/** Like `audited`, but without an entry: for questions that change nothing. */
export async function answered<Known extends Caller, Result>(
  parts: ServiceParts,
  judged: Judged<Known>,
  question: (caller: Known) => Promise<Result> | Result,
): Promise<Result> {
  const known = knownCaller(judged);
  try {
    return await question(liveCaller(judged));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(disclosedTo(parts, known, error.failure), { cause: error });
  }
}

export function disclosedTo({ config }: ServiceParts, caller: Caller, found: Failure): Failure {
  return disclose(found, levelOf(config.disclosure, caller.caller_class), caller.root_principal);
}

function knownCaller<Known extends Caller>(judged: Judged<Known>): Known {
  if ('caller' in judged) return judged.caller;
  if (judged.known) return judged.known;
  throw new Refusal(judged.failure);
}

function liveCaller<Known extends Caller>(judged: Judged<Known>): Known {
  if ('failure' in judged) throw new Refusal(judged.failure);
  return judged.caller;
}

/** A principal and its delegates have one share each, so that neither uses up the other. */
function shareOf(caller: Caller): string {
  const { principal, root_principal } = caller;
  const isItself =
    caller.kind === 'identity' || (caller.token.depth === 0 && principal === root_principal);
  return `${isItself ? 'own' : 'delegated'} ${root_principal}`;
}

/**
 * Runs long work in the lane. A caller that waited may have lost its authority, so it is judged
 * again.
 */
export function inLane<Result>(
  parts: ServiceParts,
  caller: Caller,
  ask: Ask,
  work: (slices: Slices) => Promise<Result>,
): Promise<Result> {
  return parts.lane.run(shareOf(caller), ask, async (slices, hasWaited) => {
    const judged = hasWaited ? await callerOf(parts, ask) : { caller };
    if ('failure' in judged) throw new Refusal(judged.failure);
    return work(slices);
  });
}
