/**
 * The paths of the authorization server that programs use: token, revocation, registration, metadata, and
 * the logout that an identity provider sends.
 *
 * They take no cookie. Answers are JSON, and errors have the form of RFC 6749.
 *
 * @module
 */

import { pathOfBase } from '../../address/host.ts';
import { Refusal } from '../../domain/failure.ts';
import { readJson } from '../../domain/wire/json.ts';
import { type Fields, OAuthError, type OAuthErrorCode } from '../../service/sign-in/oauth.ts';
import type { SignIn } from '../../service/sign-in/sign-in.ts';
import { JSON_TYPE } from '../answer.ts';
import { RETRY_AFTER_SECONDS } from '../bounds/limits.ts';
import type { Visits } from '../bounds/strangers.ts';
import { type AddedRoute, type Exchange, type HttpAnswer, headerText } from '../exchange.ts';
import { readForm } from './forms.ts';

export const SERVER_METADATA = '/.well-known/oauth-authorization-server';
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** Seconds: how long a client may keep a metadata document. */
const METADATA_SECONDS = 300;

export function oauthRoutes(signIn: SignIn, visits: Visits | undefined): AddedRoute[] {
  const resource = (suffix: string, path: string) =>
    metadata(`${RESOURCE_METADATA}${suffix}`, ({ ask }) =>
      signIn.resourceMetadata({ path, host: headerText(ask, 'host') }),
    );
  const form = (path: `/${string}`, name: string, answer: (fields: Fields) => Promise<object>) =>
    formRoute(path, name, (fields, { visit }) => {
      // Anybody can make a signed text, and the service verifies it.
      const outpaced = SIGNED.some((each) => fields[each]) && visits?.judgeForm(visit);
      if (outpaced) throw new Refusal(outpaced);
      return answer(fields);
    });
  // Clients put the path of the address at the end (RFC 8414, RFC 9728); a proxy may pass that on as it is.
  const { publicUrl } = signIn;
  const own = publicUrl === undefined ? '' : pathOfBase(publicUrl);
  const bases = ['', '/mcp', '/svc'] as const;
  return [
    metadata(SERVER_METADATA, signIn.serverMetadata),
    ...bases.map((path) => resource(path, path)),
    ...(own === '' ? [] : [metadata(`${SERVER_METADATA}${own}`, signIn.serverMetadata)]),
    ...(own === '' ? [] : bases.map((path) => resource(`${own}${path}`, path))),
    form('/token', 'oauth_token', (fields) => signIn.token(fields)),
    form('/revoke', 'oauth_revoke', async (fields) => {
      await signIn.revoke(fields);
      return {};
    }),
    form('/sign-in/logout', 'sign_in_logout', async ({ logout_token: token = '' }) => {
      if (await signIn.logoutByProvider(token)) return {};
      throw new OAuthError('invalid_request', 'Cannot use the logout token: it does not verify');
    }),
    ...(signIn.registers ? [registration(signIn)] : []),
  ];
}

function metadata(path: `/${string}`, document: (exchange: Exchange) => object): AddedRoute {
  return {
    method: 'GET',
    path,
    route: {
      name: 'oauth_metadata',
      answer: (exchange) => jsonAnswer(exchange, 200, document(exchange), METADATA_SECONDS),
    },
  };
}

type FormMethod = (fields: Fields, exchange: Exchange) => Promise<object>;

/** Fields with a token: the actor of an exchange, what is revoked, and the logout of a provider. */
const SIGNED = ['actor_token', 'token', 'logout_token'];

function formRoute(path: `/${string}`, name: string, answer: FormMethod): AddedRoute {
  return {
    method: 'POST',
    path,
    route: {
      name,
      takesForm: true,
      answer: (exchange) =>
        answered(exchange, 200, async () => answer(fieldsIn(exchange.body), exchange)),
    },
  };
}

function registration(signIn: SignIn): AddedRoute {
  return {
    method: 'POST',
    path: '/register',
    route: {
      name: 'oauth_register',
      answer: (exchange) =>
        answered(exchange, 201, async () => {
          const reading = readJson(exchange.body);
          if ('value' in reading) return signIn.register(reading.value);
          throw new OAuthError('invalid_client_metadata', reading.fault);
        }),
    },
  };
}

function fieldsIn(body: Uint8Array): Fields {
  const reading = readForm(body);
  if ('fault' in reading) throw new OAuthError('invalid_request', reading.fault);
  const { form } = reading;
  return Object.fromEntries(form.names().map((name) => [name, form.one(name)]));
}

/** Statuses other than 400. RFC 6749 has no code for a service that cannot answer now, so 503 says it. */
const STATUS: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
};

async function answered(
  exchange: Exchange,
  status: number,
  act: () => Promise<object>,
): Promise<HttpAnswer> {
  try {
    return jsonAnswer(exchange, status, await act());
  } catch (error) {
    const refused = error instanceof Refusal ? unavailable(error) : error;
    if (!(refused instanceof OAuthError)) throw refused;
    const { code, message } = refused;
    return jsonAnswer(exchange, STATUS[code] ?? 400, { error: code, error_description: message });
  }
}

/** A client that comes again later finds out; with another answer it would drop its refresh token. */
const AWAY: ReadonlySet<string> = new Set([
  'service_unavailable',
  'rate_limited',
  'outcome_unknown',
]);

/** A refusal that is not about the request: the service cannot write now, or the identity provider is away. */
function unavailable({ failure }: Refusal): OAuthError {
  return new OAuthError(
    AWAY.has(failure.type) ? 'temporarily_unavailable' : 'invalid_grant',
    failure.detail,
  );
}

function jsonAnswer(
  exchange: Exchange,
  status: number,
  body: object,
  seconds?: number,
): HttpAnswer {
  const { headers } = exchange;
  if (status === 503) headers['retry-after'] = String(RETRY_AFTER_SECONDS);
  headers['cache-control'] = seconds === undefined ? 'no-store' : `public, max-age=${seconds}`;
  headers['content-type'] = JSON_TYPE;
  return { status, headers, body: JSON.stringify(body) };
}
