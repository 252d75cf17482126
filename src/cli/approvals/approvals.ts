/**
 * `writ approvals digest`: computes what a passkey signs for a decision, independently of the page.
 *
 * Reads the request from the service, and computes the digests of its parameters and its preview itself. A page
 * that shows something else than it asks a passkey to sign shows another digest than this command.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { grantTerms } from '../../domain/authority/grant.ts';
import { decisionDigest, signedDecision } from '../../domain/passkey/decision.ts';
import { canonicalJson, digestOf } from '../../domain/wire/canonical.ts';
import { printable } from '../../domain/wire/printable.ts';
import { ApprovalRequest } from '../../protocol/approval.ts';
import type { SignedDecision } from '../../protocol/console/views.ts';
import { GrantType } from '../../protocol/failure.ts';
import { operations } from '../../protocol/operations.ts';
import { CREDENTIAL_VARIABLE, credentialFor } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { remoteAt } from '../shell/remote.ts';

const APPROVALS_USAGE = `Usage: writ approvals digest <id> --service <url> --nonce <nonce> [options]

Shows what a passkey signs for a decision on an approval request, and its digest.
Compare the digest with the one on the page before you touch your passkey. The
parameters and the preview are those that the service answers to you; their digests
are computed here.

  --service <url>       the service
  --nonce <nonce>       as the page shows it
  --deny                for a denial (default: an approval)
  --grant-type <type>   of an approval (default: that of the request's policy)
  --expires-in <s>      lifetime of the grant in seconds
  --max-uses <n>        uses of the grant
  --session-id <id>     the session of a session_bound grant
  --token-file <file>   the credential (default: $${CREDENTIAL_VARIABLE}, else your login)
  --help                this text

Exit status: 0 computed, 1 the service states other digests than its own answer has,
2 it could not be computed.
`;

const options = {
  service: { type: 'string' },
  nonce: { type: 'string' },
  deny: { type: 'boolean' },
  'grant-type': { type: 'string' },
  'expires-in': { type: 'string' },
  'max-uses': { type: 'string' },
  'session-id': { type: 'string' },
  'token-file': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

export async function approvals([verb, ...args]: readonly string[], io: Io): Promise<number> {
  if (verb === '--help' || verb === '-h') {
    io.out(APPROVALS_USAGE);
    return EXIT_OK;
  }
  try {
    if (verb !== 'digest') throw new Error('expected "writ approvals digest"');
    const { values, positionals } = parseArgs({
      args: joinedValues(args, options),
      options,
      allowPositionals: true,
    });
    if (values.help) {
      io.out(APPROVALS_USAGE);
      return EXIT_OK;
    }
    const [id, ...more] = positionals;
    const { service, nonce } = values;
    if (id === undefined || more.length > 0) throw new Error('expected the id of one request');
    if (service === undefined) throw new Error('expected --service');
    if (nonce === undefined) throw new Error('expected --nonce, as the page shows it');
    const credential = await credentialFor(service, values['token-file'], io);
    const path = operations['approval_requests.get'].path;
    const answer = await remoteAt(service, credential).json(
      'GET',
      path.replace('{approval_request_id}', encodeURIComponent(id)),
    );
    return show(payloadOf(answer, { ...values, id, nonce }), io);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot compute the digest: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

interface Asked {
  readonly id: string;
  readonly nonce: string;
  readonly deny?: boolean;
  readonly 'grant-type'?: string;
  readonly 'expires-in'?: string;
  readonly 'max-uses'?: string;
  readonly 'session-id'?: string;
}

interface Computed {
  readonly payload: SignedDecision;
  readonly request: ApprovalRequest;
  /** What the service states and its own answer contradicts. */
  readonly faults: readonly string[];
}

function payloadOf(answer: unknown, asked: Asked): Computed {
  const parsed = ApprovalRequest.safeParse(answer);
  if (!parsed.success) throw new Error('the service answered something else than a request');
  const request = parsed.data;
  const { approval_request_id, parameters, preview } = request;
  const parameters_digest = digestOf(parameters);
  const preview_digest = preview === null ? null : digestOf(preview);
  const faults = [
    approval_request_id !== asked.id && 'the service answered with another request',
    parameters_digest !== request.requested_parameters_digest &&
      'the service states another digest of the parameters',
    preview_digest !== request.preview_digest && 'the service states another digest of the preview',
  ].filter((fault) => fault !== false);
  const payload = signedDecision({
    nonce: asked.nonce,
    decision: asked.deny ? 'deny' : 'approve',
    approval_request_id: asked.id,
    parameters_digest,
    preview_digest,
    terms: asked.deny ? null : termsOf(request, asked),
  });
  return { payload, request, faults };
}

/** By the same rules as the service, so an omitted value is the one that the service takes. */
function termsOf({ grant_policy, terms }: ApprovalRequest, asked: Asked) {
  const type = asked['grant-type'] ?? terms?.grant_type ?? grant_policy.default_grant_type;
  const grant_type = GrantType.safeParse(type);
  if (!grant_type.success) throw new Error(`"${type}" is not a type of grants`);
  const given = grantTerms(
    grant_policy,
    {
      grant_type: grant_type.data,
      session_id: asked['session-id'] ?? terms?.session_id ?? undefined,
      expires_in_seconds: numberOf('--expires-in', asked['expires-in']),
      max_uses: numberOf('--max-uses', asked['max-uses']),
    },
    terms ?? undefined,
  );
  if ('failure' in given) throw new Error(given.failure.detail);
  return given.terms;
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0) return value;
  throw new Error(`expected a positive number after ${option}, not "${text}"`);
}

function show({ payload, request, faults }: Computed, io: Io): number {
  const { capability, parameters, preview } = request;
  io.out(`capability  ${printable(capability)}\n`);
  io.out(`parameters  ${printable(canonicalJson(parameters))}\n`);
  if (preview !== null) io.out(`preview     ${printable(canonicalJson(preview))}\n`);
  io.out(`signed      ${printable(canonicalJson(payload))}\n`);
  io.out(`digest      ${decisionDigest(payload)}\n`);
  for (const fault of faults) io.err(`Do not sign: ${fault}\n`);
  return faults.length === 0 ? EXIT_OK : EXIT_FOUND;
}
