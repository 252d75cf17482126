/**
 * How this service authenticates as a client of an OAuth server.
 *
 * @module
 */

export interface OAuthClient {
  readonly client_id: string;
  readonly client_secret?: string | undefined;
}

/** What a request to a token endpoint carries. */
export interface ClientProof {
  readonly headers?: Record<string, string>;
  readonly form?: Record<string, string>;
}

/** RFC 6749, 2.3.1. Without a secret this client is public. */
export function clientProof(
  { client_id, client_secret }: OAuthClient,
  method: 'basic' | 'post',
): ClientProof {
  if (client_secret === undefined) return { form: { client_id } };
  if (method === 'post') return { form: { client_id, client_secret } };
  // Both are encoded as in a form before they are joined.
  const pair = [client_id, client_secret].map((text) =>
    new URLSearchParams([['', text]]).toString().slice(1),
  );
  return { headers: { authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}` } };
}
