/**
 * A command at a service: its address, its credential, and what a refusal means for the exit status.
 *
 * @module
 */

import {
  type Client,
  createClient,
  type Refused,
  type Reply,
  type SuccessOf,
} from '../../client/index.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InputOf, OperationName } from '../../protocol/operations.ts';
import type { Io } from '../shell/command.ts';
import {
  CommandFault,
  EXIT_APPROVAL,
  EXIT_CREDENTIAL,
  EXIT_FOUND,
  EXIT_UNAVAILABLE,
} from '../shell/exit.ts';
import { secretIn } from '../shell/files.ts';
import { flag, type Given, list, value } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { baseOf } from '../shell/remote.ts';
import { renewed } from './flow.ts';
import { loginsFile, savedLogins, saveRenewal } from './saved.ts';

/** A credential is never an argument: arguments show in the list of processes. */
export const CREDENTIAL_VARIABLE = 'WRIT_CLIENT_CREDENTIAL';

/** Names the service for commands that are given no --service. */
const SERVICE_VARIABLE = 'WRIT_CLIENT_SERVICE';

export const SERVICE_OPTIONS = {
  service: value(
    '<url>',
    `the service (default: $${SERVICE_VARIABLE}, else the only one with a login)`,
  ),
  'token-file': value(
    '<file>',
    `a file with the credential (default: $${CREDENTIAL_VARIABLE}, else your login)`,
  ),
  pin: list('<thumbprint>', 'a key of the service that you know (may be repeated)'),
  'gated-manifest': flag('send the credential to fetch the manifest too'),
  ...JSON_OPTION,
} as const;

export type ServiceGiven = Given<typeof SERVICE_OPTIONS>;

/** The address of the service that a command talks to. */
export function serviceOf(given: string | undefined, io: Io): string {
  const named = given ?? io.env[SERVICE_VARIABLE];
  if (named) return named;
  const known = Object.keys(savedLogins(loginsFile(io)));
  if (known.length === 1 && known[0]) return known[0];
  const ways = `give --service or set ${SERVICE_VARIABLE}`;
  throw new Error(`no service is named; ${ways}`);
}

/** A client with the credential of the command. */
export async function clientFor(given: ServiceGiven, io: Io): Promise<Client> {
  const url = serviceOf(given.service, io);
  return createClient({
    url,
    credential: await credentialFor(url, given['token-file'], io),
    pins: given.pin.length > 0 ? given.pin : undefined,
    gatedManifest: given['gated-manifest'],
  });
}

/** A client that sends no credential, for what anyone may read. */
export function openClientFor(given: ServiceGiven, io: Io): Client {
  const pins = given.pin.length > 0 ? given.pin : undefined;
  return createClient({ url: serviceOf(given.service, io), pins });
}

/** The answer of a reply. A refusal ends the command; with --json, its body is printed first. */
export function answerOrExit<Answer>(
  reply: Reply<Answer>,
  given: { json: boolean },
  io: Io,
): Answer {
  if (reply.ok) return reply.answer;
  throw refusal(reply, given, io);
}

/** What the service answers to one request of a command. A refusal ends the command. */
export async function answered<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  given: ServiceGiven,
  io: Io,
): Promise<SuccessOf<Name>> {
  const client = await clientFor(given, io);
  return answerOrExit(await client.ask(name, input), given, io);
}

function refusal(reply: Refused, given: { json: boolean }, io: Io): CommandFault {
  const { answer, failure } = reply;
  if (given.json) printJson(io, answer ?? { success: false, failure });
  return commandFault(failure, answer !== undefined);
}

/** The end of a command for a failure; `wasHeard` is false when no answer came. */
export function commandFault(failure: Failure, wasHeard = true): CommandFault {
  return new CommandFault(refusalLine(failure), { exit: failureExit(failure, wasHeard) });
}

/** One line: what was refused, by which rule, what to do next, and who can grant it. */
function refusalLine({ type, detail, resolution, decision_url }: Failure): string {
  return `${detail} [${type}; next: ${nextOf(resolution, decision_url)}]`;
}

function nextOf({ action, requires = [], grantable_by }: Failure['resolution'], page?: string) {
  const needs = requires.join(', ');
  if (page) return `decide it at ${page}${needs && ` (needs ${needs})`}`;
  const by = grantable_by ? ` (ask ${grantable_by})` : '';
  return `${action.replaceAll('_', ' ')}${needs && ` ${needs}`}${by}`;
}

/** The exit status for a failure. `wasHeard` is false where the client made it, because no answer arrived. */
export function failureExit({ type }: Failure, wasHeard: boolean): number {
  if (!wasHeard) return EXIT_UNAVAILABLE;
  return STATUS_OF[type] ?? EXIT_FOUND;
}

const STATUS_OF: Readonly<Record<string, number>> = {
  approval_required: EXIT_APPROVAL,
  authentication_required: EXIT_CREDENTIAL,
  invalid_token: EXIT_CREDENTIAL,
  token_expired: EXIT_CREDENTIAL,
  service_unavailable: EXIT_UNAVAILABLE,
  rate_limited: EXIT_UNAVAILABLE,
  internal_error: EXIT_UNAVAILABLE,
};

/** In milliseconds: a login that ends sooner is renewed first. */
const RENEWAL_MS = 60_000;

/** From the file, else from the environment. */
export function credentialOf(file: string | undefined, io: Io): string {
  const credential = givenCredential(file, io);
  if (credential !== undefined) return credential;
  throw new CommandFault(
    `there is no credential; set ${CREDENTIAL_VARIABLE} or give --token-file`,
    { exit: EXIT_CREDENTIAL },
  );
}

/** From the file, else from the environment, else from the login of this user at the service. */
export async function credentialFor(
  service: string,
  file: string | undefined,
  io: Io,
): Promise<string> {
  const given = givenCredential(file, io);
  if (given !== undefined) return given;
  const path = loginsFile(io);
  const base = baseOf(service);
  const login = savedLogins(path)[base];
  if (!login) {
    const ways = `set ${CREDENTIAL_VARIABLE}, give --token-file or run "writ login --service ${base}"`;
    throw new CommandFault(`there is no credential; ${ways}`, { exit: EXIT_CREDENTIAL });
  }
  if (Date.parse(login.expires_at) - Date.now() > RENEWAL_MS) return login.access_token;
  const next = await renewed(login);
  await saveRenewal(path, base, login, next);
  if (next) return next.access_token;
  throw new CommandFault(
    `the login at "${base}" has ended; run "writ login --service ${base}" again`,
    { exit: EXIT_CREDENTIAL },
  );
}

function givenCredential(file: string | undefined, io: Io): string | undefined {
  const given = file === undefined ? io.env[CREDENTIAL_VARIABLE] : secretIn(file);
  const credential = (given ?? '').trim();
  // An empty file must not become another, perhaps wider credential of this user.
  if (credential === '' && file !== undefined) {
    throw new CommandFault(`"${file}" is empty`, { exit: EXIT_CREDENTIAL });
  }
  if (credential === '') return undefined;
  if (/^[\x21-\x7e]+$/.test(credential)) return credential;
  throw new CommandFault('expected the credential in printable ASCII, without spaces', {
    exit: EXIT_CREDENTIAL,
  });
}
