/**
 * Headers that belong to an answer, as the API description has them; those of HTTP itself are not
 * described.
 *
 * @module
 */

import type { Operation, OperationName } from '../protocol/operations.ts';
import type { Schema } from './schemas.ts';

export type ApiHeaders = Readonly<Record<string, { description: string; schema: Schema }>>;

const text = (description: string) => ({ description, schema: { type: 'string' } });

const RATES: ApiHeaders = {
  'ratelimit-policy': text('The limits on calls, where there are any: `q` calls in `w` seconds'),
  ratelimit: text('What is left of each: `r` calls, for `t` more seconds'),
};

const REPLAYED: ApiHeaders = {
  'idempotent-replayed': {
    description: '`true` on the stored answer of an earlier call with the same key',
    schema: { type: 'string', const: 'true' },
  },
};

const SIGNED: ApiHeaders = {
  'preference-applied': text(
    '`receipt=signed`, where `Prefer` asked for it and the receipt is signed',
  ),
};

const RETRY_AFTER: ApiHeaders = {
  'retry-after': {
    description: 'Seconds after which the same call may be sent again (429 and 503)',
    schema: { type: 'integer', minimum: 0 },
  },
};

const CHALLENGE: ApiHeaders = {
  'www-authenticate': text(
    'How to get or present a credential, what was wrong with this one (401), and which scopes it lacks (403)',
  ),
};

const BY_OPERATION: Partial<Record<OperationName, ApiHeaders>> = {
  invoke: { ...REPLAYED, ...SIGNED, ...RATES },
  test: { ...SIGNED, ...RATES },
};

const OF_DOCUMENTS: ApiHeaders = { etag: text('Names exactly these bytes') };

/** Of a document, which is fetched whole, cached and compared. */
export function documentHeaders(name: OperationName): ApiHeaders {
  const signature = text('Detached JWS over the exact bytes of the body');
  return { ...OF_DOCUMENTS, ...(name === 'manifest' && { 'x-svc-signature': signature }) };
}

/** Of an answer that is no refusal; nothing where there are none. */
export function answerHeaders(name: OperationName): ApiHeaders | undefined {
  if (name !== 'approval_requests.get') return BY_OPERATION[name];
  return { 'preference-applied': text('How long was waited at most, where `Prefer` asked for it') };
}

/** Of refusals, by the first digit of their status. */
export function refusalHeaders(
  name: OperationName,
  { auth }: Operation,
): Record<4 | 5, ApiHeaders> {
  const always = { ...RETRY_AFTER, ...BY_OPERATION[name] };
  return { 4: { ...always, ...(auth !== 'none' && CHALLENGE) }, 5: always };
}
