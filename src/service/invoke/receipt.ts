/**
 * Adds the signature to the receipt of an answer, where the caller asked for it with `Prefer: receipt=signed`.
 *
 * The stored answer of an idempotency key never contains it: a replay is signed anew.
 *
 * @module
 */

import { amended } from '../../domain/values/amended.ts';
import { SIGNED_RECEIPT } from '../../domain/wire/prefer.ts';
import type { Receipt } from '../../protocol/invocation.ts';
import type { Call } from '../call/call.ts';
import type { Answer } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';

type Wish = Pick<Call, 'wantsSignedReceipt'>;

interface Receipted {
  readonly audit?: Receipt | undefined;
}

/** The answer with a signed receipt; the same answer where none was asked for or none can be given. */
export async function signedAnswer(
  parts: ServiceParts,
  wish: Wish,
  answer: Answer,
): Promise<Answer> {
  const isReplay = answer.headers?.['idempotent-replayed'] !== undefined;
  const body = await signedBody(parts, wish, answer.body as Receipted, isReplay);
  if (body === answer.body) return answer;
  const headers = { ...answer.headers, 'preference-applied': SIGNED_RECEIPT };
  return amended(answer, { body, text: undefined, headers });
}

/** The same for a body alone: the last event of a stream has no headers. */
export async function signedBody<Body extends Receipted>(
  { receipts }: ServiceParts,
  { wantsSignedReceipt }: Wish,
  body: Body,
  isReplay = false,
): Promise<Body> {
  const { audit } = body;
  if (!wantsSignedReceipt || !receipts || !audit) return body;
  const signed = await (isReplay ? receipts.signStored(audit) : receipts.sign(audit));
  return signed ? { ...body, audit: { ...audit, signed } } : body;
}
